// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix that cannot be treated: singular, not positive definite, without convergence. Of a stack
// it names the matrix, by a position that can be counted from elsewhere when the stack is a part of
// another. In Python also a ValueError, as NumPy's is, and a RuntimeError.
//   throw LinAlgError("inverse: Singular matrix: zero pivot 2");

#include "tessera/base/shape.hpp"

namespace tessera {

struct TESSERA_API LinAlgError : ArgumentError {
  using ArgumentError::ArgumentError;
  // Matrix `at` of a stack: "inverse: Singular matrix", at, ": zero pivot 2".
  LinAlgError(const std::string& reason, const Shape& at, const std::string& pivot)
      : ArgumentError(cat(reason, ", matrix ", at, " of the stack", pivot)),
        reason_(reason),
        pivot_(pivot),
        at_(at) {}

  // The same where the stack begins at entry `begin` of an axis of a larger one.
  LinAlgError counted_from(i64 axis, i64 begin) const {
    if (axis >= at_.size()) return *this;
    Shape at = at_;
    at[axis] += begin;
    return {reason_, at, pivot_};
  }

 private:
  std::string reason_, pivot_;
  Shape at_;
};

}  // namespace tessera
