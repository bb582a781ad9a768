// SPDX-License-Identifier: Apache-2.0
#pragma once
// What solving and spectra ask of a matrix before they compute. Private to the folder.
//   if (structure_of(m) == Structure::diagonal) use(diagonal_numbers(m));

#include <complex>
#include <string_view>
#include <vector>

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// The first that is known to hold, by form or by declaration.
enum class Structure : std::uint8_t {
  zero,
  identity,  // times the scale, where the form says so
  diagonal,
  permutation,
  unitary,
  upper,
  lower,
  symmetric,
  antisymmetric,
  general
};
Structure structure_of(const AnyMatrix& m);

void require_square(std::string_view who, const AnyMatrix& m);
[[noreturn]] void throw_singular(std::string_view who, const AnyMatrix& m, std::string_view why);

// An identity: what each of its ones is.
Value factor_of_identity(const AnyMatrix& m);
// The diagonal in host memory, views applied.
std::vector<std::complex<double>> diagonal_numbers(const AnyMatrix& m);
// The same matrix without its scale, its data on `where`; what was declared does not hold for it.
AnyMatrix unscaled(const AnyMatrix& m, Device where);
Value reciprocal(const Value& v);

}  // namespace tessera
