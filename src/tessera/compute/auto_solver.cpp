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

bool is_at(const Residency& x, Device device) {
  return std::find(x.at.begin(), x.at.end(), device) != x.at.end();
}

// Pinned memory travels at the speed of the link, other memory at that of the measured route.
double move_seconds(const Residency& x, Device from, Device to, const Candidates& machine) {
  const auto bytes = static_cast<double>(x.bytes);
  if (!x.pinned)
    if (const auto measured = machine.costs.move_seconds(from, to, bytes)) return *measured;
  const Link& link = machine.links.link(from, to);
  return link.latency_seconds + bytes / link.bytes_per_second;
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

// Measured devices are compared by time. One that was not measured is taken where it has all the
// data and the others would have to fetch some, or where nothing was measured: then the device that
// needs the fewest bytes.
bool is_better(const Considered& a, const Considered& b) {
  const bool known_a = a.compute_seconds.has_value(), known_b = b.compute_seconds.has_value();
  if (known_a && known_b) return a.seconds() < b.seconds();
  if (known_a) return b.transferred_bytes > 0 || a.transferred_bytes == 0;
  if (known_b) return a.transferred_bytes == 0 && b.transferred_bytes > 0;
  return a.transferred_bytes < b.transferred_bytes;
}

Choice taken(std::vector<Considered>&& all, std::size_t best) {
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(best),
              all.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  const Considered& c = all[0];
  return {
      c.device,      c.compute_seconds.value_or(0), c.transfer_seconds, c.transferred_bytes, false,
      std::move(all)};
}

// The quickest of the devices that have all operands, where moving them gains too little.
std::optional<std::size_t> nearly_as_good(const std::vector<Considered>& all, std::size_t best) {
  std::optional<std::size_t> found;
  if (all[best].transferred_bytes == 0 || !all[best].compute_seconds) return found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Considered& c = all[i];
    if (!c.refused.empty() || c.transferred_bytes > 0 || !c.compute_seconds) continue;
    if (all[best].seconds() <= worth_moving * c.seconds()) continue;
    if (!found || is_better(c, all[*found])) found = i;
  }
  return found;
}

std::string all_texts(const std::vector<Considered>& all) {
  std::string text;
  for (const Considered& c : all) text += cat(text.empty() ? "" : "; ", c.str());
  return text;
}

Choice choose_forced(const Workload& problem, std::vector<Considered>&& all, Device forced) {
  require<DeviceError>(!all.empty(), name(problem.op), ": ", forced,
                       " was asked for, which this context does not use");
  require<DeviceError>(all[0].refused.empty(), name(problem.op), ": ", forced, " was asked for; ",
                       all[0].str());
  return taken(std::move(all), 0);
}

}  // namespace

std::string Considered::str() const {
  if (!refused.empty()) return cat(device, ": ", refused);
  std::string text =
      cat(device, ": ",
          compute_seconds ? seconds_text(*compute_seconds) + " to compute" : "not measured");
  if (transferred_bytes == 0) return text + ", all operands are there";
  return text + cat(" and ", seconds_text(transfer_seconds), " to bring ",
                    bytes_text(transferred_bytes), ": ", seconds_text(seconds()));
}

std::string Choice::str() const {
  std::string text;
  for (const Considered& c : considered) text += cat(text.empty() ? "" : "\n", c.str());
  if (stays) text += "\ndata stay where they are: moving them would gain too little";
  return text;
}

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
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].refused.empty() && (!best || is_better(all[i], all[*best]))) best = i;
  if (best) {
    const auto kept = nearly_as_good(all, *best);
    Choice choice = taken(std::move(all), kept.value_or(*best));
    choice.stays = kept.has_value();
    return choice;
  }
  const bool for_memory =
      std::any_of(all.begin(), all.end(), [](const Considered& c) { return c.lacks_memory; });
  require<OutOfMemory>(!for_memory, name(problem.op),
                       ": no device has room for it: ", all_texts(all));
  throw DeviceError(cat(name(problem.op), ": no device can do it: ", all_texts(all)));
}

}  // namespace tessera
