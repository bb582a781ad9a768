// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/counting/counting.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/search_several.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

constexpr i64 counting_grain =
    65536;  // numbers of a thread, which then adds its counts to the others'

Array sums_of(i64 n, DType dtype) {
  const Array sums = empty_dense({n}, dtype);
  std::memset(sums.data(), 0, static_cast<std::size_t>(sums.bytes()));
  return sums;
}

// body(begin, end, sums): adds to `sums`. Counts are the same in any order, so threads have some of
// their own; sums of floats are not.
template <class Weight, class Body>
void each_part(i64 n, i64 bins, Weight* sums, Body body) {
  if (std::is_floating_point_v<Weight> || n < 2 * counting_grain || n < 8 * bins)
    return body(i64{0}, n, sums);
  std::mutex adding;
  parallel_for(n, std::max(counting_grain, 8 * bins), [&](i64 begin, i64 end) {
    std::vector<Weight> own(static_cast<std::size_t>(bins), Weight(0));
    body(begin, end, own.data());
    const std::lock_guard lock(adding);
    for (i64 i = 0; i < bins; ++i) sums[i] += own[static_cast<std::size_t>(i)];
  });
}

// The largest number, or a negative one where there is any: as unsigned, those are the largest.
template <class T>
i64 largest_or_negative(const T* x, i64 n) {
  using Natural = std::make_unsigned_t<T>;
  Natural most = 0;
  wide([x, n, &most] {
    Natural found = 0;
    for (i64 i = 0; i < n; ++i) found = std::max(found, static_cast<Natural>(x[i]));
    most = found;
  });
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(most);
  else
    return static_cast<i64>(most);
}

template <class T>
Array numbers_counted(const Array& x, const Array* weights, i64 minlength) {
  const T* const from = static_cast<const T*>(x.data());
  const i64 n = x.size(), most = largest_or_negative(from, n);
  if (most < 0 || most == std::numeric_limits<i64>::max()) return {};
  const i64 bins = std::max(most + 1, minlength);
  if (weights) {
    const double* const w = static_cast<const double*>(weights->data());
    const Array sums = sums_of(bins, DType::f64);
    double* const to = static_cast<double*>(sums.data());
    for (i64 i = 0; i < n; ++i) to[from[i]] += w[i];
    return sums;
  }
  const Array sums = sums_of(bins, DType::i64);
  each_part(n, bins, static_cast<i64*>(sums.data()), [from](i64 begin, i64 end, i64* to) {
    for (i64 i = begin; i < end; ++i) ++to[from[i]];
  });
  return sums;
}

template <class T>
struct Bins {
  const T* edges;
  i64 n;
  T scale;  // bins in a unit of length, where they are even
};

constexpr i64 block_of_places = 256;

// The bin of each number by a product, which rounding puts at most one bin beside what the edges
// say; n for one that lies outside.
template <class T>
void even_places(const Bins<T>& bins, const T* x, i64 count, std::int32_t* places) {
  const T first = bins.edges[0], last = bins.edges[bins.n], scale = bins.scale;
  const auto n = static_cast<std::int32_t>(bins.n);
  wide([=] {
    for (i64 k = 0; k < count; ++k) {
      const bool inside = (x[k] >= first) & (x[k] <= last);
      const T at = (inside ? x[k] - first : T(0)) * scale;
      const std::int32_t place = std::min(static_cast<std::int32_t>(at), n - 1);
      places[k] = inside ? place : n;
    }
  });
  for (i64 k = 0; k < count; ++k) {
    std::int32_t p = places[k];
    if (p == n) continue;
    p -= x[k] < bins.edges[p];
    p += (x[k] >= bins.edges[p + 1]) & (p < n - 1);
    places[k] = p;
  }
}

template <class T>
void searched_places(const Bins<T>& bins, const T* x, i64 count, std::int32_t* places) {
  const T first = bins.edges[0], last = bins.edges[bins.n];
  const i64 n = bins.n;
  for (i64 i = 0; i < count; i += at_once) {
    const i64 some = std::min(at_once, count - i);
    T values[at_once] = {};
    i64 behind[at_once];
    std::copy(x + i, x + i + some, values);
    search_several<true>(Sorted<T>{bins.edges, n + 1, 1}, values, behind);
    for (i64 k = 0; k < some; ++k) {
      const bool inside = (values[k] >= first) & (values[k] <= last);
      places[i + k] = static_cast<std::int32_t>(inside ? std::min(behind[k] - 1, n - 1) : n);
    }
  }
}

// Sums of n bins and of one more, for what lies outside. Without weights each number counts one.
template <class T, class Weight>
void add_between(const Bins<T>& bins, bool even, const T* x, const Weight* weights, i64 begin,
                 i64 end, Weight* sums) {
  std::int32_t places[block_of_places];
  for (i64 i = begin; i < end; i += block_of_places) {
    const i64 some = std::min(block_of_places, end - i);
    even ? even_places(bins, x + i, some, places) : searched_places(bins, x + i, some, places);
    if (weights)
      for (i64 k = 0; k < some; ++k) sums[places[k]] += weights[i + k];
    else
      for (i64 k = 0; k < some; ++k) ++sums[places[k]];
  }
}

template <class T>
Array between(const Array& x, const Array& edges, bool even, const Array* weights) {
  const T *const from = static_cast<const T*>(x.data()), *const cuts =
                                                             static_cast<const T*>(edges.data());
  const i64 n = edges.size() - 1;
  Bins<T> bins{cuts, n, T(0)};
  if constexpr (std::is_floating_point_v<T>) {
    // A product of T must tell neighbouring bins apart, and the length of all must be a number of T.
    const T length = cuts[n] - cuts[0];
    bins.scale = static_cast<T>(n) / length;
    even = even && std::isfinite(length) && std::isfinite(bins.scale) &&
           static_cast<T>(n) * std::numeric_limits<T>::epsilon() < T(0.01);
  }
  // Integers are added as unsigned ones of their size: the sums are the same bits, and wrap around.
  const auto added = [&]<class Weight>(Weight, DType dtype) {
    const auto* const w = weights ? static_cast<const Weight*>(weights->data()) : nullptr;
    const Array sums = sums_of(n + 1, dtype);
    each_part(
        x.size(), n + 1, static_cast<Weight*>(sums.data()),
        [&](i64 begin, i64 end, Weight* to) { add_between(bins, even, from, w, begin, end, to); });
    return sums.slice(0, 0, n);
  };
  if (weights && weights->dtype() == DType::f64) return added(0.0, DType::f64);
  return added(std::uint64_t{0}, DType::i64);
}

// Dense, on the host, and all that was to be written there is.
bool made_ready(Array& x) {
  if (x.device() != cpu) return false;
  x = x.contiguous();
  x.storage().wait();
  return true;
}

void note(std::string_view who, DType dtype) {
  count(Counter::launches);
  tag_launch(name(Kind::cpu), who, dtype);
}

}  // namespace

Array count_numbers(const Array& x, const Array* weights, i64 minlength) {
  Array numbers = x, heavy = weights ? *weights : Array();
  if (!made_ready(numbers) || !is_integer(x.dtype()) || x.ndim() != 1 || x.size() == 0 ||
      minlength < 0)
    return {};
  if (weights && (!made_ready(heavy) || heavy.dtype() != DType::f64 || heavy.ndim() != 1 ||
                  heavy.size() != x.size()))
    return {};
  Array found;
  dispatch<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, i64,
           std::uint64_t>(x.dtype(), "bincount", [&]<class T>() {
    found = numbers_counted<T>(numbers, weights ? &heavy : nullptr, minlength);
  });
  if (found) note("bincount", x.dtype());
  return found;
}

Array count_between(const Array& x, const Array& edges, bool even, const Array* weights) {
  constexpr i64 most_bins = 1 << 30;
  Array numbers = x, cuts = edges, heavy = weights ? *weights : Array();
  const DType t = x.dtype();
  if ((t != DType::f32 && t != DType::f64 && (t != DType::i64 || even)) || edges.dtype() != t ||
      edges.ndim() != 1 || edges.size() < 2 || edges.size() > most_bins || !made_ready(numbers) ||
      !made_ready(cuts))
    return {};
  if (weights &&
      (!made_ready(heavy) || (heavy.dtype() != DType::f64 && heavy.dtype() != DType::i64) ||
       heavy.size() != x.size()))
    return {};
  Array found;
  dispatch<float, double, i64>(t, "histogram", [&]<class T>() {
    found = between<T>(numbers, cuts, even, weights ? &heavy : nullptr);
  });
  note("histogram", t);
  return found;
}

}  // namespace tessera
