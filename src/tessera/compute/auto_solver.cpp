// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/auto_solver.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

std::string seconds_text(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} µs", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

struct Move {
  double seconds = 0;
  i64 bytes = 0;
};

// What has to travel before `device` can begin: each operand from where it comes quickest.
Move to_bring(Device device, std::span<const Held> operands, const Topology& links) {
  Move all;
  for (const Held& x : operands) {
    if (std::find(x.at.begin(), x.at.end(), device) != x.at.end()) continue;
    std::optional<double> quickest;
    for (const Device from : x.at) {
      const Link& link = links.link(from, device);
      const double s = link.latency_seconds + static_cast<double>(x.bytes) / link.bytes_per_second;
      if (!quickest || s < *quickest) quickest = s;
    }
    all.seconds += quickest.value_or(0);
    all.bytes += x.bytes;
  }
  return all;
}

struct Bid {
  Choice choice;
  std::string refused;  // "": it is a candidate
  bool for_memory = false;
  double seconds() const { return choice.compute_seconds + choice.transfer_seconds; }
};

std::string text_of(const Bid& bid) {
  const Choice& c = bid.choice;
  if (!bid.refused.empty()) return cat(c.device, ": ", bid.refused);
  std::string text = cat(c.device, ": ", seconds_text(c.compute_seconds), " to compute");
  if (c.transferred_bytes == 0) return text + ", all operands are there";
  return text + cat(" and ", seconds_text(c.transfer_seconds), " to bring ",
                    bytes_text(c.transferred_bytes), ": ", seconds_text(bid.seconds()));
}

Bid bid_of(const DeviceOffer& offer, const Workload& problem, std::span<const Held> operands,
           i64 result_bytes, const Candidates& machine, const Rules& rules) {
  Bid bid;
  Choice& c = bid.choice;
  c.device = offer.device;
  if (!offer.closed.empty()) {
    bid.refused = offer.closed;
    return bid;
  }
  const auto seconds = machine.costs.seconds(offer.device, problem);
  if (!seconds) {
    bid.refused = cat("no measured time of ", name(problem.op), " in ", name(problem.dtype));
    return bid;
  }
  const i64 elements = result_bytes / std::max<i64>(size_of(problem.dtype), 1);
  if (offer.device.kind != Kind::cpu && !rules.forced && elements < rules.gpu_threshold_elements) {
    bid.refused = cat(
        elements, " elements, fewer than gpu_threshold_elements = ", rules.gpu_threshold_elements);
    return bid;
  }
  const Move move = to_bring(offer.device, operands, machine.links);
  c.compute_seconds = *seconds;
  c.transfer_seconds = move.seconds;
  c.transferred_bytes = move.bytes;
  const i64 needed = move.bytes + result_bytes;
  if (offer.free_bytes && *offer.free_bytes < needed) {
    bid.for_memory = true;
    bid.refused =
        cat("needs ", bytes_text(needed), ", ", bytes_text(*offer.free_bytes), " are free");
  }
  return bid;
}

Choice taken(std::vector<Bid>& bids, std::size_t best) {
  Choice choice = bids[best].choice;
  choice.reasons.push_back(text_of(bids[best]));
  for (std::size_t i = 0; i < bids.size(); ++i)
    if (i != best) choice.reasons.push_back(text_of(bids[i]));
  return choice;
}

std::string all_texts(const std::vector<Bid>& bids) {
  std::string text;
  for (const Bid& b : bids) text += cat(text.empty() ? "" : "; ", text_of(b));
  return text;
}

}  // namespace

std::string Choice::str() const {
  std::string text;
  for (const std::string& r : reasons) text += cat(text.empty() ? "" : "\n", r);
  return text;
}

Choice choose(const Workload& problem, std::span<const Held> operands, i64 result_bytes,
              const Candidates& machine, const Rules& rules) {
  std::vector<Bid> bids;
  for (const DeviceOffer& offer : machine.offers)
    if (!rules.forced || offer.device == *rules.forced)
      bids.push_back(bid_of(offer, problem, operands, result_bytes, machine, rules));
  if (rules.forced) {
    require<DeviceError>(!bids.empty(), name(problem.op), ": ", *rules.forced,
                         " was asked for, which this context does not use");
    require<DeviceError>(bids[0].refused.empty(), name(problem.op), ": ", *rules.forced,
                         " was asked for; ", text_of(bids[0]));
    Choice choice = taken(bids, 0);
    choice.reasons[0] += " (asked for)";
    return choice;
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < bids.size(); ++i)
    if (bids[i].refused.empty() && (!best || bids[i].seconds() < bids[*best].seconds())) best = i;
  if (best) return taken(bids, *best);
  const bool for_memory =
      std::any_of(bids.begin(), bids.end(), [](const Bid& b) { return b.for_memory; });
  require<OutOfMemory>(!for_memory, name(problem.op),
                       ": no device has room for it: ", all_texts(bids));
  throw DeviceError(cat(name(problem.op), ": no device can do it: ", all_texts(bids)));
}

}  // namespace tessera
