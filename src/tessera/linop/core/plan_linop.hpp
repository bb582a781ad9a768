// SPDX-License-Identifier: Apache-2.0
#pragma once
// From an operator to a plan: one input, one output, recorded where the operator lives, with
// transfers when that is not where the arrays are. Called by NamedLinop only.
//   Plan p = plan_linop(A, {x.layout(), x.dtype(), x.device()}, {y.layout(), y.dtype(),
//   y.device()});

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// An array that a plan will be given.
struct Planned {
  Layout layout;
  DType dtype;
  Device device;
};

Plan plan_linop(const NamedLinop& a, const Planned& in, const Planned& out);
// The same with the computation on another device: input and output cross over and back.
Plan plan_linop_on(const NamedLinop& a, const Planned& in, const Planned& out, Device compute);

}  // namespace tessera
