// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays for tests of kernels: given values in awkward layouts (gaps, turned axes, exchanged axes,
// an offset), and the values read back by plain index arithmetic, so that no kernel checks itself.
//   Array x = laid_out<float>({2, 3}, {1, 2, 3, 4, 5, 6}, Lay::reversed);   values_of<float>(x)

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/support.hpp"
#include "support/text.hpp"
#include "tessera/array/array.hpp"

namespace tessera {

enum class Lay : std::uint8_t { dense, gaps, reversed, exchanged };
inline constexpr Lay all_lays[] = {Lay::dense, Lay::gaps, Lay::reversed, Lay::exchanged};

inline Layout layout_of(const Shape& shape, Lay lay, i64* storage_size) {
  Layout l = Layout::contiguous(shape);
  *storage_size = l.size();
  if (l.size() == 0) return l;
  if (lay == Lay::gaps) {
    Shape wide = shape;
    for (i64& n : wide) n = 2 * n + 1;
    l = Layout::contiguous(wide);
    *storage_size = l.size();
    for (i64 a = 0; a < shape.size(); ++a) l = l.slice(a, 1, shape[a], 2);
  } else if (lay == Lay::reversed) {
    for (i64 a = 0; a < shape.size(); ++a) l = l.slice(a, shape[a] - 1, shape[a], -1);
  } else if (lay == Lay::exchanged) {
    Shape turned(shape.size(), 0), axes;
    for (i64 a = 0; a < shape.size(); ++a) {
      turned[a] = shape[shape.size() - 1 - a];
      axes.push_back(shape.size() - 1 - a);
    }
    l = Layout::contiguous(turned).permute(axes);
  }
  return l;
}

// f(k, offset) for the row-major positions k of a layout and the element offsets they mean.
template <class F>
void for_each_offset(const Layout& l, F&& f) {
  const i64 n = l.size();
  for (i64 k = 0; k < n; ++k) {
    i64 rest = k, offset = l.offset;
    for (i64 a = l.ndim() - 1; a >= 0; --a) {
      offset += rest % l.shape[a] * l.strides[a];
      rest /= l.shape[a];
    }
    f(k, offset);
  }
}

template <class T>
Array laid_out(const Shape& shape, const std::vector<T>& values, Lay lay = Lay::dense,
               Device device = test_device()) {
  i64 size = 0;
  const Layout layout = layout_of(shape, lay, &size);
  EXPECT_EQ(layout.size(), static_cast<i64>(values.size()));
  const Array block(Storage::allocate(cpu, size * static_cast<i64>(sizeof(T))),
                    Layout::contiguous({size}), dtype_of<T>);
  T* p = block.host<T>();
  for_each_offset(layout,
                  [&](i64 k, i64 offset) { p[offset] = values[static_cast<std::size_t>(k)]; });
  return block.to(device).view(layout);
}

// Dense and on the host.
template <class T>
Array filled(const Shape& shape, std::initializer_list<T> values) {
  return laid_out<T>(shape, values, Lay::dense, cpu);
}

// The same with the dtype chosen at run time; the numbers must be exact in it.
inline Array laid_out(DType dtype, const Shape& shape, const std::vector<double>& numbers,
                      Lay lay = Lay::dense, Device device = test_device()) {
  Array x;
  dispatch<TESSERA_ALL_TYPES>(dtype, "laid_out", [&]<class T>() {
    std::vector<T> values;
    for (double v : numbers)
      if constexpr (is_complex_v<T>)
        values.push_back(T(static_cast<decltype(T::re)>(v)));
      else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        values.push_back(T(static_cast<float>(v)));
      else
        values.push_back(static_cast<T>(v));
    x = laid_out<T>(shape, values, lay, device);
  });
  return x;
}

template <class T>
std::vector<T> values_of(const Array& x) {
  EXPECT_EQ(x.dtype(), dtype_of<T>);
  const Array block = x.view([&] {
                         const auto [lo, hi] = x.layout().span();
                         Layout all = Layout::contiguous({hi + 1 - lo});
                         all.offset = lo;
                         return all;
                       }())
                          .to(cpu);
  const i64 shift = x.layout().span().first;
  std::vector<T> values(static_cast<std::size_t>(x.size()));
  const T* p = block.host<T>();
  for_each_offset(x.layout(), [&](i64 k, i64 offset) {
    values[static_cast<std::size_t>(k)] = p[offset - shift];
  });
  return values;
}

// Every element as a complex double, whatever the dtype: exact but for 64-bit integers beyond 53
// bits.
inline std::vector<std::complex<double>> numbers_of(const Array& x) {
  std::vector<std::complex<double>> numbers;
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "numbers_of", [&]<class T>() {
    for (const T& v : values_of<T>(x))
      if constexpr (is_complex_v<T>)
        numbers.emplace_back(v.re, v.im);
      else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        numbers.emplace_back(static_cast<float>(v));
      else
        numbers.emplace_back(static_cast<double>(v));
  });
  return numbers;
}

// Unit roundoff of a dtype; 0 for exact ones.
inline double epsilon_of(DType t) {
  switch (real_of(t)) {
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f32: return 0x1p-24;
    case DType::f64: return 0x1p-53;
    default: return 0;
  }
}

// Shape, dtype and bits.
inline bool same_bits(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Array x = a.to(cpu).contiguous(), y = b.to(cpu).contiguous();
  return x.size() == 0 ||
         std::memcmp(x.host_data(), y.host_data(), static_cast<std::size_t>(x.bytes())) == 0;
}

}  // namespace tessera
