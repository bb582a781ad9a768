// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of matrices of any two forms, one or both on disk. All three matrices are cut into
// squares of one size, so that a form says of each whether it is zero (it is not read), stored, or
// the mirror image of one that is. A few blocks of the result stay while those of the factors pass
// by; where a symmetric factor meets a thin one, all of the thin one and of the result stay instead
// and each square of the symmetric one is read once for both of its places. The products of blocks
// are those of matrices in memory (block_product.hpp), and so are forms and dtypes of results.
//   FormResult r = product_form(a, b);   plan_form_product(a, b, out, {}, {.budget = 1 << 30}).run();

#include "tessera/streaming/forms/form_source.hpp"

namespace tessera::streaming {

struct FormProduct {
  bool boolean = false;  // of bits: whether there is a k with a[i, k] and b[k, j]
};

// What an operation gives: a form as matrices in memory have it, of which the upper half is stored.
struct TESSERA_API FormResult {
  Form form = Form::dense;
  DType dtype = DType::f64;
  i64 rows = 0, cols = 0;
  bool lower = false, strict = false;
  bool has_words() const { return form == Form::bit || form == Form::triangular_bit; }
  bool is_half() const { return form != Form::dense && form != Form::bit; }
  Shape stored_shape() const { return {rows, has_words() ? bit_words(cols) : cols}; }
  DType stored_dtype() const { return has_words() ? DType::u64 : dtype; }
  // The result, when what is stored is there.
  FormSource source(const StorePtr& store) const;
  // What a file says of it, in words, and back: "matrix Triangular 300 lower strict", where the
  // number is that of the columns. IoError for other words, and for a store of something else.
  std::string about() const;
  static FormResult told_by(const StorePtr& store);
};
TESSERA_API FormResult result_of(const AnyMatrix& given, i64 rows, i64 cols);

// ShapeError unless a has as many columns as b rows; what matrices in memory refuse is refused.
// A result that is a diagonal is said to be dense.
TESSERA_API FormResult product_form(const FormSource& a, const FormSource& b,
                                    const FormProduct& what = {});

// `out` gets what is stored of the result, FormResult::stored_shape(); below the squares on the
// diagonal of a half nothing is written.
TESSERA_API StreamPlan plan_form_product(const FormSource& a, const FormSource& b,
                                         const StorePtr& out, const FormProduct& what = {},
                                         const Options& options = {});

// The side of the squares into which that plan cuts: a file whose tiles have it is written in whole
// tiles.
TESSERA_API i64 form_product_side(const FormSource& a, const FormSource& b,
                                  const FormProduct& what = {}, const Options& options = {});

}  // namespace tessera::streaming
