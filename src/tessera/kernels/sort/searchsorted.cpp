// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/search_several.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {
namespace {

template <bool right, class T>
i64 search_one(const Sorted<T>& x, const T& value) {
  const auto key = SortKey<T>::key(value, true);
  i64 low = 0, high = x.n;
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    const auto at = SortKey<T>::key(x[middle], true);
    if (right ? !before(key, at) : before(at, key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class T>
using Compared =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <bool right, class T>
void search_block(const Sorted<T>& x, const T* from, i64 from_step, i64* to, i64 to_step, i64 n) {
  using C = Compared<T>;
  C values[at_once] = {};
  i64 low[at_once];
  bool nan = false;
  for (i64 k = 0; k < n; ++k) {
    values[k] = static_cast<C>(from[k * from_step]);
    nan |= values[k] != values[k];
  }
  search_several<right>(x, values, low);
  for (i64 k = 0; k < n; ++k) to[k * to_step] = low[k];
  for (i64 k = 0; nan && k < n; ++k)
    if (values[k] != values[k]) to[k * to_step] = search_one<right>(x, from[k * from_step]);
}

template <bool right, class T>
void search_host(const Array& sorted, const Array& values, const Array& out) {
  const Sorted<T> x{sorted.host<T>(), sorted.size(), sorted.layout().strides[0]};
  const T* const v = values.host<T>();
  i64* const to = out.host<i64>();
  const i64 from_step = values.layout().strides[0], to_step = out.layout().strides[0];
  parallel_for(values.size(), 1024, [&](i64 begin, i64 end) {
    if constexpr (is_complex_v<T>) {
      for (i64 i = begin; i < end; ++i) to[i * to_step] = search_one<right>(x, v[i * from_step]);
    } else {
      for (i64 i = begin; i < end; i += at_once)
        search_block<right>(x, v + i * from_step, from_step, to + i * to_step, to_step,
                            std::min(at_once, end - i));
    }
  });
}

// a < b in the order of sort, from element-wise steps: NaN last; complex numbers by class (no NaN,
// NaN in the imaginary part, in the real part, in both), then by parts.
Array real_before(const Array& a, const Array& b) {
  if (!is_inexact(a.dtype())) return ops::less(a, b);
  return ops::logical_or(ops::less(a, b),
                         ops::logical_and(ops::isnan(b), ops::logical_not(ops::isnan(a))));
}
Array both(const Array& x, const Array& y) { return ops::logical_and(x, y); }
Array either(const Array& x, const Array& y) { return ops::logical_or(x, y); }
Array not_of(const Array& x) { return ops::logical_not(x); }

Array ordered(const Array& a, const Array& b) {
  if (!is_complex(a.dtype())) return real_before(a, b);
  const Array a_re = ops::real(a), a_im = ops::imag(a), b_re = ops::real(b), b_im = ops::imag(b);
  auto rank = [](const Array& re, const Array& im) {
    const Array r = ops::isnan(re).astype(DType::i8), i = ops::isnan(im).astype(DType::i8);
    return ops::add(ops::add(r, r), i);
  };
  const Array ra = rank(a_re, a_im), rb = rank(b_re, b_im);
  const Array less_re = ops::less(a_re, b_re), more_re = ops::less(b_re, a_re);
  const Array inside = either(less_re, both(not_of(more_re), ops::less(a_im, b_im)));
  return either(ops::less(ra, rb), both(ops::equal(ra, rb), inside));
}

// Binary search of all values at once: as many rounds as the length has bits.
Array search_steps(const Array& sorted, const Array& values, bool right) {
  const i64 n = sorted.size();
  Array low = zeros({values.size()}, DType::i64, sorted.device());
  Array high = full({values.size()}, Value(n), DType::i64, sorted.device());
  for (i64 width = n; width > 0; width /= 2) {
    const Array middle = ops::floor_divide(ops::add(low, high), Value(i64{2}));
    const Array open = ops::less(low, high);
    const Array at = take(sorted, ops::minimum(middle, Value(n - 1)), 0);
    const Array after = right ? not_of(ordered(values, at)) : ordered(at, values);
    low = ops::where(both(open, after), ops::add(middle, Value(i64{1})), low);
    high = ops::where(both(open, not_of(after)), middle, high);
  }
  return low;
}

}  // namespace

Array searchsorted(const Array& sorted, const Array& values, bool right) {
  const Array* all[] = {&sorted, &values};
  const Device device = common_device("searchsorted", all);
  require<ShapeError>(sorted.ndim() == 1, "searchsorted: the sorted array has shape ",
                      sorted.shape(), ", expected one dimension");
  const DType dtype = promote(sorted.dtype(), values.dtype());
  const Array x = sorted.astype(dtype), flat = values.astype(dtype).reshape({-1});
  if (flat.size() == 0 || x.size() == 0) return zeros(values.shape(), DType::i64, device);
  if (device.kind != Kind::cpu) return search_steps(x, flat, right).reshape(values.shape());
  const Array out = Array::empty({flat.size()}, DType::i64, device);
  dispatch<TESSERA_ALL_TYPES>(dtype, "searchsorted", [&]<class T>() {
    right ? search_host<true, T>(x, flat, out) : search_host<false, T>(x, flat, out);
  });
  return out.reshape(values.shape());
}

}  // namespace tessera
