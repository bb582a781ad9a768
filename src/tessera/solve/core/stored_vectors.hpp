// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of a solve that lie on disk. Solvers record the same steps as over vectors in memory; here
// these become calls that apply the operator tile by tile (streaming/operators) and sweep over
// vectors box by box, neighbouring ones in one pass. Where an array stands for such a vector (b, the
// first guess), it has its shape and dtype and no numbers; it is known again by where its memory is.
// What there is of one solve is a StoredSolve; the operator that a solver is given says that there is
// one, as LocalPart does for ranks. The solvers themselves: stored/stored_solvers.hpp.
//   auto s = std::make_shared<StoredSolve>(b, x0, budget);   cg(OnStoredVectors(A, s), s->stand_in(), o)

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/scalar_program.hpp"
#include "tessera/solve/core/vectors.hpp"
#include "tessera/solve/disk/vector_sweep.hpp"

namespace tessera {

class StoredSolve;
using StoredSolvePtr = std::shared_ptr<StoredSolve>;

struct StoredVector {
  StoredSolvePtr solve;
  streaming::StorePtr store;
};

class StoredSolve : public std::enable_shared_from_this<StoredSolve> {
 public:
  // All passes hold at most `budget` bytes.
  StoredSolve(std::optional<streaming::StoredArray> b, std::optional<streaming::StoredArray> x0,
              i64 budget);

  Array stand_in() const { return b_; }      // for b
  Array first_guess() const { return x0_; }  // the same for x0; no array where there is none
  Array stand_in(streaming::StoredArray a, DType dtype);  // for another one, in a dtype
  Array stand_in(const Array& a, DType dtype);  // for what `a` stands for, if anything, in another
  const i64 budget;
  streaming::StorePtr solution;  // the vector "x" of the solver

  // The cells that factors are read from and sums are written to.
  void use(const ScalarProgram& scalars) { scalars_ = &scalars; }
  vec::Vector zeros(const Shape& shape, DType dtype);
  // What an array stands for; ArgumentError for any other array.
  vec::Vector held(const Array& a, DType dtype) { return vector_of(known(a), dtype); }
  std::string version_of(const Array& a) const { return known(a).store()->version(); }
  vec::Vector normal(const RandomSpec& spec, const Shape& shape, DType drawn, DType dtype);
  void start_at(const vec::Vector& x);  // x0 is a copy of it from now on
  // At once: A b, for what the array b stands for.
  vec::Vector image(const NamedLinop& a, const Array& b, DType dtype);
  void copy(const vec::Vector& from, const vec::Vector& to) const;
  void clear(const streaming::StorePtr& vector) const;  // zeros, now

  // Steps of a plan.
  void sweep(Recorder& r, SweepKind kind, const SweepProgram::Operands& in,
             const streaming::StorePtr& like, const streaming::StorePtr& to, i64 cell = -1);
  void apply(Recorder& r, const NamedLinop& a, const vec::Vector& x, const vec::Vector& y);
  // y = f(x) in a part of both, for arrays of boxes, which are whole along the axes `uncut`.
  using BoxMap = std::function<Array(const Array& x, const store::Box& box)>;
  void map(Recorder& r, const std::string& what, const vec::Vector& x, const vec::Vector& y,
           const BoxMap& f, const store::Box& part, const Axes& uncut = {});
  // Passes of somebody else's over vectors that are there.
  void passes(Recorder& r, const std::string& what, std::function<void()> run);
  // What is swept next begins a pass: another plan is recorded.
  void close() { open_.reset(); }

 private:
  vec::Vector vector_of(const streaming::StoredArray& a, DType dtype);
  vec::Vector wrap(streaming::StorePtr store);
  streaming::StreamPlan plan_of(const NamedLinop& a, const streaming::StorePtr& x,
                                const streaming::StorePtr& y) const;
  void call(Recorder& r, const std::string& what, std::function<void(double* cells)> run) const;

  using Known = std::vector<std::pair<Array, streaming::StoredArray>>;  // stand-ins, and for what
  Known::const_iterator find(const Array& a) const;
  const streaming::StoredArray& known(const Array& a) const;

  Known known_;
  Array b_, x0_;
  const ScalarProgram* scalars_ = nullptr;
  struct Open {
    const Recorder* recorder;
    i64 programs;  // of scalars that had been recorded
    std::shared_ptr<SweepProgram> program;
  };
  std::optional<Open> open_;
};

// What A does to vectors of a solve on disk: recorded through ShardedOperator alone.
struct TESSERA_API OnStoredVectors {
  NamedLinop a;
  StoredSolvePtr solve;

  static constexpr const char* kind = "OnStoredVectors";
  NamedShape shape() const { return a.shape(); }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  bool is_real_linear() const { return a.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const { return OnStoredVectors{a.H(), solve}; }
  NamedLinop normal() const { return OnStoredVectors{a.N(), solve}; }
  OnStoredVectors renamed(const Renames& names) const { return {a.rename(names), solve}; }
};

// The solve on disk that an operator belongs to; null: vectors are in memory.
StoredSolvePtr stored_solve_of(const NamedLinop& a);

}  // namespace tessera
