// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of A.H W A: those of A.N, whatever W is. Composing alone would give a new name to a dim
// that ends inside and begins again.
//   NamedLinop B = under_normal_names(A, chain({A, W, A.H()}));

#include "tessera/linop/linop.hpp"

namespace tessera {

// `sandwich` is a.H W a. Its output has the names of a.N's along the dims that a mixes. Where that
// is the input's name, it still mixes along the dim: it cannot be cut along it.
NamedLinop under_normal_names(const NamedLinop& a, const NamedLinop& sandwich);

}  // namespace tessera
