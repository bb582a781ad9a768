// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector passes of solvers as steps of a plan: each is one sweep through memory. Vectors are
// dense arrays that outlive the plan, whole or in pieces on several devices (side.hpp); factors
// are cells of a ScalarProgram or immediates. Complex vectors with real factors are swept as twice
// as many real numbers.
//   vec::add_scaled(r, p, scalars.factor(r, alpha), x);   // x += alpha p

#include <memory>
#include <span>
#include <variant>

#include "tessera/plan/recorder.hpp"

namespace tessera {
struct Ranks;
struct StoredVector;
}  // namespace tessera

namespace tessera::vec {

// An array, or the pieces of one; or this rank's part of one that is distributed over ranks, where
// sums are those of all ranks.
struct Vector {
  std::vector<Array> pieces;
  std::shared_ptr<const Ranks> ranks{};
  std::shared_ptr<const StoredVector>
      stored{};  // on disk (stored_vectors.hpp); the piece has no numbers
  Vector() = default;
  Vector(const Array& whole) : pieces{whole} {}
  explicit Vector(std::vector<Array> p) : pieces(std::move(p)) {}
  DType dtype() const { return pieces.front().dtype(); }
};

// A view of a recorder, or a number.
struct Factor {
  View view{};
  Value value{0.0};
  bool immediate = true;
  Factor(double v) : value(v) {}
  Factor(const View& v) : view(v), immediate(false) {}
};

// Dense, filled with zeros.
TESSERA_API Array zeros(const Shape& shape, DType dtype, Device device);
// The array in the dtype asked for, itself where it has it; ShapeError, DeviceError and DTypeError
// name `who` and `what`.
Array fitting(std::string_view who, std::string_view what, const Array& a, const Shape& shape,
              DType dtype, Device device);
// A dense copy of the same.
Array copy_of(std::string_view who, std::string_view what, const Array& a, const Shape& shape,
              DType dtype, Device device);

View whole(Recorder& r, const Array& a);  // the array as it is
std::vector<View> whole(Recorder& r, const Vector& v);
inline const View& piece(const std::vector<View>& v, std::size_t i) {
  return v[std::min(i, v.size() - 1)];
}
View flat(Recorder& r, const Array& a);  // its real numbers in a row

// One element-wise sweep over views of one shape; factors are repeated, and sent to where y is.
void apply(Recorder& r, ElementOp op, DType compute, std::span<const Factor> inputs, const View& y);

// The same piece by piece, over vectors as they are; one that is whole is there for all pieces.
using Inputs = std::initializer_list<std::variant<Factor, std::vector<View>>>;
void apply(Recorder& r, ElementOp op, DType compute, const Inputs& inputs,
           const std::vector<View>& y);

// Piece by piece; factors are sent to where a piece is.
TESSERA_API void copy(Recorder& r, const Vector& x, const Vector& y);                    // y = x
TESSERA_API void fill(Recorder& r, double v, const Vector& y);                           // y = v
TESSERA_API void scale(Recorder& r, const Factor& f, const Vector& x, const Vector& y);  // y = f x
TESSERA_API void add(Recorder& r, const Vector& a, const Vector& b, const Vector& y);  // y = a + b
TESSERA_API void subtract(Recorder& r, const Vector& a, const Vector& b,
                          const Vector& y);  // y = a - b
TESSERA_API void add_scaled(Recorder& r, const Vector& x, const Factor& f,
                            const Vector& y);  // y += f x
// y = a f + b; y may be a or b.
TESSERA_API void multiply_add(Recorder& r, const Vector& a, const Factor& f, const Vector& b,
                              const Vector& y);
// y = condition ? a : b, one condition for all; y may be a or b.
TESSERA_API void select(Recorder& r, const View& condition, const Vector& a, const Vector& b,
                        const Vector& y);
// Into cells: Re <a, b> and |a|^2. Sums of pieces are formed where the cell is.
TESSERA_API void dot(Recorder& r, const Vector& a, const Vector& b, const View& to);
TESSERA_API void norm2(Recorder& r, const Vector& a, const View& to);
void largest(Recorder& r, const Vector& a, const View& to);  // of real numbers
// y = alpha op(a) b + beta y, matrices; op conjugates where asked.
struct Product {
  bool conj_a = false, conj_b = false;
  double alpha = 1, beta = 0;
};
void matmul(Recorder& r, const View& a, const View& b, const View& y, const Product& p = {});
// Any reduction whose output has the rank of x.
void reduce(Recorder& r, ReduceOp op, const View& x, const View& y);

}  // namespace tessera::vec
