// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subscripts of einsum, read: one list of labels per operand and one for the output. Letters
// are their characters; the axes behind "..." get labels of their own, counted from the last axis,
// so that equal labels broadcast. Knows nothing of sizes. Private to einsum.
//   Subscripts s = parse_subscripts("...ij,jk->...ik", ranks);

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/small_vec.hpp"

namespace tessera {

using Labels = SmallVec<int, 8>;
inline constexpr int ellipsis_label = 256;  // + distance from the last of the axes it stands for

struct Subscripts {
  std::vector<Labels> inputs;
  Labels output;
};

// `ranks`: of the operands. ArgumentError in NumPy's words for what cannot be read.
Subscripts parse_subscripts(std::string_view text, std::span<const i64> ranks);

// "'i'" or "axis -2 of '...'": for errors.
std::string label_text(int label);

}  // namespace tessera
