// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/multiply.hpp"

#include <algorithm>

#include "tessera/base/tags.hpp"
#include "tessera/compute/context.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stacks.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"
#include "tessera/matrix/products/multiply_strips.hpp"
#include "tessera/matrix/products/small_product.hpp"

namespace tessera {
namespace {

// Which elements of an operand are read; the others are zero, or said to be.
enum class Nonzeros : std::uint8_t { all, diagonal, upper, lower };

Nonzeros part_of(const AnyMatrix& m) {
  if (m.form() == Form::diagonal || m.form() == Form::identity) return Nonzeros::diagonal;
  if (m.form() == Form::triangular) return m.lower() ? Nonzeros::lower : Nonzeros::upper;
  const Properties& p = m.properties();
  if (p.is(Property::is_diagonal)) return Nonzeros::diagonal;
  if (has_words(m)) return Nonzeros::all;
  if (p.is(Property::is_upper_triangular)) return Nonzeros::upper;
  return p.is(Property::is_lower_triangular) ? Nonzeros::lower : Nonzeros::all;
}

bool is_triangle(Nonzeros p) { return p == Nonzeros::upper || p == Nonzeros::lower; }

// The part, of triangular bits too, which are read whole.
Nonzeros side_of(const AnyMatrix& m) {
  if (m.form() == Form::triangular_bit) return m.transposed() ? Nonzeros::lower : Nonzeros::upper;
  return part_of(m);
}

// In strips, what lies outside of its part left behind.
AnyMatrix as_triangle(const AnyMatrix& m, Nonzeros part, Device where) {
  if (m.form() == Form::triangular) return m;
  return AnyMatrix::triangular(m.array({}, where), part == Nonzeros::lower, false, /*check=*/false);
}

bool is_bits(const AnyMatrix& m, const MatrixCall& c) {
  return m.dtype() == DType::b1 || (has_words(m) && is_inexact(c.dtype));
}

Array multiplied(const Array& a, const Array& b, const MatrixCall& c) {
  return is_inexact(c.dtype) ? ops::multiply(a, b)
                             : checked_elementwise(MatrixOp::multiply, a, b, c.dtype);
}

// --- identities and diagonals

AnyMatrix scaled_by(const AnyMatrix& m, const Value& v) {
  return is_number(v, 1) ? m : m.scaled(v);
}

bool is_square_identity(const AnyMatrix& m) {
  return m.form() == Form::identity && m.rows() == m.cols();
}

std::optional<AnyMatrix> identity_product(const AnyMatrix& a, const AnyMatrix& b,
                                          const MatrixCall& c) {
  if (a.form() == Form::identity && b.form() == Form::identity &&
      a.cols() >= std::min(a.rows(), b.cols()))
    return scaled_by(AnyMatrix::identity(a.rows(), b.cols(), c.dtype, c.where),
                     times(a.scale(), b.scale()));
  if (is_square_identity(a)) return scaled_by(b.astype(c.dtype), a.scale());
  if (is_square_identity(b)) return scaled_by(a.astype(c.dtype), b.scale());
  return {};
}

AnyMatrix diagonal_product(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  tag(c, TagDetail::diagonal);
  const Array x = diagonal_of(a, c.dtype, c.where), y = diagonal_of(b, c.dtype, c.where);
  const i64 both = std::min(x.size(), y.size()), length = std::min(a.rows(), b.cols());
  const Array product = multiplied(x.slice(0, 0, both), y.slice(0, 0, both), c);
  if (both >= length) return AnyMatrix::diagonal(product.slice(0, 0, length), a.rows(), b.cols());
  const Array values = zeros({length}, c.dtype, c.where);
  values.slice(0, 0, both).copy_from(product);
  return AnyMatrix::diagonal(values, a.rows(), b.cols());
}

// Where a matrix has elements, to be multiplied with; nothing where it has them all.
Array places_of(const AnyMatrix& m, Device where) {
  const Shape shape{m.rows(), m.cols()};
  if (has_words(m)) return bit_unpack(bits_of(m, where));
  if (m.form() != Form::triangular) return {};
  const i64 beside = m.payload().strict ? 1 : 0;
  return linalg::triangle(ones(shape, DType::b1, where), m.lower(), m.lower() ? -beside : beside);
}

bool all_finite(const Array& x) {
  if (!is_inexact(x.dtype()) || x.size() == 0) return true;
  if (is_half(x.dtype())) return reduce(ReduceOp::all, ops::isfinite(x)).item().as<bool>();
  // Squares of large numbers are not finite either: those take the longer way for nothing.
  return is_finite(reduce(ReduceOp::sum_abs2, x).item());
}
bool all_finite(const AnyMatrix& m, const MatrixCall& c) {
  return has_words(m) || m.form() == Form::identity || all_finite(m.data(c.where).astype(c.dtype));
}

// Stored strips with row i times d[i], or column i.
Array scaled_strips(const AnyMatrix& m, const Array& d, bool by_rows, const MatrixCall& c) {
  const Array data = stored(m, c.dtype, c.where), out = empty_dense(data.shape(), c.dtype, c.where);
  const Strips strips = m.payload().strips();
  const i64 n = strips.n();
  for (const Strip& s : strips.list()) {
    const Array f =
        by_rows ? d.slice(0, s.begin, s.end).expand_dims(1) : d.slice(0, s.begin, n).expand_dims(0);
    strips.part(out, s).copy_from(multiplied(strips.part(data, s), f, c));
  }
  if (is_inexact(c.dtype)) strips.clear_corners(out, m.payload().strict);  // d may be infinite
  return out;
}

// diag(d) @ m, or m @ diag(d) where `right`; d may be longer or shorter than m is.
AnyMatrix scaled_matrix(const AnyMatrix& m, Nonzeros part, const Array& d, i64 rows, i64 cols,
                        bool right, const MatrixCall& c) {
  const bool finite = all_finite(d);
  if (m.form() == Form::triangular_bit && finite)
    return scaled_matrix(AnyMatrix::triangular(m.array(c.dtype, c.where), m.transposed(),
                                               /*strict=*/true, /*check=*/false),
                         m.transposed() ? Nonzeros::lower : Nonzeros::upper, d, rows, cols, right,
                         c);
  if (is_triangle(part) && rows == cols && d.size() == rows) {
    const AnyMatrix t = as_triangle(m, part, c.where);
    return packed_matrix(Form::triangular, rows, scaled_strips(t, d, right == t.lower(), c),
                         t.payload().strict, t.lower());
  }
  const Array x = is_triangle(part) ? as_triangle(m, part, c.where).array(c.dtype, c.where)
                                    : m.array(c.dtype, c.where);
  const i64 axis = right ? 1 : 0, both = std::min(d.size(), x.shape(axis));
  Array product = multiplied(x.slice(axis, 0, both), d.slice(0, 0, both).expand_dims(1 - axis), c);
  if (const Array has = finite ? Array{} : places_of(m, c.where))
    product = ops::where(has.slice(axis, 0, both), product, 0.0);
  if (m.form() == Form::triangular_bit && product.shape(0) == product.shape(1))
    return AnyMatrix::triangular(product, m.transposed(), /*strict=*/true, /*check=*/false);
  if (both == (right ? cols : rows)) return AnyMatrix::dense(product);
  const Array out = zeros({rows, cols}, c.dtype, c.where);
  out.slice(axis, 0, both).copy_from(product);
  return AnyMatrix::dense(out);
}

// --- numbers that are not finite

// Sums over what both matrices store: zeros that a form does not store meet infinities, which a
// product of full matrices would make NaN of. Rows and columns that hold such numbers are
// multiplied one by one, the others at once.
Array product_of_stored(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  const DType work = is_half(c.dtype) ? DType::f32 : c.dtype;
  const Array x = a.array(c.dtype, c.where).astype(work),
              y = b.array(c.dtype, c.where).astype(work), in_x = places_of(a, c.where),
              in_y = places_of(b, c.where);
  const auto lost = [](const Array& numbers, i64 axis) {
    return reduce(ReduceOp::any, ops::logical_not(ops::isfinite(numbers)), Axes{axis});
  };
  const Array apart = ops::logical_or(lost(x, 0), lost(y, 1));
  Array out =
      matmul(ops::where(apart.expand_dims(0), 0.0, x), ops::where(apart.expand_dims(1), 0.0, y));
  const Array here = apart.to(cpu).contiguous();
  for (i64 k = 0; k < here.size(); ++k) {
    if (!here.host<bool>()[k]) continue;
    Array term = ops::multiply(x.select(1, k).expand_dims(1), y.select(0, k).expand_dims(0));
    if (in_x) term = ops::where(in_x.select(1, k).expand_dims(1), term, 0.0);
    if (in_y) term = ops::where(in_y.select(0, k).expand_dims(0), term, 0.0);
    out = ops::add(out, term);
  }
  return out.astype(c.dtype);
}

bool has_gaps(const AnyMatrix& m) { return m.form() == Form::triangular; }

// Whether a zero that is not stored meets a number that is not finite.
bool meets_infinity(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  if (!is_inexact(c.dtype)) return false;
  return (has_gaps(a) && !all_finite(b, c)) || (has_gaps(b) && !all_finite(a, c));
}

// --- bits

AnyMatrix counts(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  tag_kernel(name(c.where.kind), name(c.op), "bitbit_popcount");
  if (a.form() == Form::triangular_bit && b.form() == Form::triangular_bit &&
      a.transposed() == b.transposed()) {
    const bool lower = a.transposed();  // (a b)^T = b^T a^T
    const AnyMatrix x = lower ? b.transpose() : a, y = lower ? a.transpose() : b;
    const Array full = bit_counts(x.words(c.where), y.words(c.where), {.upper = true});
    const AnyMatrix product = AnyMatrix::triangular(full, false, /*strict=*/true, /*check=*/false);
    return lower ? product.transpose() : product;
  }
  const bool turned = has_words(b) && b.transposed();  // the kernel wants the transpose
  const Bits right = bits_of(turned ? b.transpose() : b, c.where);
  return AnyMatrix::dense(bit_counts(bits_of(a, c.where), right, {.transposed = turned}));
}

// Strips of bits times the rows of x that they see; where x is a triangle of the same side only the
// columns in which those have something: a third of the work of a full product.
Array bit_strips_times(const AnyMatrix& a, const Array& x, bool both, Device where) {
  const Strips strips = a.payload().strips();
  const bool lower = a.transposed();
  const i64 n = strips.n(), columns = x.shape(1);
  const Array out =
      both ? zeros({n, columns}, x.dtype(), where) : Array::empty({n, columns}, x.dtype(), where);
  const Bits turned = lower ? a.words(where) : Bits{};
  for (const Strip& s : strips.list()) {
    const i64 from = lower ? 0 : s.begin, to = lower ? s.end : n;
    const Bits bits =
        lower ? Bits{turned.words.slice(0, s.begin, s.end).slice(1, 0, bit_words(s.end)), s.end}
              : Bits{strips.part(a.data(where), s), n - s.begin};
    const i64 left = both ? from : 0, right = both ? to : columns;
    out.slice(0, s.begin, s.end)
        .slice(1, left, right)
        .copy_from(bit_dense(bits, x.slice(0, from, to).slice(1, left, right)));
  }
  return out;
}

// Bits times numbers.
Array bits_times(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  const DType work = is_half(c.dtype) ? DType::f32 : c.dtype;
  const Array x = b.array(work, c.where);
  const bool both = is_triangle(side_of(b)) && side_of(a) == side_of(b);
  const Array y = a.form() == Form::triangular_bit && !is_number(a.scale(), 0)
                      ? bit_strips_times(a, x, both, c.where)
                      : bit_dense(bits_of(a, c.where), x);
  if (a.dtype() == DType::b1) return y.astype(c.dtype);
  return ops::multiply(y, full({}, a.scale(), work, c.where)).astype(c.dtype);
}

// --- numbers

// A full matrix with its transpose and conjugate as strides and a flag, its scale in alpha.
Flat flat(const AnyMatrix& m, const MatrixCall& c, c128* alpha) {
  if (m.form() != Form::dense) return {m.array(c.dtype, c.where), false};
  *alpha = *alpha * factor_of(m.scale());
  const Array d = m.data(c.where).astype(c.dtype);
  return {m.transposed() ? d.transpose() : d, m.conjugated()};
}

// The same of integers, whose scales are applied: a factor could overflow unseen.
Array whole_numbers(const AnyMatrix& m, const MatrixCall& c) {
  if (m.form() != Form::dense || !is_number(m.scale(), 1)) return m.array(c.dtype, c.where);
  const Array d = m.data(c.where);
  return m.transposed() ? d.transpose() : d;
}

Array full_product(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  tag(c, TagDetail::plain);
  if (!is_inexact(c.dtype))
    return checked_matmul(whole_numbers(a, c), whole_numbers(b, c), c.dtype);
  c128 alpha(1);
  const Flat x = flat(a, c, &alpha), y = flat(b, c, &alpha);
  const Array out = Array::empty({a.rows(), b.cols()}, c.dtype, c.where);
  gemm(x, y, out, alpha, 0);
  return out;
}

AnyMatrix triangles(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  if (is_inexact(c.dtype)) {
    tag(c, TagDetail::triangular);
    return triangle_times(a, b, c.dtype, c.where);
  }
  const Array full = full_product(a, b, c);
  tag(c, TagDetail::triangular);
  return AnyMatrix::triangular(full, a.lower(), a.payload().strict || b.payload().strict,
                               /*check=*/false);
}

bool goes_by_strips(const AnyMatrix& m, i64 columns, const MatrixCall& c) {
  if (!is_inexact(c.dtype)) return false;
  return m.form() == Form::triangular || (is_strips(m.form()) && columns <= few_columns);
}

TagDetail route_of(Form f) {
  return f == Form::triangular  ? TagDetail::triangular
         : f == Form::symmetric ? TagDetail::symmetric
                                : TagDetail::antisymmetric;
}

// Strips times a full matrix.
Array strips_product(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  tag(c, route_of(a.form()));
  c128 alpha(1);
  const Flat x = flat(b, c, &alpha);
  return strips_times(a, x, alpha, c.dtype, c.where);
}

// A full product in the form that it has.
AnyMatrix in_form(const Array& full, const AnyMatrix& a, const AnyMatrix& b) {
  const Nonzeros side = side_of(a);
  if (!is_triangle(side) || side != side_of(b)) return AnyMatrix::dense(full);
  return AnyMatrix::triangular(full, side == Nonzeros::lower,
                               a.payload().strict || b.payload().strict,
                               /*check=*/false);
}

AnyMatrix number_product(const AnyMatrix& a, Nonzeros pa, const AnyMatrix& b, Nonzeros pb,
                         const MatrixCall& c) {
  if (is_triangle(pa) && a.form() != Form::triangular)
    return number_product(as_triangle(a, pa, c.where), pa, b, pb, c);
  if (is_triangle(pb) && b.form() != Form::triangular)
    return number_product(a, pa, as_triangle(b, pb, c.where), pb, c);
  if (meets_infinity(a, b, c)) return in_form(product_of_stored(a, b, c), a, b);
  if (is_triangle(pa) && pa == pb) return triangles(a, b, c);
  if (goes_by_strips(a, b.cols(), c)) return AnyMatrix::dense(strips_product(a, b, c));
  if (goes_by_strips(b, a.rows(), c))  // (a b)^T = b^T a^T
    return AnyMatrix::dense(strips_product(b.transpose(), a.transpose(), c).transpose());
  return AnyMatrix::dense(full_product(a, b, c));
}

// Whether the scale has to be applied before anything else is done: 0 times what would be infinite
// in a short dtype, or a small number times that, is not infinite.
bool scale_comes_first(const AnyMatrix& m, const MatrixCall& c) {
  if (is_number(m.scale(), 1) || m.form() == Form::identity) return false;
  return is_number(m.scale(), 0) || (is_half(c.dtype) && !is_half(m.payload().dtype));
}

AnyMatrix product(const AnyMatrix& a, const AnyMatrix& b, const MatrixCall& c) {
  if (is_inexact(c.dtype) && scale_comes_first(a, c)) return product(a.copy(), b, c);
  if (is_inexact(c.dtype) && scale_comes_first(b, c)) return product(a, b.copy(), c);
  if (auto same = identity_product(a, b, c)) {
    tag(c, TagDetail::identity);
    return *std::move(same);
  }
  const Nonzeros pa = part_of(a), pb = part_of(b);
  if (pa == Nonzeros::diagonal && pb == Nonzeros::diagonal) return diagonal_product(a, b, c);
  if (pa == Nonzeros::diagonal) {
    tag(c, TagDetail::diagonal_left);
    return scaled_matrix(b, pb, diagonal_of(a, c.dtype, c.where), a.rows(), b.cols(), false, c);
  }
  if (pb == Nonzeros::diagonal) {
    tag(c, TagDetail::diagonal_right);
    return scaled_matrix(a, pa, diagonal_of(b, c.dtype, c.where), a.rows(), b.cols(), true, c);
  }
  const bool has_kernel = c.dtype != DType::u64;
  if (a.dtype() == DType::b1 && b.dtype() == DType::b1) return counts(a, b, c);
  if (is_bits(a, c) && has_kernel) {
    tag(c, TagDetail::bit_left);
    return in_form(bits_times(a, b, c), a, b);
  }
  if (is_bits(b, c) && has_kernel) {
    tag(c, TagDetail::bit_right);
    return in_form(bits_times(b.transpose(), a.transpose(), c).transpose(), a, b);
  }
  return number_product(a, pa, b, pb, c);
}

DType resolved(MatrixOp op, DType a, DType b) {
  const Resolved r = resolve(op, a, b);
  say_precision(op, a, b, r);
  return r.dtype;
}

[[noreturn]] void refuse_inner(const std::string& a, i64 columns, const std::string& b, i64 rows) {
  throw ShapeError(cat("matmul: ", a, " times ", b, ": the first has ", columns,
                       " columns, the second ", rows, " rows"));
}

std::string described(const Array& x) { return cat("an array of shape ", x.shape()); }

void check_operand(const Array& x) {
  require<ShapeError>(x.ndim() >= 1, "matmul: an array of shape ", x.shape(),
                      " with a matrix; expected a vector, a matrix or a stack of them");
}

// As an array of its own on `where`.
Array own_array(const AnyMatrix& m, const Array& x) {
  const Array y = m.array({}, x.device());
  return may_share_memory(x, y) ? y.copy() : y;
}

AnyMatrix bits_in_form(const Bits& bits, bool triangular, bool lower) {
  if (!triangular) return AnyMatrix::bits(bits);
  const AnyMatrix m = AnyMatrix::triangular_bits(bits, /*check=*/false);
  return lower ? m.transpose() : m;
}

}  // namespace

AnyMatrix matmul(const AnyMatrix& a, const AnyMatrix& b) {
  if (a.cols() != b.rows())
    refuse_inner(tessera::described(a), a.cols(), tessera::described(b), b.rows());
  const bool small = is_small_product(a, b);
  if (small && !context().has_choice()) return small_product(a, b);
  const DType x = a.dtype(), y = b.dtype(), dtype = resolved(MatrixOp::matmul, x, y);
  const bool bits = x == DType::b1 && y == DType::b1;
  const Workload problem{bits ? Operation::bit_matmul : Operation::matmul,
                         is_inexact(dtype) || bits ? dtype : DType::f64, a.rows(), b.cols(),
                         a.cols()};
  std::optional<AnyMatrix> out;
  placed(problem, {&a, &b}, a.rows() * b.cols() * size_of(dtype), [&](Device where) {
    if (small && where == cpu)
      out = small_product(a, b);
    else
      out = product(a, b, {MatrixOp::matmul, dtype, where});
  });
  return *std::move(out);
}

Array matmul(const AnyMatrix& a, const Array& x) {
  check_operand(x);
  const i64 rows = x.shape(std::max<i64>(x.ndim() - 2, 0));
  if (a.cols() != rows) refuse_inner(tessera::described(a), a.cols(), described(x), rows);
  const TagScope scope;
  prefetch({&a});
  if (x.ndim() > 2) return stacked(matmul(a, side_by_side(x)), x.shape());
  const bool vector = x.ndim() == 1;
  const MatrixOp op = vector ? MatrixOp::matvec : MatrixOp::matmul;
  const MatrixCall c{op, resolved(op, a.dtype(), x.dtype()), x.device()};
  const Array y = own_array(product(a, AnyMatrix::dense(vector ? x.expand_dims(1) : x), c), x);
  return vector ? y.squeeze(1) : y;
}

Array matmul(const Array& x, const AnyMatrix& b) {
  check_operand(x);
  const bool vector = x.ndim() == 1;
  const i64 columns = x.shape(x.ndim() - 1);
  if (columns != b.rows()) refuse_inner(described(x), columns, tessera::described(b), b.rows());
  const TagScope scope;
  prefetch({&b});
  if (x.ndim() > 2) {
    Shape shape(x.shape().begin(), x.shape().end());
    i64 rows = 1;
    for (i64 i = 0; i + 1 < x.ndim(); ++i) rows *= x.shape(i);
    shape.back() = b.cols();
    return matmul(x.reshape({rows, columns}), b).reshape(shape);
  }
  const MatrixOp op = vector ? MatrixOp::vecmat : MatrixOp::matmul;
  const MatrixCall c{op, resolved(op, x.dtype(), b.dtype()), x.device()};
  const Array y = own_array(product(AnyMatrix::dense(vector ? x.expand_dims(0) : x), b, c), x);
  return vector ? y.squeeze(0) : y;
}

AnyMatrix outer(const Array& x, const Array& y) {
  require<ShapeError>(x.ndim() == 1 && y.ndim() == 1, "outer: arrays of shapes ", x.shape(),
                      " and ", y.shape(), "; expected two vectors");
  const Array* both[] = {&x, &y};
  const MatrixCall c{MatrixOp::outer, resolved(MatrixOp::outer, x.dtype(), y.dtype()),
                     common_device("outer", both)};
  const TagScope scope;
  tag(c, TagDetail::plain);
  const Array rows = x.expand_dims(1), cols = y.expand_dims(0);
  if (c.dtype == DType::b1) return AnyMatrix::bit(ops::logical_and(rows, cols));
  if (!is_inexact(c.dtype)) return AnyMatrix::dense(multiplied(rows, cols, c));
  return AnyMatrix::dense(ops::multiply(rows.astype(c.dtype), cols.astype(c.dtype)));
}

AnyMatrix boolean_product(const AnyMatrix& a, const AnyMatrix& b) {
  require<ShapeError>(a.cols() == b.rows(), "boolean_product: ", tessera::described(a), " times ",
                      tessera::described(b), ": the first has ", a.cols(), " columns, the second ",
                      b.rows(), " rows");
  const bool triangular = a.form() == Form::triangular_bit && b.form() == Form::triangular_bit &&
                          a.transposed() == b.transposed();
  const bool lower = triangular && a.transposed();
  std::optional<AnyMatrix> out;
  const Workload problem{Operation::bit_matmul, DType::i32, a.rows(), b.cols(), a.cols()};
  placed(problem, {&a, &b}, a.rows() * bit_words(b.cols()) * 8, [&](Device where) {
    tag(where, "boolean_product", TagDetail::plain, DType::b1);
    const Bits x = bits_of(lower ? b.transpose() : a, where),
               y = bits_of(lower ? a.transpose() : b, where);
    out = bits_in_form(bit_any(x, y), triangular, lower);
  });
  return *std::move(out);
}

AnyMatrix transitive_closure(const AnyMatrix& a) {
  require<ShapeError>(a.rows() == a.cols(), "transitive_closure: ", tessera::described(a),
                      "; expected a square matrix");
  const bool triangular = a.form() == Form::triangular_bit, lower = triangular && a.transposed();
  std::optional<AnyMatrix> out;
  const Workload problem{Operation::bit_matmul, DType::i32, a.rows(), a.cols(), a.cols()};
  placed(problem, {&a}, a.rows() * bit_words(a.cols()) * 8, [&](Device where) {
    tag(where, "transitive_closure", TagDetail::plain, DType::b1);
    out = bits_in_form(bit_closure(bits_of(lower ? a.transpose() : a, where)), triangular, lower);
  });
  return *std::move(out);
}

}  // namespace tessera
