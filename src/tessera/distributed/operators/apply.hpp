// SPDX-License-Identifier: Apache-2.0
#pragma once
// A(x) for an operator and a distributed array. What happens is read from the names, and never from
// the number of ranks; `d` is the dim of x's split axis:
//   d on both sides         each rank applies its part of A: no message, the result is split along
//   d d only in the input     each rank has a term of the sum: one allreduce, the result is
//   replicated d cannot be cut (FFT)   x moves once, so that another dim can be: first one of both
//   sides (the
//                           longest; the result stays split along it), else the cheapest of
//                           a dim of the output only  x is gathered, each rank has its rows
//                           a dim of the input only   x is split along it, one allreduce
//                           a dim inside a chain      x is gathered, each rank has a term
//   no dim can be cut       x is gathered, every rank applies A and keeps its part
// x without a split is applied as it is. Tiles of A and their plans are kept with A: a second call
// with an array of the same layout records nothing.
//   DNDarray y = A(x);   explain_apply(A, x).str();   dist::apply(A.N(), image, {.along = "C"});

#include <optional>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera::dist {

struct ApplyOptions {
  // Split the work along this dim of A (inner ones too) instead, whatever the split of x.
  // SplitError where A cannot be cut along it.
  std::optional<NamedDimension> along{};
};

// What A(x) does, before it does it.
struct TESSERA_API ApplyRoute {
  Shape shape;  // of the result
  DType dtype = DType::f32;
  Distribution in, out;               // what x is laid out to, and what the result is
  std::optional<NamedDimension> cut;  // each rank applies its part of A along this dim
  Partition part;                     // of that dim
  bool summed = false;                // the parts are terms of a sum
  Movement moved;                     // x to `in`: all of the traffic but the sum
  std::string reason;                 // one sentence
  std::string str() const;
};
TESSERA_API ApplyRoute explain_apply(const NamedLinop& A, const DNDarray& x,
                                     const ApplyOptions& options = {});

// The same as A(x). Errors as those of the operator, on all ranks.
TESSERA_API DNDarray apply(const NamedLinop& A, const DNDarray& x,
                           const ApplyOptions& options = {});

}  // namespace tessera::dist
