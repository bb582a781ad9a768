// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which real dtype a GPU is quick in, where nothing was measured: the rate of its float64 units
// over that of its float32 units, by compute capability. Data-centre chips have half as many of
// them, most others one for 32 or 64. Measurements (cost_model.hpp) go before it.
//   double_rate_of({9, 0}) == 0.5

#include <optional>
#include <string_view>

#include "tessera/base/dtype.hpp"

namespace tessera {

// float64 is preferred from this rate on.
inline constexpr double quick_in_double = 0.25;

struct Capability {
  int major = 0, minor = 0;
};

// Of the details of a device ("compute capability 9.0, ..."); nothing where they do not tell.
TESSERA_API std::optional<Capability> capability_in(std::string_view details);
// Nothing for capabilities from before 3.5 and after 12.1.
TESSERA_API std::optional<double> double_rate_of(Capability capability);
// float32 or float64; float64 where the rate is not known: nobody loses digits unasked.
TESSERA_API DType quick_dtype(std::optional<double> rate);

}  // namespace tessera
