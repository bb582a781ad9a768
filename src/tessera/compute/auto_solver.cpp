// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/auto_solver.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool is_at(const Residency& x, Device device) {
  return std::find(x.at.begin(), x.at.end(), device) != x.at.end();
}

// Pinned memory travels at the speed of the link, other memory at that of the measured route.
double move_seconds(const Residency& x, Device from, Device to, const Candidates& machine) {
  if (!x.pinned)
    if (const auto measured = machine.costs.move_seconds(from, to, static_cast<double>(x.bytes)))
      return *measured;
  return machine.links.seconds(from, to, x.bytes);
}

// What has to travel before the device can begin: each operand from where it comes quickest.
void count_moves(Considered& c, std::span<const Residency> operands, const Candidates& machine) {
  for (const Residency& x : operands) {
    if (is_at(x, c.device)) continue;
    std::optional<double> quickest;
    for (const Device from : x.at) {
      const double s = move_seconds(x, from, c.device, machine);
      if (!quickest || s < *quickest) quickest = s;
    }
    c.transfer_seconds += quickest.value_or(0);
    c.transferred_bytes += x.bytes;
  }
}

bool suits(PrecisionMode mode, DType dtype) {
  if (mode == PrecisionMode::automatic || !is_inexact(dtype)) return true;
  return (real_of(dtype) == DType::f64) == (mode == PrecisionMode::force_float64);
}

// Why data are not brought to an accelerator that does not have them; "": they may be.
std::string kept_away(const Workload& problem, i64 result_bytes, const Rules& rules) {
  const i64 elements = result_bytes / std::max<i64>(size_of(problem.dtype), 1);
  if (elements < rules.gpu_threshold_elements)
    return cat(elements,
               " elements, fewer than gpu_threshold_elements = ", rules.gpu_threshold_elements);
  if (!suits(rules.precision, problem.dtype))
    return cat("is kept for ",
               rules.precision == PrecisionMode::force_float32 ? "float32" : "float64", ", and no ",
               name(problem.dtype), " is converted for it");
  return "";
}

Considered consider(const DeviceOffer& offer, const Workload& problem,
                    std::span<const Residency> operands, i64 result_bytes,
                    const Candidates& machine, const Rules& rules) {
  Considered c{offer.device, std::nullopt, 0, 0, offer.closed, false};
  if (!c.refused.empty()) return c;
  c.compute_seconds = machine.costs.seconds(offer.device, problem);
  count_moves(c, operands, machine);
  if (offer.device.kind != Kind::cpu && !rules.forced && c.transferred_bytes > 0)
    c.refused = kept_away(problem, result_bytes, rules);
  const i64 needed = c.transferred_bytes + result_bytes;
  if (c.refused.empty() && offer.free_bytes && *offer.free_bytes < needed) {
    c.lacks_memory = true;
    c.refused = cat("needs ", bytes_text(needed), ", ",
                    bytes_text(std::max<i64>(*offer.free_bytes, 0)), " are free");
  }
  return c;
}

Choice choose_forced(const Workload& problem, std::vector<Considered>&& all, Device forced) {
  require<DeviceError>(!all.empty(), name(problem.op), ": ", forced,
                       " was asked for, which this context does not use");
  require<DeviceError>(all[0].refused.empty(), name(problem.op), ": ", forced, " was asked for; ",
                       all[0].str());
  return only_choice(std::move(all[0]));
}

}  // namespace

std::vector<Device> bound_to(std::span<const Residency> operands, std::span<const Device> usable) {
  std::vector<Device> bound;
  const auto is_usable = [&](Device d) {
    return std::find(usable.begin(), usable.end(), d) != usable.end();
  };
  for (const Residency& x : operands) {
    if (std::any_of(x.at.begin(), x.at.end(), is_usable)) continue;
    for (const Device d : x.at)
      if (std::find(bound.begin(), bound.end(), d) == bound.end()) bound.push_back(d);
  }
  return bound;
}

Choice AutoSolver::select_device(const Workload& problem, std::span<const Residency> operands,
                                 i64 result_bytes) const {
  std::vector<Considered> all;
  all.reserve(machine.offers.size());
  for (const DeviceOffer& offer : machine.offers)
    if (!rules.forced || offer.device == *rules.forced)
      all.push_back(consider(offer, problem, operands, result_bytes, machine, rules));
  if (rules.forced) return choose_forced(problem, std::move(all), *rules.forced);
  return choose(name(problem.op), std::move(all));
}

}  // namespace tessera
