// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/close.hpp"

#include <atomic>
#include <limits>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

template <class T>
struct Near {
  T rtol, atol;
  bool equal_nan;

  TESSERA_INLINE bool operator()(T a, T b) const {
    const T size = b < 0 ? -b : b, apart = a < b ? b - a : a - b;
    const bool finite = size <= std::numeric_limits<T>::max();
    return (finite & (apart <= atol + rtol * size)) | (a == b) | (equal_nan & (a != a) & (b != b));
  }
};

constexpr i64 close_block = 4096;  // elements between two looks at whether all were close

struct ClosePair {
  Array a, b;
  bool fits = false;
};

ClosePair close_pair(const Array& a, const Array& b) {
  const DType t = a.dtype();
  if (a.device() != cpu || b.device() != cpu || b.dtype() != t ||
      (t != DType::f32 && t != DType::f64) || !(a.shape() == b.shape()))
    return {};
  ClosePair p{a.contiguous(), b.contiguous(), true};
  p.a.storage().wait();
  p.b.storage().wait();
  return p;
}

template <class T>
Near<T> nearness(const Closeness& how) {
  return {static_cast<T>(how.rtol), static_cast<T>(how.atol), how.equal_nan};
}

template <class T>
bool all_near(const T* a, const T* b, i64 n, Near<T> near) {
  bool found = true;
  wide([a, b, n, near, &found] {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    Bits far = 0;  // as wide as the numbers: no lane has to be narrowed
    for (i64 i = 0; i < n; ++i) far |= static_cast<Bits>(!near(a[i], b[i]));
    found = far == 0;
  });
  return found;
}

}  // namespace

Array close_dense(const Array& a, const Array& b, const Closeness& how) {
  const ClosePair p = close_pair(a, b);
  if (!p.fits) return {};
  const Array out = empty_dense(a.shape(), DType::b1);
  dispatch<float, double>(a.dtype(), "isclose", [&]<class T>() {
    const T *const x = static_cast<const T*>(p.a.data()), *const y =
                                                              static_cast<const T*>(p.b.data());
    auto* const to = static_cast<std::uint8_t*>(out.data());
    const Near<T> near = nearness<T>(how);
    parallel_for(out.size(), 32768, [=](i64 begin, i64 end) {
      wide([=] {
#pragma GCC ivdep
        for (i64 i = begin; i < end; ++i) to[i] = near(x[i], y[i]);
      });
    });
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "isclose", a.dtype());
  return out;
}

std::optional<bool> all_close_dense(const Array& a, const Array& b, const Closeness& how) {
  const ClosePair p = close_pair(a, b);
  if (!p.fits) return {};
  std::atomic<bool> all = true;
  dispatch<float, double>(a.dtype(), "allclose", [&]<class T>() {
    const T *const x = static_cast<const T*>(p.a.data()), *const y =
                                                              static_cast<const T*>(p.b.data());
    const Near<T> near = nearness<T>(how);
    parallel_for(a.size(), 32768, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end && all.load(std::memory_order_relaxed); i += close_block)
        if (!all_near(x + i, y + i, std::min(close_block, end - i), near)) all = false;
    });
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "allclose", a.dtype());
  return all.load();
}

}  // namespace tessera
