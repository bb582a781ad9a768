// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/small_product.hpp"

#include <tuple>

#include "tessera/kernels/matmul/loops.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

bool is_plain(const AnyMatrix& m) {
  const Payload& p = m.payload();
  return p.form == Form::dense && p.dtype >= DType::f32 && p.data.device() == cpu &&
         m.properties().none() && is_integer_one(m.scale());
}

std::pair<i64, i64> steps(const AnyMatrix& m) {
  const Strides& s = m.payload().data.layout().strides;
  return m.transposed() ? std::pair(s[1], s[0]) : std::pair(s[0], s[1]);
}

}  // namespace

bool is_small_product(const AnyMatrix& a, const AnyMatrix& b) {
  const DType dtype = a.payload().dtype;
  return b.payload().dtype == dtype && is_for_loops(dtype, a.rows(), b.cols(), a.cols()) &&
         is_plain(a) && is_plain(b);
}

AnyMatrix small_product(const AnyMatrix& a, const AnyMatrix& b) {
  const Array &x = a.payload().data, &y = b.payload().data;
  const DType dtype = x.dtype();
  tag(cpu, name(MatrixOp::matmul), TagDetail::plain, dtype);
  Array out = Array::empty({a.rows(), b.cols()}, dtype);
  x.storage().wait();
  y.storage().wait();
  LoopArgs args{a.rows(), b.cols(), a.cols()};
  std::tie(args.a_rows, args.a_columns) = steps(a);
  std::tie(args.b_rows, args.b_columns) = steps(b);
  args.c_rows = out.layout().strides[0];
  args.c_columns = out.layout().strides[1];
  args.conj_a = a.conjugated();
  args.conj_b = b.conjugated();
  loop_product(dtype)(args, x.data(), y.data(), out.data(), 0, args.m);
  return AnyMatrix::dense(std::move(out));
}

}  // namespace tessera
