// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/compute_k.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stored.hpp"

namespace tessera {
namespace {

constexpr i64 block = 512;      // of rows: bits begin at such columns
constexpr i64 panel = 1 << 22;  // numbers of a product that waits to be subtracted

bool is_strict(const AnyMatrix& c) {
  if (c.form() == Form::triangular_bit) return true;
  if (c.form() == Form::triangular) return c.payload().strict;
  return c.is(Property::has_zero_diagonal) &&
         (c.is(Property::is_upper_triangular) || c.is(Property::is_lower_triangular));
}

bool is_lower(const AnyMatrix& c) {
  return c.form() == Form::dense ? c.is(Property::is_lower_triangular) : c.lower();
}

// The strictly upper C: bits stay bits.
struct Upper {
  Bits bits;
  Array numbers;
  // Rows and columns as float64.
  Array numbers_of(i64 top, i64 bottom, i64 left, i64 right) const {
    if (numbers) return numbers.slice(0, top, bottom).slice(1, left, right);
    const Array rows = words(top, bottom, left, right);
    return bit_unpack({rows, right - left}, DType::f64);
  }
  Array words(i64 top, i64 bottom, i64 left, i64 right) const {
    return bits.words.slice(0, top, bottom)
        .slice(1, left / 64, left / 64 + bit_words(right - left));
  }
};

// rest -= C[0:top, begin:end] k, in panels that fit a cache or so.
void subtract_beyond(const Upper& c, i64 begin, i64 end, const Array& k, const Array& rest) {
  if (begin == 0) return;
  if (c.numbers) {
    subtract_product(c.numbers_of(0, begin, begin, end), k, rest);
    return;
  }
  const Bits a{c.words(0, begin, begin, end), end - begin};
  const i64 width = std::max<i64>(64, panel / begin);
  for (i64 left = 0; left < rest.shape(1); left += width) {
    const Array part = rest.slice(1, left, left + width);
    const Array sums = bit_dense(a, k.slice(1, left, left + width));
    elementwise(ElementOp::subtract, std::array<ArrayOrValue, 2>{part, sums}, part);
  }
}

// (aI + C) K = C, rows from the last block to the first; K is strictly upper as C is.
Array solved(const Upper& c, i64 n, double a, Device where) {
  const Array k = c.numbers ? c.numbers.copy() : bit_unpack(c.bits, DType::f64);
  const i64 last = (n - 1) / block * block;
  for (i64 begin = last; begin >= 0; begin -= block) {
    const i64 end = std::min(n, begin + block);
    const Array rows = k.slice(0, begin, end).slice(1, begin, n);
    const Array corner =
        ops::add(c.numbers_of(begin, end, begin, end),
                 ops::multiply(eye(end - begin, end - begin, 0, DType::f64, where), a));
    rows.copy_from(linalg::solve_triangular(corner, rows));
    subtract_beyond(c, begin, end, rows, k.slice(0, 0, begin).slice(1, begin, n));
  }
  return k;
}

}  // namespace

AnyMatrix compute_k(const AnyMatrix& c, double a) {
  require<ArgumentError>(is_strict(c) && c.rows() == c.cols(), "compute_k: ", described(c),
                         " is not known to be strictly triangular");
  require<ArgumentError>(!is_complex(c.dtype()), "compute_k: ", described(c),
                         " is complex, expected real numbers or bits");
  require<ArgumentError>(std::isfinite(a), "compute_k: a is ", a, "; expected a finite number");
  require<LinAlgError>(a != 0, "compute_k: a is 0, so aI + C is singular");
  const i64 n = c.rows();
  const double scale = c.scale().as<double>();
  if (n == 0 || scale == 0) return AnyMatrix::zeros(Form::triangular, n, n, DType::f64, c.device());
  // The transpose of K is that of the transposed C; s C with a is C with a / s.
  const bool lower = is_lower(c), bits = has_words(c);
  const AnyMatrix up = lower ? c.transpose() : c;
  Array packed;
  placed({Operation::solve, DType::f64, n, n, n}, {&c}, n * n * 4, [&](Device where) {
    tag(where, "compute_k", bits ? TagDetail::bit_left : TagDetail::plain, DType::f64);
    Upper upper;
    if (bits)
      upper.bits = up.words(where);
    else
      upper.numbers = linalg::triangle(up.array(DType::f64, where), false, 1);
    packed = Strips(n, false).pack(solved(upper, n, bits ? a / scale : a, where), true);
  });
  const AnyMatrix k(make_payload(Form::triangular, n, n, DType::f64, packed, true));
  return lower ? k.transpose() : k;
}

}  // namespace tessera
