// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors that stay where they are used: when an operator is block diagonal over devices, a solver
// keeps each block's part of its vectors on the block's device from one iteration to the next, and
// only scalars travel. Any other operator has one piece, which is the whole.
//   Shards s(A, b);   Vector p = s.spread(...);   s.record(r, p, Ap);

#include <optional>
#include <vector>

#include "tessera/linop/linop.hpp"
#include "tessera/solve/vectors.hpp"

namespace tessera {

class TESSERA_API Shards {
 public:
  // For a square operator on arrays like `b`.
  Shards(const NamedLinop& a, const Array& b);
  static Shards whole_of(const NamedLinop& a, const Array& b);  // in one piece, whatever it is
  bool spread() const { return pieces_.size() > 1; }
  std::size_t count() const { return pieces_.size(); }
  const Shape& shape() const { return shape_; }
  // Zeros like the pieces of b.
  vec::Vector zeros(DType dtype) const;
  // The part of a whole array that is piece i, a view of it.
  Array part(const Array& whole, std::size_t i) const;
  // Between a whole array on the base device and its pieces: steps of a plan.
  void scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const;
  void gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const;
  // The pieces put together on a device, at once.
  Array whole(const vec::Vector& pieces, Device device) const;
  // y = A x.
  void record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const;

 private:
  Shards() = default;
  struct Piece {
    NamedLinop a;  // the block, on its device
    i64 start, size;
    Device device;
  };
  std::vector<Piece> pieces_;
  i64 axis_ = 0;
  Shape shape_;
};

}  // namespace tessera
