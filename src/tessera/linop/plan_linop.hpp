// SPDX-License-Identifier: Apache-2.0
#pragma once
// From an operator to a plan: one input, one output, recorded where the operator lives, with
// transfers when that is not where the arrays are. Called by NamedLinop only.
//   Plan p = plan_linop(A, x.layout(), x.dtype(), y.layout(), y.dtype(), x.device());

#include "tessera/linop/linop.hpp"

namespace tessera {

Plan plan_linop(const NamedLinop& a, const Layout& in, DType dtype, const Layout& out,
                DType out_dtype, Device device);
// The same with the computation on another device: input and output cross over and back.
Plan plan_linop_on(const NamedLinop& a, const Layout& in, DType dtype, const Layout& out,
                   DType out_dtype, Device device, Device compute);

}  // namespace tessera
