// SPDX-License-Identifier: Apache-2.0
#pragma once
// A distributed array as people look at it in a notebook: a small piece of HTML with its shape, its
// dtype and what each rank holds. Elements are not shown and nothing is sent: text with elements is
// distributed/array/print.hpp.
//   std::string html = repr_html(x);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API std::string repr_html(const DNDarray& x);

}  // namespace tessera::dist
