// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of A.H W A: those of A.N, whatever W is and whatever was rewritten. Composing alone
// would give a new name to a dim that ends inside and begins again.
//   NamedLinop B = under_normal_names(A, chain({A, W, A.H()}));

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// `sandwich` is a.H W a. Its output has the names of a.N's along the dims that a mixes. Where that
// is the input's name, it still mixes along the dim: it cannot be cut along it. `own_normal_is_in`:
// what a states as its normal is in place already, and with it its names.
NamedLinop under_normal_names(const NamedLinop& a, const NamedLinop& sandwich,
                              bool own_normal_is_in = false);

}  // namespace tessera
