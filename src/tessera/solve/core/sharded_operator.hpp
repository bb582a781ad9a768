// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors that stay where they are used: when an operator was cut over devices along dims of its
// input or of its output, a solver keeps the parts of the vectors of that side on devices from one
// iteration to the next. Blocks on a diagonal leave only scalars to travel; tiles of the output
// (coils) leave vectors of the input; in a grid of rows and columns the part of a vector is at home
// on the device of the first tile that uses it, and travels to the others and back. This rank's
// part of an operator over ranks has sides that say so (ranks.hpp). Any other operator has sides in
// one piece.
//   ShardedOperator s(A, in, out, cpu);   Vector v = s.in.zeros(t), u = s.out.zeros(t);   s.record(r, v, u);

#include <optional>
#include <vector>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/vector_space.hpp"

namespace tessera {

struct Add;
struct Chain;
struct Concat;
struct Polynomial;

class TESSERA_API ShardedOperator {
 public:
  // For arrays of these shapes on `base`.
  ShardedOperator(const NamedLinop& a, const Shape& in, const Shape& out, Device base);
  static ShardedOperator whole_of(const NamedLinop& a, const Shape& in, const Shape& out,
                                  Device base);
  // For a problem whose vectors are of both sides: distributed where those are alike. A chain may
  // be distributed over its middle (A.N of an operator in tiles of its input), a sum where all
  // terms are, blocks on a diagonal and polynomials where those of which they are made are.
  static ShardedOperator square(const NamedLinop& a, const Shape& shape, Device base);
  // Another operator on vectors that lie as `side` says; nothing when it cannot be cut like them.
  static std::optional<ShardedOperator> beside(const VectorSpace& side, const NamedLinop& a,
                                               const Shape& out);
  bool distribution() const { return in.distribution() || out.distribution(); }
  void record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const;          // y = A x
  void record_adjoint(Recorder& r, const vec::Vector& y, const vec::Vector& x) const;  // x = A.H y
  // residual = b - A x of a first guess, which x becomes; without one b. Ax is written over.
  void record_residual(Recorder& r, const Array& x0, const vec::Vector& b, const vec::Vector& x,
                       const vec::Vector& Ax, const vec::Vector& residual) const;
  void record(Recorder& r, const std::vector<View>& x, const std::vector<View>& y) const;
  void record_adjoint(Recorder& r, const std::vector<View>& y, const std::vector<View>& x) const;

  VectorSpace in, out;

 private:
  struct Placed {
    NamedLinop op;
    Device in, out;        // where it takes its input and gives its output
    std::size_t from, to;  // between these pieces of both sides
  };
  struct Stage {
    std::vector<Placed> tiles;
    VectorSpace in, out;
  };
  using Path = std::vector<Stage>;  // one after the other
  ShardedOperator(std::vector<Path> terms);
  static std::optional<ShardedOperator> alike(const NamedLinop& a, const Shape& shape, Device base);
  static std::optional<ShardedOperator> over_the_middle(const Chain& c, const Shape& shape,
                                                        Device base);
  static std::optional<ShardedOperator> sum_of(const Add& a, const Shape& shape, Device base);
  static std::optional<ShardedOperator> diagonal(const Concat& c, const Shape& shape, Device base);
  static std::optional<ShardedOperator> polynomial(const Polynomial& p, const Shape& shape,
                                                   Device base);
  static std::optional<ShardedOperator> cut_beside(const VectorSpace& side, const NamedLinop& a,
                                                   const Shape& out);
  void rehome(const VectorSpace& from, const VectorSpace& to);  // cut like its own
  static void record_stage(Recorder& r, const Stage& s, const std::vector<View>& x,
                           const std::vector<View>& y, std::vector<bool>& begun);
  const NamedLinop& on_stored_vectors() const;
  void record_terms(Recorder& r, const std::vector<View>& x, const std::vector<View>& y) const;
  std::vector<Path> terms_;           // their sum
  std::vector<double> coefficients_;  // of a polynomial of that sum; none: the sum itself
};

// A square operator and another one on the same vectors (a preconditioner): distributed where both
// can be cut alike, whole otherwise.
struct TESSERA_API SquareShards {
  SquareShards(const NamedLinop& a, const std::optional<NamedLinop>& another, const Shape& shape,
               Device base);
  ShardedOperator a;
  std::optional<ShardedOperator> other;
};

}  // namespace tessera
