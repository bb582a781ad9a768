// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

std::string seconds_text(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} µs", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
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

Choice only_choice(Considered considered) {
  std::vector<Considered> all;
  all.push_back(std::move(considered));
  return taken(std::move(all), 0);
}

Choice choose(std::string_view who, std::vector<Considered> all) {
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
  require<OutOfMemory>(!for_memory, who, ": no device has room for it: ", all_texts(all));
  throw DeviceError(cat(who, ": no device can do it: ", all_texts(all)));
}

}  // namespace tessera
