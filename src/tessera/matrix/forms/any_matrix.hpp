// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of any form: full, of bits, or packed by what is known of it. A value handle: copies
// share elements until one of them is written to (copy on write); scaling, transposing and
// conjugating are views that move nothing. Unlike an array a matrix has no fixed device: operations
// run where the context says (compute/context.hpp), its elements are mirrored there and the mirror
// is kept, results stay where they were computed. Not for: more than two axes, names, slices.
//   AnyMatrix c = AnyMatrix::triangular_bit(x);   AnyMatrix k = 2.0 * c.transpose() (scaled)
//   matmul(c, c).form() == Form::triangular      (multiply.hpp)

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/matrix/forms/properties.hpp"
#include "tessera/matrix/forms/strips.hpp"

namespace tessera {

class Random;

enum class Form : std::uint8_t {
  dense,           // data: (rows, cols)
  bit,             // data: words, bitmatmul.hpp
  triangular_bit,  // strictly upper; data: strips of words
  triangular,      // upper, strict or not; data: strips (lower ones are transposed views)
  symmetric,       // data: strips of the upper half with the diagonal; not conjugated across it
  antisymmetric,   // data: strips of the upper half, the diagonal is zero
  diagonal,        // data: min(rows, cols) numbers
  identity         // data: none, but they say where; rectangular ones have ones where i == j
};
inline constexpr int form_count = 8;
TESSERA_API std::string_view name(Form form);        // "Dense", "Bit", "TriangularBit", ...
TESSERA_API Form parse_form(std::string_view name);  // ArgumentError

// The elements as they lie in memory, before views. Immutable while more than one handle has it.
struct TESSERA_API Payload {
  Form form;
  i64 rows, cols;
  DType dtype;          // b1 for bits
  bool strict = false;  // triangular: no diagonal
  Array data;
  bool shared = false;         // others may write to the data: no mirrors, no derived values
  std::mutex guard;            // of mirrors
  std::vector<Array> mirrors;  // the same data on other devices

  Strips strips() const;  // of the four packed forms
  i64 bytes() const { return data.bytes(); }
};
// Data as they are; no checks.
TESSERA_API std::shared_ptr<Payload> make_payload(Form form, i64 rows, i64 cols, DType dtype,
                                                  Array data, bool strict = false);

class TESSERA_API AnyMatrix {
 public:
  // From full arrays of two axes. `check` reads all elements and throws ArgumentError where they do
  // not have the form; without it the other half is not read. dense() and bits() share memory.
  static AnyMatrix dense(Array a);
  static AnyMatrix bit(const Array& a);  // nonzero is 1
  static AnyMatrix bits(Bits a);
  static AnyMatrix triangular_bit(const Array& a, bool check = true);
  static AnyMatrix triangular_bits(const Bits& a, bool check = true);
  static AnyMatrix triangular(const Array& a, bool lower = false, bool strict = false,
                              bool check = true);
  static AnyMatrix symmetric(const Array& a, bool check = true);
  static AnyMatrix antisymmetric(const Array& a, bool check = true);
  static AnyMatrix diagonal(Array values, i64 rows = -1, i64 cols = -1);
  static AnyMatrix diagonal_of(const Array& a, bool check = true);
  static AnyMatrix identity(i64 rows, i64 cols = -1, DType dtype = DType::f64, Device device = cpu);
  // Bits that are one with probability p: bit or triangular_bit. A few rows of numbers at a time.
  static AnyMatrix random_bits(Form form, i64 rows, i64 cols, double p, Random& source,
                               Device device = cpu);
  // Zeros (identity: ones) of a form.
  static AnyMatrix zeros(Form form, i64 rows, i64 cols, DType dtype, Device device = cpu);
  // Of the data of a payload, which may come from a file: ShapeError or DTypeError where they are
  // not what the form stores of a matrix of this shape and dtype. Elements are not looked at.
  static AnyMatrix of_stored(Form form, i64 rows, i64 cols, DType dtype, const Array& data,
                             bool strict);
  // Of packed data as they are.
  AnyMatrix(std::shared_ptr<Payload> payload);

  Form form() const { return payload_->form; }
  i64 rows() const { return transposed_ ? payload_->cols : payload_->rows; }
  i64 cols() const { return transposed_ ? payload_->rows : payload_->cols; }
  DType dtype() const;                  // of the elements, the scale included
  Device device() const;                // of the data that were first
  std::vector<Device> held_at() const;  // and of their mirrors
  i64 bytes() const { return payload_->bytes(); }
  bool lower() const {  // of the triangular forms
    return transposed_ && (form() == Form::triangular || form() == Form::triangular_bit);
  }
  std::string str() const;  // one line, then rows as arrays print them; reads a few elements only

  AnyMatrix transpose() const;
  AnyMatrix conj() const;
  AnyMatrix adjoint() const;
  // A view with another scale. Integers stay integers under integer scales; OverflowError comes
  // when elements are read. A scale that is not finite is applied at once, to what is stored.
  AnyMatrix scaled(const Value& by) const;
  AnyMatrix complement() const;  // of bits: 1 where there was 0
  const Value& scale() const { return scale_; }
  bool plain() const;  // no scale, transpose or conjugate
  bool transposed() const { return transposed_; }
  bool conjugated() const { return conjugated_; }

  Value at(i64 i, i64 j) const;  // IndexError; waits
  // Copies first where shared. ArgumentError where the form has no such element (and of scaled
  // bits), DTypeError where v is of another kind, OverflowError where it does not fit.
  void set(i64 i, i64 j, const Value& v);
  // Ones where i == j and zeros elsewhere, in its form. ArgumentError where that has no diagonal.
  void set_identity();
  // Memory of its own, views applied (a lower triangle stays a transposed view of an upper one),
  // the same form but for what that cannot hold: scaled bits become numbers, scaled identities
  // diagonals. astype: OverflowError where integers do not fit, DTypeError for complex to real.
  AnyMatrix copy() const;
  AnyMatrix astype(DType dtype) const;
  AnyMatrix to(Device device) const;  // its data there, no mirrors: says where it lives

  // All elements, views applied, as a full array in the matrix's dtype (or another) on `where`
  // (nothing: device()). Not to be written to: a dense matrix gives its own memory.
  Array array(std::optional<DType> dtype = {}, std::optional<Device> where = {}) const;
  // The stored data on a device: themselves, a mirror, or a new mirror (a transfer, logged).
  Array data(Device where) const;
  const Payload& payload() const { return *payload_; }
  Bits words(Device where) const;  // full words of the bit forms, transposed where the view is

  // By its form, by what is declared, or by what follows from that.
  bool is(Property p) const;
  const Properties& properties() const { return properties_; }
  Properties& properties() { return properties_; }

 private:
  Payload& own();                    // the payload for writing
  Array viewed(const Array&) const;  // stored elements, conjugated and scaled
  AnyMatrix materialised(DType dtype) const;
  AnyMatrix numbers() const;  // of triangular bits: as a triangular matrix of bool
  std::shared_ptr<Payload> payload_;
  Value scale_{1};
  bool transposed_ = false, conjugated_ = false;
  Properties properties_;
};

}  // namespace tessera
