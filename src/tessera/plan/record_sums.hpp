// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that add to what is there: sums of operators without a temporary for each term.
//   record::add_matmul(r, w, x, y, false);   // y += w x

#include "tessera/plan/recorder.hpp"

namespace tessera::record {

// y += a b, conj(a) where said; shapes as for matmul.
TESSERA_API void add_matmul(Recorder& r, const View& a, const View& b, const View& y, bool conj_a);
// y += a b, broadcast.
TESSERA_API void add_product(Recorder& r, const View& a, const View& b, const View& y);

}  // namespace tessera::record
