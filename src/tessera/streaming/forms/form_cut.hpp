// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a product of forms is cut: squares of one side, how many of the result stay, and which factor
// is read once. Pure arithmetic; private to the room.
//   FormCut cut = choose_form_cut(a, b, result, call, options);

#include "tessera/streaming/forms/block_product.hpp"
#include "tessera/streaming/forms/form_product.hpp"

namespace tessera::streaming {

struct FormCut {
  i64 side = 1;                        // of a block, in elements
  i64 block_rows = 1, block_cols = 1;  // blocks of the result that stay
  bool one_pass = false;               // a mirrored left factor is read once for all rows
  double cost = 0;                     // bytes that are read, and what short blocks cost beside

  i64 strip() const { return std::max<i64>(16, side / 8); }
};

// The sizes of a product and what its blocks take.
struct FormSizes {
  const FormSource& a;
  const FormSource& b;
  const FormResult& result;
  BlockCall call;

  i64 blocks(i64 n, i64 side) const { return (n + side - 1) / side; }
  i64 a_bytes(i64 side) const;
  i64 b_bytes(i64 side) const;
  i64 c_bytes(i64 side) const;    // as sums
  i64 out_bytes(i64 side) const;  // beside them, where the result has another dtype
  i64 held(const FormCut& cut) const;
};

inline constexpr i64 form_a_slots = 2;

FormCut choose_form_cut(const FormSizes& sizes, const Options& options);

}  // namespace tessera::streaming
