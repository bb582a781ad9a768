// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/merge.hpp"

#include <algorithm>

#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {

Array merged(const Array& runs, std::span<const i64> lengths) {
  const i64 pieces = std::count_if(lengths.begin(), lengths.end(), [](i64 n) { return n > 0; });
  if (pieces > 1 && (runs.device() != cpu || !runs.is_contiguous())) return sort(runs);
  return merged(runs, lengths, pieces > 1 ? Array::empty(runs.shape(), runs.dtype()) : runs);
}

Array merged(const Array& runs, std::span<const i64> lengths, const Array& room) {
  std::vector<i64> bounds{0};
  for (const i64 n : lengths)
    if (n > 0) bounds.push_back(bounds.back() + n);
  require<ShapeError>(runs.ndim() == 1 && bounds.back() == runs.size(), "merged: runs of ",
                      bounds.back(), " items in an array of shape ", runs.shape());
  const i64 pieces = static_cast<i64>(bounds.size()) - 1;
  Array from = runs, to = room;
  if (pieces <= 1) return from;
  dispatch<TESSERA_ALL_TYPES>(runs.dtype(), "merged", [&]<class T>() {
    for (i64 width = 1; width < pieces; width *= 2, std::swap(from, to))
      merge_level(static_cast<const Valued<T>*>(from.host_data()),
                  static_cast<Valued<T>*>(to.host_data()), pieces, width,
                  [&](i64 i) { return bounds[static_cast<std::size_t>(i)]; });
  });
  return from;
}

std::vector<i64> mergeable(std::span<const Array> windows, const std::vector<bool>& goes_on) {
  std::vector<i64> counts(windows.size());
  if (windows.empty()) return counts;
  dispatch<TESSERA_ALL_TYPES>(windows[0].dtype(), "mergeable", [&]<class T>() {
    using E = Valued<T>;
    const auto first = [&](std::size_t i) { return static_cast<const E*>(windows[i].host_data()); };
    const E* bound = nullptr;  // the last item of the window that ends first
    std::size_t whose = windows.size();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (!goes_on[i]) continue;
      const E* last = first(i) + windows[i].size() - 1;
      if (bound && !item_before(*last, *bound)) continue;
      bound = last;
      whose = i;
    }
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const E *const begin = first(i), *const end = begin + windows[i].size();
      // Items that equal the bound follow what is not in memory of an earlier run.
      const E* to = !bound       ? end
                    : i <= whose ? std::upper_bound(begin, end, *bound, item_before<E>)
                                 : std::lower_bound(begin, end, *bound, item_before<E>);
      counts[i] = to - begin;
    }
  });
  return counts;
}

}  // namespace tessera
