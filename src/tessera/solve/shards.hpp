// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors that stay where they are used: when an operator was cut over devices along a dim of its
// input or of its output, a solver keeps each tile's part of the vectors of that side on the tile's
// device from one iteration to the next. Blocks on a diagonal leave only scalars to travel; tiles
// of the output (coils) leave vectors of the input. Any other operator has sides in one piece.
//   Shards s(A, in, out, cpu);   Vector v = s.in.zeros(t), u = s.out.zeros(t);   s.record(r, v, u);

#include <optional>
#include <vector>

#include "tessera/linop/linop.hpp"
#include "tessera/solve/vectors.hpp"

namespace tessera {

// Where the vectors of one side of an operator are: whole on the base device, or in pieces along an
// axis.
class TESSERA_API Side {
 public:
  struct Piece {
    i64 start, size;
    Device device;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  Side(Shape shape, Device base);
  Side(Shape shape, i64 axis, std::vector<Piece> pieces);
  bool spread() const { return pieces_.size() > 1; }
  std::size_t count() const { return pieces_.size(); }
  const Shape& shape() const { return shape_; }
  vec::Vector zeros(DType dtype) const;
  // The part of a whole array that is piece i, a view of it.
  Array part(const Array& whole, std::size_t i) const;
  // Between a whole array on the base device and its pieces: steps of a plan.
  void scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const;
  void gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const;
  // The pieces put together on a device, at once.
  Array whole(const vec::Vector& pieces, Device device) const;
  friend bool operator==(const Side&, const Side&) = default;  // vectors of both lie alike

 private:
  Shape shape_;
  i64 axis_ = 0;
  std::vector<Piece> pieces_;
};

class TESSERA_API Shards {
 public:
  // For arrays of these shapes on `base`.
  Shards(const NamedLinop& a, const Shape& in, const Shape& out, Device base);
  static Shards whole_of(const NamedLinop& a, const Shape& in, const Shape& out, Device base);
  bool spread() const { return in.spread() || out.spread(); }
  void record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const;          // y = A x
  void record_adjoint(Recorder& r, const vec::Vector& y, const vec::Vector& x) const;  // x = A.H y

  Side in, out;

 private:
  Shards(NamedLinop a, Side i, Side o, Device base);
  std::vector<NamedLinop> tiles_;  // between the pieces of both sides
  Device base_;
};

}  // namespace tessera
