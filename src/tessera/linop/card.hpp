// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator as people look at it in a notebook: a small piece of HTML with its names, the sizes
// of its dims, where its arrays are and what they weigh, its tree and what was rewritten. Plain
// text is NamedLinop::tree().
//   std::string html = card(A);

#include "tessera/linop/linop.hpp"

namespace tessera {

TESSERA_API std::string card(const NamedLinop& a);

}  // namespace tessera
