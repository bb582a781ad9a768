// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/roots.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "tessera/device/threads.hpp"

namespace tessera::streaming {
namespace {

i64 fine_bits_of(i64 points) {
  return (std::bit_width(static_cast<std::uint64_t>(points)) + 1) / 2;
}
i64 coarse_count(i64 points) { return ((points - 1) >> fine_bits_of(points)) + 1; }

Array table_of(i64 count, i64 step, i64 points) {
  const Array table = Array::empty({count}, DType::c128);
  auto* const z = table.host<c128>();
  for (i64 k = 0; k < count; ++k) {
    const double angle = 2 * std::numbers::pi *
                         (static_cast<double>(k * step % points) / static_cast<double>(points));
    z[k] = {std::cos(angle), std::sin(angle)};
  }
  return table;
}

}  // namespace

i64 RootTable::bytes(i64 points) {
  return ((i64{1} << fine_bits_of(points)) + coarse_count(points) + 8) * size_of(DType::c128);
}

RootTable::RootTable(i64 points)
    : points_(points),
      fine_bits_(fine_bits_of(points)),
      fine_(table_of(i64{1} << fine_bits_, 1, points)),
      coarse_(table_of(coarse_count(points), i64{1} << fine_bits_, points)) {}

template <class R>
void RootTable::multiply_as(const Array& work, i64 axis, i64 first, int sign) const {
  const Shape& s = work.shape();
  i64 outer = 1, inner = 1;
  for (i64 d = 0; d < axis; ++d) outer *= s[d];
  for (i64 d = axis + 2; d < s.size(); ++d) inner *= s[d];
  const i64 rows = s[axis], columns = s[axis + 1], mask = (i64{1} << fine_bits_) - 1;
  const c128 *const fine = fine_.host<c128>(), *const coarse = coarse_.host<c128>();
  auto* const data = work.host<Complex<R>>();
  const double side = sign;
  parallel_for(outer * rows, 1, [&](i64 begin, i64 end) {
    for (i64 line = begin; line < end; ++line) {
      const i64 row = line % rows;
      Complex<R>* z = data + line * columns * inner;
      for (i64 c = 0; c < columns; ++c) {
        const i64 k = row * (first + c);  // below points_
        const c128 f = fine[k & mask], g = coarse[k >> fine_bits_];
        const auto p = static_cast<R>(f.re * g.re - f.im * g.im),
                   q = static_cast<R>(side * (f.re * g.im + f.im * g.re));
        for (i64 i = 0; i < inner; ++i, ++z) *z = {z->re * p - z->im * q, z->re * q + z->im * p};
      }
    }
  });
}

void RootTable::multiply(const Array& work, i64 axis, i64 first, int sign) const {
  if (work.dtype() == DType::c64)
    multiply_as<float>(work, axis, first, sign);
  else
    multiply_as<double>(work, axis, first, sign);
}

}  // namespace tessera::streaming
