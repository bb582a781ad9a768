// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/pipeline.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "tessera/plan/touch.hpp"

namespace tessera {
namespace {

using Indices = std::vector<std::size_t>;

// One part in three stages: what brings its input to the device, what the device does, what brings
// the result back.
struct Stages {
  Device device;
  Indices load, compute, store;
};

// Sends to the device what nobody computes: an input, or an array of an operator.
bool fetches(const std::vector<Slot>& slots, const Step& step, Device device) {
  if (step.kind != Step::Kind::transfer) return false;
  const Slot &from = slots[static_cast<std::size_t>(step.operands.front().slot)],
             &to = slots[static_cast<std::size_t>(step.write().slot)];
  return to.device == device && to.kind == SlotKind::temporary &&
         (from.kind == SlotKind::input || from.kind == SlotKind::constant);
}

Stages stages_of(const std::vector<Slot>& slots, const std::vector<Step>& steps,
                 const Indices& own) {
  Stages s{steps[own.front()].part.base, {}, {}, {}};
  const Device base = s.device;
  std::size_t first = own.size(), last = 0;
  bool away = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Step& step = steps[own[i]];
    if (step.kind == Step::Kind::transfer || step.device == base) continue;
    if (!away) s.device = step.device;
    away = true;
    if (step.device != s.device) continue;
    first = std::min(first, i);
    last = i;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool early = away && (i < first || fetches(slots, steps[own[i]], s.device));
    (early ? s.load : away && i > last ? s.store : s.compute).push_back(own[i]);
  }
  return s;
}

// Appends steps to the new order, each after what it depends on.
class Order {
 public:
  Order(const std::vector<Slot>& slots, const std::vector<Step>& steps, std::size_t begin,
        std::size_t end)
      : begin_(begin), placed_(end - begin, false) {
    before_.reserve(end - begin);
    order_.reserve(end - begin);
    Touched memory;
    for (std::size_t t = begin; t < end; ++t)
      before_.push_back(memory.before(static_cast<int>(t), -1, touches(slots, steps[t])));
  }
  void append(const Indices& wanted) {
    for (std::size_t t : wanted) place(t);
  }
  const Indices& order() const { return order_; }

 private:
  void place(std::size_t t) {
    if (placed_[t - begin_]) return;
    placed_[t - begin_] = true;
    for (int u : before_[t - begin_]) place(static_cast<std::size_t>(u));
    order_.push_back(t);
  }
  std::size_t begin_;
  std::vector<bool> placed_;
  std::vector<std::vector<int>> before_;
  Indices order_;
};

// The steps [begin, end) of one container in their new order.
Indices overlapped(const std::vector<Slot>& slots, const std::vector<Step>& steps,
                   std::size_t begin, std::size_t end) {
  std::vector<Indices> own;
  for (std::size_t t = begin; t < end; ++t) {
    if (own.empty() || steps[t].part.index != steps[t - 1].part.index) own.emplace_back();
    own.back().push_back(t);
  }
  std::vector<Stages> parts;
  parts.reserve(own.size());
  for (const Indices& steps_of_part : own) parts.push_back(stages_of(slots, steps, steps_of_part));
  // The neighbours of a part are those on the same device.
  std::vector<std::optional<std::size_t>> next(parts.size()), previous(parts.size());
  std::map<std::pair<Kind, int>, std::size_t> latest;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::pair<Kind, int> device(parts[i].device.kind, parts[i].device.index);
    const auto it = latest.find(device);
    if (it != latest.end()) {
      previous[i] = it->second;
      next[it->second] = i;
    }
    latest[device] = i;
  }
  Order order(slots, steps, begin, end);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!previous[i]) order.append(parts[i].load);
    if (next[i]) order.append(parts[*next[i]].load);
    order.append(parts[i].compute);
    if (previous[i]) order.append(parts[*previous[i]].store);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) order.append(parts[i].store);
  return order.order();
}

}  // namespace

void pipeline(const std::vector<Slot>& slots, std::vector<Step>& steps) {
  Indices order;
  bool moved = false;
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin + 1;
    bool away = steps[begin].kind == Step::Kind::transfer;
    while (end < steps.size() && steps[begin].part.container >= 0 &&
           steps[end].part.container == steps[begin].part.container) {
      away |= steps[end].kind == Step::Kind::transfer;
      ++end;
    }
    if (away && end - begin > 1) {
      const Indices own = overlapped(slots, steps, begin, end);
      order.insert(order.end(), own.begin(), own.end());
      moved = true;
    } else {
      for (std::size_t t = begin; t < end; ++t) order.push_back(t);
    }
    begin = end;
  }
  if (!moved) return;
  std::vector<Step> ordered;
  ordered.reserve(steps.size());
  for (std::size_t t : order) ordered.push_back(std::move(steps[t]));
  steps = std::move(ordered);
}

}  // namespace tessera
