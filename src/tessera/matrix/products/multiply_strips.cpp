// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/multiply_strips.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/loops.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/products/symmetric_vector.hpp"

namespace tessera {
namespace {

DType work_of(DType t) { return is_half(t) ? DType::f32 : t; }

// Packed data with what is left to do to them.
struct PackedPart {
  Array data;
  Strips strips;
  bool conj;
  Flat part(const Strip& s) const { return {strips.part(data, s), conj}; }
};

// In the dtype of the product first: large numbers are infinite in a short one.
PackedPart packed(const AnyMatrix& m, DType dtype, Device where) {
  const Array data = m.data(where).astype(dtype).astype(work_of(dtype));
  return {data.contiguous(), m.payload().strips(), m.conjugated()};
}

Flat turned(const Flat& a) { return {a.array.transpose(), a.conj}; }
Flat rows(const Flat& a, i64 begin, i64 end) { return {a.array.slice(0, begin, end), a.conj}; }
Flat columns(const Flat& a, i64 begin, i64 end) { return {a.array.slice(1, begin, end), a.conj}; }

void triangle_product(const PackedPart& a, bool lower, const Flat& x, const Array& out,
                      c128 alpha) {
  const i64 n = a.strips.n();
  if (lower) out.fill(Value(0));
  for (const Strip& s : a.strips.list()) {
    if (lower)
      gemm(turned(a.part(s)), rows(x, s.begin, s.end), out.slice(0, s.begin, n), alpha, 1);
    else
      gemm(a.part(s), rows(x, s.begin, n), out.slice(0, s.begin, s.end), alpha, 0);
  }
}

// Rows of blocks that are multiplied at once: large enough for a product to run at full speed,
// small enough to leave out most of the half that is zero.
i64 block_of(i64 n) { return std::max<i64>(256, (n / 16 + 63) / 64 * 64); }

// With many columns the work decides, not the memory: the triangle is spread out, its zero blocks
// are left out.
void spread_product(const PackedPart& a, bool lower, const Flat& x, const Array& out, c128 alpha) {
  const i64 n = a.strips.n(), step = block_of(n);
  const Flat upper{a.strips.unpack(a.data), a.conj}, full = lower ? turned(upper) : upper;
  for (i64 begin = 0; begin < n; begin += step) {
    const i64 end = std::min(n, begin + step), from = lower ? 0 : begin, to = lower ? end : n;
    gemm(columns(rows(full, begin, end), from, to), rows(x, from, to), out.slice(0, begin, end),
         alpha, 0);
  }
}

void symmetric_product(const PackedPart& a, bool anti, const Flat& x, const Array& out,
                       c128 alpha) {
  const i64 n = a.strips.n();
  out.fill(Value(0));
  for (const Strip& s : a.strips.list()) {
    const i64 height = s.end - s.begin;
    const Flat part = a.part(s), mine = rows(x, s.begin, s.end);
    const Array here = out.slice(0, s.begin, s.end);
    const Array block = whole_block(part.array.slice(1, 0, height), anti);
    gemm({block, a.conj}, mine, here, alpha, 1);
    if (s.end == n) continue;
    const Flat rest = columns(part, height, n - s.begin);
    gemm(rest, rows(x, s.end, n), here, alpha, 1);
    gemm(turned(rest), mine, out.slice(0, s.end, n), anti ? -alpha : alpha, 1);
  }
}

// Of a few elements the preparation of a kernel takes longer than the product: it is done here.
bool is_tiny(const Array& a, const Array& out) {
  const bool has_type = out.dtype() >= DType::f32;  // and complex ones
  return out.device() == cpu && has_type &&
         is_for_loops(out.dtype(), out.shape(0), out.shape(1), a.shape(1));
}

void tiny_product(const Flat& a, const Flat& b, const Array& out, c128 alpha) {
  const Strides &x = a.array.layout().strides, &y = b.array.layout().strides,
                &z = out.layout().strides;
  const LoopArgs args{.m = out.shape(0),
                      .n = out.shape(1),
                      .k = a.array.shape(1),
                      .a_rows = x[0],
                      .a_columns = x[1],
                      .b_rows = y[0],
                      .b_columns = y[1],
                      .c_rows = z[0],
                      .c_columns = z[1],
                      .conj_a = a.conj,
                      .conj_b = b.conj,
                      .alpha = alpha};
  loop_product(out.dtype())(args, a.array.host_data(), b.array.host_data(), out.host_data(), 0,
                            args.m);
}

}  // namespace

void gemm(const Flat& a, const Flat& b, const Array& out, c128 alpha, double beta) {
  if (beta == 0 && is_tiny(a.array, out)) return tiny_product(a, b, out, alpha);
  MatmulSpec spec;
  spec.a = operand_of(a.array);
  spec.b = operand_of(b.array);
  spec.out = operand_of(out);
  spec.conj_a = a.conj;
  spec.conj_b = b.conj;
  spec.alpha = alpha;
  spec.beta = c128(beta);
  launch_now(&KernelTable::matmul, "matmul", spec, out.device(), {&a.array, &b.array, &out});
}

Array whole_block(const Array& upper, bool anti) {
  if (anti) return ops::subtract(upper, upper.transpose());
  const Array both = ops::add(upper, upper.transpose());
  diagonal_view(both).copy_from(diagonal_view(upper));
  return both;
}

Array strips_times(const AnyMatrix& a, const Flat& x, c128 alpha, DType dtype, Device where) {
  const DType work = work_of(dtype);
  const PackedPart p = packed(a, dtype, where);
  const Flat in{x.array.astype(work), x.conj};
  const Array out = empty_dense({a.rows(), x.array.shape(1)}, work, where);
  const c128 scale = alpha * factor_of(a.scale());
  const bool anti = a.form() == Form::antisymmetric;
  if (a.form() == Form::triangular && x.array.shape(1) > few_columns)
    spread_product(p, a.lower(), in, out, scale);
  else if (a.form() == Form::triangular)
    triangle_product(p, a.lower(), in, out, scale);
  else if (const c128 factor = anti && a.transposed() ? -scale : scale;
           where == cpu && x.array.shape(1) == 1 && !in.conj)
    symmetric_vector(p.strips, p.data, {anti, p.conj, factor}, in.array.select(1, 0),
                     out.select(1, 0));
  else
    symmetric_product(p, anti, in, out, factor);
  return out.astype(dtype);
}

AnyMatrix triangle_times(const AnyMatrix& a, const AnyMatrix& b, DType dtype, Device where) {
  // (a b)^T = b^T a^T: of lower ones the stored halves are multiplied in the other order.
  const bool lower = a.lower();
  const AnyMatrix &first = lower ? b : a, &second = lower ? a : b;
  const DType work = work_of(dtype);
  const PackedPart x = packed(first, dtype, where), y = packed(second, dtype, where);
  const i64 n = x.strips.n(), step = block_of(n);
  const Flat left{x.strips.unpack(x.data), x.conj}, right{y.strips.unpack(y.data), y.conj};
  const Array out = zeros({n, n}, work, where);
  const c128 alpha = factor_of(a.scale()) * factor_of(b.scale());
  for (i64 i = 0; i < n; i += step)
    for (i64 k = i; k < n; k += step) {
      const i64 i_end = std::min(n, i + step), k_end = std::min(n, k + step);
      gemm(columns(rows(left, i, i_end), k, k_end), columns(rows(right, k, k_end), k, n),
           out.slice(0, i, i_end).slice(1, k, n), alpha, 1);
    }
  const bool strict = a.payload().strict || b.payload().strict;
  return packed_matrix(Form::triangular, n, x.strips.pack(out.astype(dtype), strict), strict,
                       lower);
}

}  // namespace tessera
