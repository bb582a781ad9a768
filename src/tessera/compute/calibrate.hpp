// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures what operations cost on the devices of this machine, in a few seconds at most, and keeps
// the measurement in the user's cache folder keyed by the machine. Random data, never zeros.
//   CostModel costs = cached_costs(cost_cache_path(), {cpu, gpu});

#include <span>
#include <string>

#include "tessera/compute/cost_model.hpp"

namespace tessera {

inline constexpr double calibration_seconds = 3;  // of all devices together, at most

// Each operation and dtype at growing sizes, round by round until nine tenths of `seconds` are used
// up, so that what is quick is measured at larger sizes than what is slow; arrays on their way to
// and from the host; the rate of the memory. Every operation is measured once, and after that
// nothing is begun that is not expected to end in time. Where the better device changes from one
// size to the next, a size between them is measured too. What a device cannot do is left out;
// devices that `known` has are not measured again but for such sizes.
TESSERA_API CostModel calibrate(std::span<const Device> devices,
                                double seconds = calibration_seconds, CostModel known = {});
// The measurement of this machine in the file at `path`; devices that it does not know are measured
// and written there. A file that is missing, damaged or of another machine is replaced; one that
// cannot be written is no error. "": measures all and writes nothing.
TESSERA_API CostModel cached_costs(const std::string& path, std::span<const Device> devices,
                                   double seconds = calibration_seconds);
// $XDG_CACHE_HOME/tessera/costs.txt, or the same under ~/.cache; "" where there is neither.
TESSERA_API std::string cost_cache_path();
// The first line of that file: the machine, and which kernels its BLAS has.
TESSERA_API std::string cost_cache_key();

}  // namespace tessera
