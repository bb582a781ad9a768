// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/logaddexp.hpp"

#include <algorithm>
#include <numbers>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/math/math_blocks.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

constexpr i64 part_of_sums = 512;  // stays in the first cache between its passes

// The larger of each two, and by how much the other is less.
template <class T>
void part_by_size(const T* a, const T* b, unsigned scalars, i64 n, T* larger, T* apart) {
  const i64 step_a = scalars & 1 ? 0 : 1, step_b = scalars & 2 ? 0 : 1;
  const auto pair = [=](T x, T y, i64 i) __attribute__((always_inline)) {
    // A NaN is never above the other number: it becomes the larger one, or it is what is subtracted.
    const auto first = quick::mask<T>(x > y);
    larger[i] = quick::choose(first, x, y);
    // Equal infinities have no difference.
    apart[i] = quick::choose(quick::mask<T>(x == y), T(0), quick::choose(first, y, x) - larger[i]);
  };
  wide([=] {
    if (step_a + step_b == 2)
      for (i64 i = 0; i < n; ++i) pair(a[i], b[i], i);
    else
      for (i64 i = 0; i < n; ++i) pair(a[i * step_a], b[i * step_b], i);
  });
}

template <class T>
void log_of_sums(const T* a, const T* b, unsigned scalars, T* out, i64 n, bool of_two) {
  T larger[part_of_sums], apart[part_of_sums];
  for (i64 i = 0; i < n; i += part_of_sums) {
    const i64 some = std::min(part_of_sums, n - i);
    part_by_size(a + (scalars & 1 ? 0 : i), b + (scalars & 2 ? 0 : i), scalars, some, larger,
                 apart);
    const void* const in[] = {apart};
    of_two ? block_1<element::exp2, T>(in, apart, some, 0)
           : block_1<element::exp, T>(in, apart, some, 0);
    block_1<element::log1p, T>(in, apart, some, 0);
    const T scale = of_two ? std::numbers::log2e_v<T> : T(1);
    T* const to = out + i;
    wide([=, &larger, &apart] {
      for (i64 k = 0; k < some; ++k) to[k] = larger[k] + apart[k] * scale;
    });
  }
}

}  // namespace

Array logaddexp_dense(const Array& a, const Array& b, bool of_two) {
  const DType t = a.dtype();
  if (a.device() != cpu || b.device() != cpu || b.dtype() != t || !is_float(t)) return {};
  if (t != DType::f32 && t != DType::f64) {  // rounded once, at the end
    const Array wide = logaddexp_dense(a.astype(DType::f32), b.astype(DType::f32), of_two);
    return wide ? wide.astype(t) : wide;
  }
  unsigned scalars = 0;
  if (!(a.shape() == b.shape())) {
    if (b.size() == 1 && b.ndim() <= a.ndim())
      scalars = 2;
    else if (a.size() == 1 && a.ndim() <= b.ndim())
      scalars = 1;
    else
      return {};
  }
  const Array x = a.contiguous(), y = b.contiguous(),
              out = empty_dense(scalars == 1 ? b.shape() : a.shape(), t);
  x.storage().wait();
  y.storage().wait();
  dispatch<float, double>(t, "logaddexp", [&]<class T>() {
    const T *const from = static_cast<const T*>(x.data()), *const other =
                                                               static_cast<const T*>(y.data());
    T* const to = static_cast<T*>(out.data());
    parallel_for(out.size(), 4096, [=](i64 begin, i64 end) {
      log_of_sums(from + (scalars & 1 ? 0 : begin), other + (scalars & 2 ? 0 : begin), scalars,
                  to + begin, end - begin, of_two);
    });
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), of_two ? "logaddexp2" : "logaddexp", t);
  return out;
}

}  // namespace tessera
