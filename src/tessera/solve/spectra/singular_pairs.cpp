// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/singular_pairs.hpp"

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {

BothSides sides_of(std::string_view who, const NamedLinop& A, const Space& space, const Array& x0) {
  BothSides s;
  s.in = x0 ? x0.shape() : space.shape;
  s.device = x0 ? x0.device() : space.device;
  s.out = A.output_shape(s.in);
  const Shape back = A.H().output_shape(s.out);
  require<ShapeError>(back == s.in, who, ": the adjoint of ", A, " gives shape ", back,
                      ", expected ", s.in);
  DType t = x0 ? x0.dtype() : space.dtype;
  if (!is_inexact(t)) t = DType::f64;
  // A complex operator has complex vectors on both sides.
  s.in_dtype = A.H().output_dtype(A.output_dtype(t));
  s.out_dtype = A.output_dtype(s.in_dtype);
  require<DTypeError>(A.H().output_dtype(s.out_dtype) == s.in_dtype, who, ": ", A, " maps ",
                      s.in_dtype, " to ", s.out_dtype, ", its adjoint back to ",
                      A.H().output_dtype(s.out_dtype));
  const ShardedOperator shards(A, s.in, s.out, s.device);
  s.in_size = shards.in.size();
  s.out_size = shards.out.size();
  return s;
}

SvdResult svd_result(SolveResult solved, const Array& u_rows, const std::vector<double>& values,
                     const Array& v_rows) {
  SvdResult r;
  static_cast<SolveResult&>(r) = std::move(solved);
  Shape axes;
  for (i64 a = 1; a < u_rows.ndim(); ++a) axes.push_back(a);
  axes.push_back(0);
  r.U = u_rows.permute({axes.begin(), axes.end()}).copy();
  r.Vh = is_complex(v_rows.dtype()) ? ops::conj(v_rows) : v_rows;
  const Array s = vec::zeros({static_cast<i64>(values.size())}, DType::f64, cpu);
  std::copy(values.begin(), values.end(), s.host<double>());
  r.S = s.astype(real_of(v_rows.dtype())).to(v_rows.device());
  r.x = r.S;
  return r;
}

}  // namespace tessera
