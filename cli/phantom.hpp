// SPDX-License-Identifier: Apache-2.0
#pragma once
// The made-up scan of the demo: a head of ellipses, the maps of receiver coils around it, and the
// lines of the spatial spectrum that were measured. Plain numbers; no operators and no devices.
//   std::vector<float> head = head_phantom(256);

#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera::cli {

// n × n values between 0 and 1: the modified Shepp–Logan head.
std::vector<float> head_phantom(i64 n);

// coils × n × n: smooth complex maps, one per coil on a circle around the head; at each point the
// squares of their magnitudes sum to one.
std::vector<std::complex<float>> coil_maps(i64 coils, i64 n);

// One flag per row of the spectrum (zero frequency at n/2): a fully measured centre, and elsewhere
// one random row in each block of `acceleration` rows. The same rows for the same seed everywhere.
std::vector<bool> sampled_rows(i64 n, i64 acceleration, std::uint64_t seed);

}  // namespace tessera::cli
