// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our own plans for batches of dense lines of any length: products of small primes by
// passes (smooth_lines.hpp), other lengths as a convolution of such a length (chirp_lines.hpp). Real
// lines of even length are complex ones of half the length whose result is taken apart; of odd
// length two of them are the parts of one complex line. Private to the cpu's FFT.
//   auto plan = make_own_plan({.single = true, .points = 510, .lines = 8, ...});

#include "tessera/kernels/fft/line_plan.hpp"

namespace tessera {

TESSERA_API std::shared_ptr<const LinePlan> make_own_plan(const LineKey& key);

}  // namespace tessera
