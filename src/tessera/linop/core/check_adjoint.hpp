// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether an operator and its adjoint belong together, by the dot test with random vectors.
//   if (const AdjointCheck c = check_adjoint(A, {3, 7}, DType::c128); !c) report(c.error);

#include <optional>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// True where the law holds.
struct AdjointCheck {
  double error;      // |<y, Ax> - <A.H y, x>| / (|Ax| |y| / sqrt(n))
  double tolerance;  // the most that counts as rounding
  explicit operator bool() const { return error <= tolerance; }  // false for NaN
};

// `tolerance`: what rounding explains for this dtype and this number of terms, unless given.
TESSERA_API AdjointCheck check_adjoint(const NamedLinop& a, const Shape& input, DType dtype,
                                       Device device = cpu, std::uint64_t seed = 0,
                                       std::optional<double> tolerance = {});

}  // namespace tessera
