// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/convolve/convolve.hpp"

namespace tessera {

void require_convolve(const ConvolveSpec& spec) {
  const DType t = spec.out.dtype, real = size_of(t) == 2 ? DType::f32 : real_of(t);
  require<DTypeError>(is_inexact(t) && spec.in.dtype == t, "convolve: from ", name(spec.in.dtype),
                      " into ", name(t), "; expected one floating dtype");
  require<DTypeError>(spec.kernel.dtype == real || (is_complex(t) && spec.kernel.dtype == t),
                      "convolve: a kernel of ", name(spec.kernel.dtype), " for arrays of ",
                      name(t));
  const i64 rank = spec.left.size();
  for (i64 a = spec.in.layout.ndim() - rank; a < spec.in.layout.ndim(); ++a)
    require<ShapeError>(spec.in.layout.shape[a] > 0 || spec.out.layout.size() == 0,
                        "convolve: an input of shape ", spec.in.layout.shape, " is empty");
}

double convolve_products(const ConvolveSpec& spec) {
  double n = static_cast<double>(spec.out.layout.size());
  const i64 rank = spec.left.size();
  for (i64 a = 0; a < rank; ++a)
    n *= static_cast<double>(spec.kernel.layout.shape[spec.kernel.layout.ndim() - rank + a]);
  return n * (is_complex(spec.out.dtype) ? 2 : 1) * (is_complex(spec.kernel.dtype) ? 2 : 1);
}

}  // namespace tessera
