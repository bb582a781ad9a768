// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/clip.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/elementwise/math/register_ops.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

template <class T>
void clip_block(const T* x, T low, T high, T* y, i64 n) {
  if (math::is_nan(low) || math::is_nan(high)) {
    std::fill(y, y + n, math::is_nan(low) ? low : high);
    return;
  }
  wide([=] {
    i64 i = 0;
#if defined(__aarch64__)
    const Register<T> lows = in_all_lanes(low), highs = in_all_lanes(high);
    i = each_register(
        n, y,
        [=](const Register<T>& v) {
          return in_register(element::minimum{}, in_register(element::maximum{}, v, lows), highs);
        },
        [=](i64 k) { return load_register(x + k); });
#endif
#pragma GCC ivdep
    for (; i < n; ++i) {  // as minimum and maximum, which ask for NaNs: g++ makes branches of two
      const T above = x[i] < low ? low : x[i];
      y[i] = above > high ? high : above;
    }
  });
}

}  // namespace

Array clip_dense(const Array& x, const Value& low, const Value& high) {
  const bool real = low.kind() != Value::Kind::complex && high.kind() != Value::Kind::complex;
  const DType t = x.dtype();
  if (!real || x.device() != cpu || (t != DType::f32 && t != DType::f64) || !x.is_contiguous())
    return {};
  const Array y = Array::empty(x.shape(), t, cpu);
  if (!y.is_contiguous()) return {};
  x.storage().wait();
  dispatch<float, double>(t, "clip", [&]<class T>() {
    T limits[2];
    for (int k = 0; k < 2; ++k) {
      const Element e = element_of(k == 0 ? low : high, t);
      std::memcpy(&limits[k], e.bytes, sizeof(T));
    }
    const T* from = static_cast<const T*>(x.data());
    T* to = static_cast<T*>(y.data());
    parallel_for(x.size(), 32768, [=](i64 begin, i64 end) {
      clip_block(from + begin, limits[0], limits[1], to + begin, end - begin);
    });
  });
  return y;
}

}  // namespace tessera
