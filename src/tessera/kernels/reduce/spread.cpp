// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/reduce/spread.hpp"

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/reduce/reduce_cpu.hpp"

namespace tessera {
namespace {

template <class T>
struct Extent {
  T most, least;

  void join(const Extent& other) {  // a NaN stays
    most = element::maximum{}(most, other.most);
    least = element::minimum{}(least, other.least);
  }
};

// Part by part: what was read for the largest is in the first cache for the smallest.
template <class T>
Extent<T> extent_of(const T* x, i64 n, const ReduceFns& most, const ReduceFns& least) {
  constexpr i64 part = 16384 / sizeof(T);
  const auto of_part = [&](i64 i) {
    const i64 some = std::min(part, n - i);
    Extent<T> e;
    most.row(x + i, nullptr, some, 0, &e.most);
    least.row(x + i, nullptr, some, 0, &e.least);
    return e;
  };
  Extent<T> all = of_part(0);
  for (i64 i = part; i < n; i += part) all.join(of_part(i));
  return all;
}

template <class T>
T spread_of(const T* x, i64 n) {
  const ReduceFns most = reduce_extrema(ReduceOp::max, dtype_of<T>),
                  least = reduce_extrema(ReduceOp::min, dtype_of<T>);
  Extent<T> all{x[0], x[0]};
  std::mutex joining;
  parallel_for(n, 65536, [&](i64 begin, i64 end) {
    const Extent<T> e = extent_of(x + begin, end - begin, most, least);
    const std::lock_guard lock(joining);
    all.join(e);
  });
  if constexpr (std::is_integral_v<T>) {  // wraps; signed overflow would be undefined
    using Natural = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Natural>(all.most) - static_cast<Natural>(all.least));
  } else {
    return all.most - all.least;
  }
}

}  // namespace

Array spread_dense(const Array& x) {
  const DType t = x.dtype();
  if (x.device() != cpu || x.size() == 0 || !x.is_contiguous() ||
      (!is_integer(t) && t != DType::f32 && t != DType::f64))
    return {};
  const Array out = empty_dense({}, t);
  x.storage().wait();
  dispatch<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
           std::uint32_t, i64, std::uint64_t>(t, "ptp", [&]<class T>() {
    *static_cast<T*>(out.data()) = spread_of(static_cast<const T*>(x.data()), x.size());
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "ptp", t);
  return out;
}

}  // namespace tessera
