// SPDX-License-Identifier: Apache-2.0
#pragma once
// An orthonormal basis that grows, as rows of one array on the device: what Krylov methods with
// long recurrences keep. A vector is made orthogonal to those before it by two passes of classical
// Gram-Schmidt (as accurate as the modified one with reorthogonalisation, in four matrix products),
// recorded once for each row.
//   Basis v(e, "V", 30, shape, dtype);   v.row(3) ← something;   v.orthonormalise(3);

#include <complex>
#include <optional>

#include "tessera/solve/engine.hpp"

namespace tessera {

class Basis {
 public:
  using Number = std::complex<double>;

  Basis(Engine& e, const std::string& name, i64 rows, const Shape& shape, DType dtype);
  i64 rows() const { return rows_; }
  const Array& row(i64 j) const { return views_[static_cast<std::size_t>(j)]; }
  const Array& all() const { return all_; }
  DType dtype() const { return all_.dtype(); }

  struct Result {
    std::vector<Number> coefficients;  // <row i, given vector> for i < j; zero before `first`
    double before = 0, length = 0;     // of the vector as given, and of what was left of it
    // What was left is rounding errors: the vector lies in the space of the rows before it.
    bool dependent = false;
  };
  // Row j, orthogonal to rows [first, j) and of length one. One pass instead of two: local
  // orthogonality only.
  const Result& orthonormalise(i64 j, i64 first = 0, bool twice = true);
  // Row j := a random vector orthogonal to the rows before it; a function of seed and j only.
  void randomise(i64 j, std::uint64_t seed);

  // Rows [0, k) := factors (k x m, row-major) times rows [0, m); row k := row m.
  void restart(i64 k, i64 m, const std::vector<Number>& factors);
  // factors (k x m) times rows [0, m), a fresh array of shape (k, *shape).
  Array combined(i64 k, i64 m, const std::vector<Number>& factors) const;
  // y (one number a row) times all rows, into an array of the rows' shape: a step of a plan. The
  // numbers are read from `y`, made by weights().
  Array weights() const;
  void record_combination(Recorder& r, const Array& y, const Array& to) const;

 private:
  Run record(i64 j, i64 first, bool twice);
  Array uploaded(i64 k, i64 m, const std::vector<Number>& factors) const;

  Engine& e_;
  i64 rows_, size_;
  Shape shape_;
  Array all_, matrix_, h_, host_h_;  // matrix_: all_ as (rows, size); h_: two rows of coefficients
  std::vector<Array> views_;
  Cell before_, after_, scale_;
  struct Recorded {
    i64 j, first;
    bool twice;
    Run run;
  };
  std::vector<Recorded> recorded_;
  Result result_;
};

// Writes complex numbers into a host array of any of the four dtypes, and reads them.
void store_numbers(const Array& host, const std::vector<std::complex<double>>& v);
std::vector<std::complex<double>> load_numbers(const Array& host);

}  // namespace tessera
