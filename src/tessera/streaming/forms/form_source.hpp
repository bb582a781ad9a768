// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of any form whose numbers lie in a store: the form says which part of the store is read,
// and the rest of it never is. Numbers of a square half lie in a store of the whole square, bits in
// one of words (bitmatmul.hpp), so that a file of someone else becomes triangular or symmetric by
// being looked at as that. Diagonals and identities have their numbers in memory. A small value;
// transposing, conjugating and scaling are views.
//   FormSource c = FormSource::bits(Form::triangular_bit, words, n);   c.transpose()
//   FormSource s = FormSource::numbers(Form::symmetric, store);

#include <optional>
#include <string>

#include "tessera/matrix/forms/any_matrix.hpp"
#include "tessera/streaming/linalg/strip_cut.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

struct TESSERA_API FormSource {
  Form form = Form::dense;
  i64 stored_rows = 0, stored_cols = 0;  // before the view is transposed
  DType dtype = DType::f64;              // of what is stored; b1 for bits
  bool strict = false;                   // triangular: the diagonal is zero
  bool transposed = false, conjugated = false;
  Value scale = Value(1);  // of the view as it is: not conjugated once more; never zero
  StorePtr store = {};     // none for diagonals and identities
  Array values = {};       // of a diagonal
  std::string known = {};  // which numbers these are, where the store cannot say

  // ShapeError: a half of what is not square, words that are not those of `columns` bits.
  static FormSource numbers(Form form, StorePtr store, bool strict = false);
  static FormSource bits(Form form, StorePtr words, i64 columns);
  // Of a matrix in memory, which is shared as far as that goes; scales are applied first.
  static FormSource memory(const AnyMatrix& m);

  i64 rows() const { return transposed ? stored_cols : stored_rows; }
  i64 cols() const { return transposed ? stored_rows : stored_cols; }
  bool has_words() const { return form == Form::bit || form == Form::triangular_bit; }
  bool is_half() const {  // one of two halves of a square is stored
    return form == Form::triangular || form == Form::triangular_bit || is_mirrored();
  }
  bool is_mirrored() const { return form == Form::symmetric || form == Form::antisymmetric; }
  bool is_diagonal() const { return form == Form::diagonal || form == Form::identity; }
  bool lower() const {
    return transposed && (form == Form::triangular || form == Form::triangular_bit);
  }
  bool on_disk() const { return store && store->on_disk(); }
  FormSource transpose() const;
  FormSource conj() const;
  bool is_scaled() const;
  FormSource unscaled() const;
  DType element_dtype() const;  // the scale included
  // A view times a number, or nothing where no view says it: factors that are zero or not finite,
  // and those that take back one of bits.
  std::optional<FormSource> scaled(const Value& by) const;
  // Which numbers these are, for jobs; "" where that cannot be said.
  std::string version() const;
  std::string describe() const;  // "a TriangularBit of shape (5, 5)": for sentences
  // The same form, views, scale and dtype in a few zeros in memory: what operations make of it.
  AnyMatrix small(i64 rows, i64 cols) const;
};

// Bytes of a block as numbers, and as words of bits.
inline i64 number_bytes(DType dtype, i64 rows, i64 cols) { return rows * cols * size_of(dtype); }
inline i64 word_bytes(i64 rows, i64 cols) { return rows * bit_words(cols) * 8; }

// How a block of a matrix comes from its store.
struct BlockPlace {
  enum class Kind : std::uint8_t {
    zero,     // nothing is stored of it
    whole,    // a rectangle of the store
    half,     // a square on the diagonal of which one half is stored
    diagonal  // a part of `values`
  } kind = Kind::zero;
  Range rows = {}, cols = {};  // of what is stored, in elements
  bool turned = false;         // the block is the transpose of that
  bool negative = false;       // and the negative
};
// Rows and columns of the view, cut alike: those of a square half overlap completely or not at all.
TESSERA_API BlockPlace place_of(const FormSource& m, const Range& rows, const Range& cols);
// The box of the store (of words for bits).
TESSERA_API Box box_of(const FormSource& m, const BlockPlace& place);

// A block in memory: the elements as they are stored, and how they are meant.
struct TESSERA_API Piece {
  Form form = Form::dense;  // dense or bit where it is `whole`
  BlockPlace::Kind kind = BlockPlace::Kind::whole;
  bool strict = false, turned = false, conj = false, negative = false;
  Array numbers = {};     // words for bits
  i64 columns = 0;        // of what is stored
  i64 diagonal_rows = 0;  // of diagonals: the shape of what is stored
  i64 rows() const;
  i64 cols() const;
  bool has_words() const { return form == Form::bit || form == Form::triangular_bit; }
  // A part; kind zero where nothing is stored of it. Of halves: cut alike along both axes.
  Piece part(const Range& rows, const Range& cols) const;
  AnyMatrix matrix() const;
};
TESSERA_API Piece piece_of(const FormSource& m, const BlockPlace& place, const Array& numbers);

}  // namespace tessera::streaming
