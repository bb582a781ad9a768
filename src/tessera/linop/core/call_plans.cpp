// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/call_plans.hpp"

#include "tessera/base/config.hpp"
#include "tessera/linop/core/node_state.hpp"
#include "tessera/linop/core/plan_linop.hpp"

namespace tessera {
namespace {
constexpr std::size_t kept_plans = 32;
}

bool NamedLinop::CallPlans::Entry::is_for(const Key& key) const {
  const Array& x = key.x;
  if (!(dtype == x.dtype() && device == x.device() && in.shape == x.layout().shape &&
        in.strides == x.layout().strides && settings == key.settings))
    return false;
  if (!key.out) return own_output;
  return out_dtype == key.out->dtype() && out_device == key.out->device() &&
         out.shape == key.out->layout().shape && out.strides == key.out->layout().strides;
}

// An event was made or a listener set since: of this operator, or of another one?
bool NamedLinop::CallPlans::knows_events(Entry& e, const NamedLinop& a) const {
  const std::uint64_t changes = StartEvent::changes();
  if (e.changes == changes) return true;
  e.changes = changes;
  return e.plan.starts() == a.start_events() && e.listeners == a.listeners();
}

NamedLinop::CallPlans::Taken NamedLinop::CallPlans::take(const NamedLinop& a, const Key& key) {
  std::shared_ptr<Entry> gone;  // its runs wait for their work: not under the lock
  std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (!(*it)->is_for(key)) continue;
    if (!knows_events(**it, a)) {
      gone = std::move(*it);
      entries_.erase(it);
      return {};
    }
    if (it != entries_.begin()) entries_.splice(entries_.begin(), entries_, it);
    Taken taken{*it, std::nullopt};
    std::vector<Run>& idle = taken.entry->idle;
    if (!idle.empty()) {
      taken.run.emplace(std::move(idle.back()));
      idle.pop_back();
    }
    return taken;
  }
  return {};
}

NamedLinop::CallPlans::Taken NamedLinop::CallPlans::find(const NamedLinop& a, const Array& x) {
  return take(a, {x, nullptr, config().of_plans()});
}

NamedLinop::CallPlans::Taken NamedLinop::CallPlans::find(const NamedLinop& a, const Array& x,
                                                         const Array& out) {
  return take(a, {x, &out, config().of_plans()});
}

NamedLinop::CallPlans::Taken NamedLinop::CallPlans::make(const NamedLinop& a, const Array& x,
                                                         const Array& out) {
  auto e = std::make_shared<Entry>(Entry{.in = x.layout(),
                                         .out = out.layout(),
                                         .dtype = x.dtype(),
                                         .out_dtype = out.dtype(),
                                         .device = x.device(),
                                         .out_device = out.device(),
                                         .own_output = false,
                                         .settings = config().of_plans(),
                                         .changes = StartEvent::changes(),
                                         .listeners = a.listeners(),
                                         .plan = {},
                                         .idle = {}});
  e->plan =
      plan_linop(a, {x.layout(), x.dtype(), x.device()}, {out.layout(), out.dtype(), out.device()});
  std::shared_ptr<Entry> gone;
  std::lock_guard lock(mutex_);
  entries_.push_front(e);
  if (entries_.size() > kept_plans) {
    gone = std::move(entries_.back());
    entries_.pop_back();
  }
  return {std::move(e), std::nullopt};
}

void NamedLinop::CallPlans::gives_own_output(const Taken& taken) {
  std::lock_guard lock(mutex_);
  taken.entry->own_output = true;
}

void NamedLinop::CallPlans::run(Taken& taken, const Array& x, const Array& out) {
  if (!taken.run) {
    taken.run.emplace(taken.entry->plan.instance());
    taken.run->capture_when_repeated();
  }
  (*taken.run)(x, out);
  std::lock_guard lock(mutex_);
  taken.entry->idle.push_back(std::move(*taken.run));
}

Array NamedLinop::operator()(const Array& x) const {
  CallPlans& calls = node_->state->calls;
  if (CallPlans::Taken known = calls.find(*this, x)) {
    const Array y = known.output();
    if (known.fits(y)) {
      calls.run(known, x, y);
      return y;
    }
  }
  const Array y =
      Array::empty(output_shape(x.shape()), output_dtype(x.dtype()), output_device(x.device()));
  CallPlans::Taken taken = calls.find(*this, x, y);
  if (!taken) taken = calls.make(*this, x, y);
  calls.gives_own_output(taken);
  calls.run(taken, x, y);
  return y;
}

void NamedLinop::operator()(const Array& x, const Array& out) const {
  CallPlans& calls = node_->state->calls;
  CallPlans::Taken taken = calls.find(*this, x, out);
  if (!taken) taken = calls.make(*this, x, out);
  calls.run(taken, x, out);
}

}  // namespace tessera
