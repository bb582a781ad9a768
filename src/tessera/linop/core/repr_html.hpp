// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator as people look at it in a notebook: a small piece of HTML with its names, the sizes
// of its dims, where its arrays are and what they weigh, its tree and what was rewritten; and the
// tree and what was rewritten, as plain text.
//   std::string html = repr_html(A);   std::string text = explain(A.N());

#include "tessera/linop/core/linop.hpp"

namespace tessera {

TESSERA_API std::string repr_html(const NamedLinop& a);
// What was rewritten to make it and why, before any input is known; NamedLinop::explain() tells
// what the sizes of one add, and the steps.
TESSERA_API std::string explain(const NamedLinop& a);

}  // namespace tessera
