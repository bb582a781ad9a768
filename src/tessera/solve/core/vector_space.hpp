// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the vectors of a problem lie: whole on one device, or in pieces along some of their axes,
// each on a device of its own, or distributed over ranks, of which this one sees its part, or on
// disk. Which of them an operator asks for is in sharded_operator.hpp.
//   vec::Vector x = side.zeros(t);   side.scatter(r, whole, x);   vec::norm2(r, x, cell);

#include "tessera/kernels/random/random.hpp"
#include "tessera/solve/core/ranks.hpp"
#include "tessera/solve/core/vectors.hpp"

namespace tessera {

class StoredSolve;

// Where the vectors of one side of an operator are: whole on the base device, or in pieces.
class TESSERA_API VectorSpace {
 public:
  struct Piece {
    Shape start, size;
    Device device;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  VectorSpace(Shape shape, Device base, RanksPtr ranks = {},
              std::shared_ptr<StoredSolve> stored = {});
  VectorSpace(Shape shape, std::vector<Piece> pieces, Device base);
  bool distribution() const { return pieces_.size() > 1; }
  std::size_t count() const { return pieces_.size(); }
  const Shape& shape() const { return shape_; }
  i64 size() const;  // numbers in a vector, of all ranks
  const RanksPtr& ranks() const { return ranks_; }
  // The solve whose vectors are on disk; null: in memory.
  const std::shared_ptr<StoredSolve>& stored() const { return stored_; }
  Device base() const { return base_; }
  Device device(std::size_t i) const { return pieces_[i].device; }
  const Shape& shape(std::size_t i) const { return pieces_[i].size; }
  const Piece& piece(std::size_t i) const { return pieces_[i]; }
  std::vector<i64> cut_axes() const;              // along which pieces are less than the whole
  bool cut_like(const VectorSpace& other) const;  // the same pieces, wherever they are
  vec::Vector zeros(DType dtype) const;
  std::vector<View> temporaries(Recorder& r, DType dtype) const;
  // The part of a whole array that is piece i, a view of it.
  Array part(const Array& whole, std::size_t i) const;
  // Between a whole array on the base device and its pieces: steps of a plan.
  void scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const;
  void gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const;
  // The next normal vector of `random` on the base device, the same however it is distributed.
  Array normal(Random& random, DType dtype) const;
  // A whole array as a vector, at once: itself, or copies of its parts where they belong. Plans
  // that exist already do not wait for them.
  vec::Vector pieces_of(const Array& whole) const;
  // The pieces put together on a device, at once.
  Array whole(const vec::Vector& pieces, Device device) const;
  // One number for each group along `axes`: beside the pieces, in common where groups lie across
  // some of them; on the base where all groups lie across all pieces.
  VectorSpace reduced(const Shape& axes) const;
  VectorSpace stacked(i64 rows) const;  // so many vectors, one above the other
  friend bool operator==(const VectorSpace&,
                         const VectorSpace&) = default;  // vectors of both lie alike

 private:
  Shape shape_;
  std::vector<Piece> pieces_;
  Device base_;
  RanksPtr ranks_;
  std::shared_ptr<StoredSolve> stored_;
};

// The sum of |x|^2 of each group; x lies as `side` says, `to` as `groups`, which is
// side.reduced(axes).
void record_norms2(Recorder& r, const VectorSpace& side, const VectorSpace& groups,
                   const std::vector<View>& x, const std::vector<View>& to);
// The largest number of each group, of real numbers; that of no numbers is minus infinity.
void record_largest(Recorder& r, const VectorSpace& side, const VectorSpace& groups,
                    const std::vector<View>& x, const std::vector<View>& to);

}  // namespace tessera
