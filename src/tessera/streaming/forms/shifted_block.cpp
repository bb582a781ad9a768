// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/shifted_block.hpp"

#include <algorithm>
#include <array>

#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/streaming/linalg/blocks.hpp"
#include "tessera/streaming/linalg/strip_cut.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 corner_side = 512;     // of what is solved at once: bits begin at such columns
constexpr i64 panel = i64{1} << 18;  // numbers of a product that wait to be subtracted
constexpr i64 narrowest_panel = 64;  // so that its tables pay

i64 strip_rows(i64 columns) { return std::max<i64>(1, panel / std::max<i64>(1, columns)); }
i64 panel_columns(i64 rows) { return std::max(narrowest_panel, panel / std::max<i64>(1, rows)); }

Array as_float64(const ShiftedBlock& c) {
  return c.words ? bit_unpack({c.stored, c.columns}, DType::f64) : c.stored.astype(DType::f64);
}

}  // namespace

ShiftedBlock ShiftedBlock::part(i64 top, i64 bottom, i64 left, i64 right) const {
  const Array rows = stored.slice(0, top, bottom);
  if (!words) return {rows.slice(1, left, right), right - left, false};
  return {rows.slice(1, left / 64, left / 64 + bit_words(right - left)), right - left, true};
}

void ShiftedBlock::copy_to(const Array& numbers, bool diagonal) const {
  for (const Range& r : cut_at_multiples(0, numbers.shape(0), strip_rows(columns))) {
    const Array strip = as_float64(part(r.begin, r.end, 0, columns));
    numbers.slice(0, r.begin, r.end)
        .copy_from(diagonal ? linalg::triangle(strip, false, 1 + r.begin) : strip);
  }
  numbers.host_data();
}

void ShiftedBlock::subtract_product(const Array& k, const Array& rest) const {
  if (!words) {
    const Array c = as_float64(*this);
    const void* data = c.host_data();
    gemm(DType::f64, rest.shape(0), rest.shape(1), columns, {-1, 0},
         {data, std::max<i64>(1, c.layout().strides[0])},
         {k.host_data(), std::max<i64>(1, k.layout().strides[0])}, {1, 0}, rest.host_data(),
         std::max<i64>(1, rest.layout().strides[0]));
    return;
  }
  for (const Range& r : cut_at_multiples(0, rest.shape(1), panel_columns(rest.shape(0)))) {
    poll_stream();
    const Array here = rest.slice(1, r.begin, r.end);
    const Array sums = bit_dense({stored, columns}, k.slice(1, r.begin, r.end));
    elementwise(ElementOp::subtract, std::array<ArrayOrValue, 2>{here, sums}, here);
  }
  rest.host_data();
}

void ShiftedBlock::solve(double a, const Array& rows, bool upper) const {
  const i64 n = rows.shape(0), width = rows.shape(1);
  for (i64 begin = (n - 1) / corner_side * corner_side; begin >= 0; begin -= corner_side) {
    const i64 end = std::min(n, begin + corner_side);
    const Array corner = as_float64(part(begin, end, begin, end)).copy();
    auto* diagonal = static_cast<double*>(corner.host_data());
    for (i64 i = 0; i < end - begin; ++i) diagonal[i * (end - begin + 1)] = a;
    const Array here = rows.slice(0, begin, end).slice(1, upper ? begin : 0, width);
    const Triangle triangle{diagonal, end - begin, /*lower=*/false};
    solve_left(DType::f64, here.shape(0), here.shape(1), triangle, here.host_data(),
               std::max<i64>(1, here.layout().strides[0]));
    if (begin > 0)
      part(0, begin, begin, end)
          .subtract_product(here, rows.slice(0, 0, begin).slice(1, upper ? begin : 0, width));
  }
}

i64 shifted_temporary_bytes(DType dtype, bool words, i64 side) {
  constexpr i64 number = sizeof(double), slack = i64{64} << 10;
  const i64 corner = std::min(side, corner_side), corners = 2 * corner * corner * number;
  const i64 strip = 3 * std::min(side * side, strip_rows(side) * side) * number;
  i64 product = dtype == DType::f64 ? 0 : side * side * number;
  if (words)
    product = side * std::min(side, panel_columns(side)) * number +
              side * bit_words(side) * 8;  // the kernel's own order of the bits
  return slack + std::max({corners, strip, product});
}

}  // namespace tessera::streaming
