// SPDX-License-Identifier: Apache-2.0
#pragma once
// An orthonormal basis that grows, as rows of one array (of one for each piece of the vectors):
// what Krylov methods with long recurrences keep. A vector is made orthogonal to those before it by
// two passes of classical Gram-Schmidt (as accurate as the modified one with reorthogonalisation,
// in four matrix products), recorded once for each row. Of a basis in pieces only the coefficients
// travel. On disk each row is a vector of its own (stored_basis.cpp); there rows are made orthogonal
// to all before them, and combined.
//   Basis v(e, "V", 30, A.in, dtype);   v.row(3) ← something;   v.orthonormalise(3);

#include <complex>
#include <optional>

#include "tessera/solve/core/engine.hpp"

namespace tessera {

// The rows of a basis that are on disk: a part of all of them is in memory at a time.
class StoredRows {
 public:
  using Number = std::complex<double>;
  // What the last run of record() found: <row i, given vector>, and the squares of its length
  // before and after.
  struct Found {
    std::vector<Number> coefficients;
    double before2 = 0, after2 = 0;
  };

  // Kept by the engine: in checkpoints there is a file for each row.
  StoredRows(Engine& e, const std::string& name, i64 rows, const VectorSpace& side, DType dtype);
  const std::vector<vec::Vector>& rows() const { return rows_; }
  // Row j, orthogonal to rows [0, j) and of length one: four passes, as Basis::orthonormalise.
  void record(Recorder& r, i64 j) const;
  const Found& found() const { return *found_; }
  // y (one number a row) times all rows; only rows with a number other than 0 are read.
  void record_combination(Recorder& r, const Array& y, const vec::Vector& to) const;

 private:
  StoredSolve& solve() const { return *rows_.front().stored->solve; }
  std::vector<vec::Vector> rows_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

class Basis {
 public:
  using Number = std::complex<double>;

  Basis(Engine& e, const std::string& name, i64 rows, const VectorSpace& side, DType dtype);
  i64 rows() const { return rows_; }
  const vec::Vector& row(i64 j) const { return views_[static_cast<std::size_t>(j)]; }
  vec::Vector some_rows(i64 first, i64 count) const;  // one above the other
  DType dtype() const { return dtype_; }

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
  void randomise_all(std::uint64_t seed);  // not orthogonal yet

  // Rows [0, k) := factors (k x m, row-major) times rows [0, m); the rows after m follow them.
  // Planned once for each k and m, at the first restart or before it.
  void restart(i64 k, i64 m, const std::vector<Number>& factors);
  void plan_restart(i64 k, i64 m) { (void)restart_of(k, m); }
  // factors (k x m) times rows [0, m), a fresh array of shape (k, *shape).
  Array combined(i64 k, i64 m, const std::vector<Number>& factors) const;
  // y (one number a row) times all rows, into an array of the rows' shape: a step of a plan. The
  // numbers are read from `y`, made by weights().
  Array weights() const;
  void record_combination(Recorder& r, const Array& y, const vec::Vector& to) const;

 private:
  // Piece p of rows [first, last), as a matrix.
  View block(Recorder& r, std::size_t p, i64 first, i64 last) const;
  View image(Recorder& r, const Array& f, std::size_t p, i64 k, i64 m) const;
  Run& record(i64 j, i64 first, bool twice);
  void record_coefficients(Recorder& r, i64 j, i64 first, const View& h) const;
  const Result& orthonormalise_on_disk(i64 j);
  struct Restart {
    i64 k, m;
    Array host, factors;  // the numbers as they are given, and where the plan reads them
    Run* run;
  };
  Restart& restart_of(i64 k, i64 m);

  Engine& e_;
  std::string name_;
  i64 rows_;
  DType dtype_;
  VectorSpace side_;
  std::shared_ptr<const StoredRows> stored_;  // null: in memory
  vec::Vector all_;
  Array h_, host_h_;  // two rows of coefficients
  std::vector<vec::Vector> views_;
  DeviceScalar before_, after_, scale_;
  struct Recorded {
    i64 j, first;
    bool twice;
    Run* run;
  };
  std::vector<Recorded> recorded_;
  std::vector<Restart> restarts_;
  Result result_;
};

// Writes complex numbers into a host array of any of the four dtypes, and reads them.
void store_numbers(const Array& host, const std::vector<std::complex<double>>& v);
std::vector<std::complex<double>> load_numbers(const Array& host);

}  // namespace tessera
