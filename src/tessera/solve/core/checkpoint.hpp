// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a solver that can be killed: its arrays and scalars, its history, and what tells one
// problem from another. Written as .npz, as a whole or not at all.
//   Saved s = problem;  s.arrays = {...};  write_checkpoint(path, s);

#include <optional>
#include <string>
#include <vector>

#include "tessera/array/npz.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

// One fact about a problem: a text, or a number that may differ by rounding (an operator applied to
// fixed random vectors on another number of threads).
struct Fact {
  std::string what;  // "the operator", "b"
  std::string text;
  c128 number{0, 0};
  double tolerance = 0;  // of `number`; 0: only the text counts
};

Fact fact_of(std::string what, std::string text);
Fact fact_of(std::string what, const Array& a);  // dtype, shape and a hash of the bytes
// Names, parts and sizes, and one number of A x for a fixed x of that shape.
Fact fact_of(std::string what, const NamedLinop& a, const Shape& shape, DType dtype, Device device);

struct Saved {
  std::vector<Fact> facts;
  NamedArrays arrays;         // named "state/..." in the file
  std::vector<double> cells;  // of the ScalarProgram
  std::vector<double> history;
  i64 iterations = 0;
  int status = 0;
  double rtol = 0, atol = 0;
};

void write_checkpoint(const std::string& path, const Saved& saved);
// Nothing when there is no such file. ArgumentError when it is the file of another problem: names
// `who`, the path and the fact that differs. IoError when it cannot be read, or says what no solver
// writes. Arrays and cells are as the file has them: who knows their shapes checks those.
std::optional<Saved> read_checkpoint(std::string_view who, const std::string& path,
                                     const std::vector<Fact>& facts);

// What may be asked of numbers from a file. All real and complex dtypes; other numbers are finite.
bool all_finite(const Array& host);
bool is_count(double v, i64 most);  // whole, 0 to most

}  // namespace tessera
