// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/classes.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

using Class = std::uint16_t;
constexpr i64 few = 8;      // bounds from which a search is quicker than looking at all
constexpr i64 block = 512;  // elements whose keys are held at a time

// Few bounds: all are looked at, element after element, without a branch.
template <class K>
void count_bounds(const K* keys, i64 n, const std::vector<K>& bounds, Class* out) {
  std::fill(out, out + n, Class{0});
  for (const K& b : bounds)
    for (i64 i = 0; i < n; ++i)
      out[i] = static_cast<Class>(out[i] + before(b, keys[i]) + !before(keys[i], b));
}

// Many bounds: some elements at a time are searched for, in steps that do not wait for one another.
template <class K, i64 lanes>
void search_lanes(const K* keys, const std::vector<K>& bounds, Class* out) {
  const i64 size = static_cast<i64>(bounds.size());
  const K* low[lanes];
  std::fill(low, low + lanes, bounds.data());
  for (i64 left = size; left > 1;) {
    const i64 half = left / 2;
    for (i64 k = 0; k < lanes; ++k) low[k] += before(low[k][half - 1], keys[k]) ? half : 0;
    left -= half;
  }
  for (i64 k = 0; k < lanes; ++k) {
    const i64 at = low[k] - bounds.data() + before(*low[k], keys[k]);
    const bool equal = at < size && !before(keys[k], bounds[static_cast<std::size_t>(at)]);
    out[k] = static_cast<Class>(2 * at + equal);
  }
}

template <class K>
void search_bounds(const K* keys, i64 n, const std::vector<K>& bounds, Class* out) {
  constexpr i64 lanes = 8;
  i64 i = 0;
  for (; i + lanes <= n; i += lanes) search_lanes<K, lanes>(keys + i, bounds, out + i);
  for (; i < n; ++i) search_lanes<K, 1>(keys + i, bounds, out + i);
}

template <class T>
void classify(const Array& x, const Array& given, Class* out) {
  using S = SortKey<T>;
  using K = typename S::Key;
  std::vector<K> bounds;
  for (i64 k = 0; k < given.size(); ++k) bounds.push_back(S::key(given.host<T>()[k], true));
  const T* const from = x.host<T>();
  const i64 step = x.layout().strides[0];
  parallel_for(x.size(), 1 << 15, [&](i64 begin, i64 end) {
    K keys[block];
    for (i64 at = begin; at < end; at += block) {
      const i64 n = std::min(block, end - at);
      for (i64 i = 0; i < n; ++i) keys[i] = S::key(from[(at + i) * step], true);
      if (static_cast<i64>(bounds.size()) <= few)
        count_bounds(keys, n, bounds, out + at);
      else
        search_bounds(keys, n, bounds, out + at);
    }
  });
}

// Whether each of some numbers is above the one before it. Not so where equals, NaNs or zeros of both
// signs are among them, which are looked at one by one.
template <class T>
bool all_rise(const T* x, i64 n) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint8_t>>;
  Bits level = 0;
  wide([x, n, &level] {
    Bits found = 0;
    for (i64 i = 0; i < n; ++i) found |= static_cast<Bits>(!(x[i - 1] < x[i]));
    level = found;
  });
  return level == 0;
}

template <class T>
i64 drop_repeats(const T* from, i64 n, T* to) {
  i64 kept = 1;
  to[0] = from[0];
  for (i64 begin = 1; begin < n; begin += block) {
    const i64 end = std::min(n, begin + block);
    if constexpr (std::is_arithmetic_v<T>)
      if (all_rise(from + begin, end - begin)) {
        std::copy(from + begin, from + end, to + kept);
        kept += end - begin;
        continue;
      }
    for (i64 i = begin; i < end; ++i) {
      to[kept] = from[i];
      kept += item_before(Valued<T>{from[i - 1]}, Valued<T>{from[i]});
    }
  }
  return kept;
}

}  // namespace

Array classes(const Array& x, const Array& bounds) {
  require<ShapeError>(
      x.ndim() == 1 && bounds.ndim() == 1 && bounds.is_contiguous() && x.dtype() == bounds.dtype(),
      "classes: elements of shape ", x.shape(), " and dtype ", x.dtype(), ", bounds of shape ",
      bounds.shape(), " and dtype ", bounds.dtype(),
      "; both need one axis and one dtype, and bounds must be dense");
  require<ArgumentError>(bounds.size() < (1 << 15), "classes: ", bounds.size(),
                         " bounds, expected fewer than 32768");
  const Array out = empty_dense(x.shape(), DType::u16);
  if (x.size() == 0) return out;
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "classes",
                              [&]<class T>() { classify<T>(x, bounds, out.host<Class>()); });
  return out;
}

Array without_repeats(const Array& sorted) {
  const Array from = sorted.contiguous(), to = empty_dense(sorted.shape(), sorted.dtype());
  if (from.size() == 0) return to;
  i64 kept = 0;
  dispatch<TESSERA_ALL_TYPES>(from.dtype(), "without_repeats", [&]<class T>() {
    kept = drop_repeats(from.host<T>(), from.size(), to.host<T>());
  });
  return to.slice(0, 0, kept);
}

}  // namespace tessera
