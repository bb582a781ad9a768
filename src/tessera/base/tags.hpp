// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this thread did last, in two channels that do not disturb each other: kernels and input or
// output. For tests and for whoever asks "which route did this take?"; nothing reads it to decide.
// A tag is `<where>.<what>[.<operands>].<dtype>`: its words are literals, joined only when asked.
//   tag_kernel("cpu", "matmul", "bitbit_popcount");   last_tag(Channel::kernel)

#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera {

enum class Channel { kernel, io };

// The words must outlive the thread (literals, names of dtypes); an empty detail is left out.
TESSERA_API void tag_kernel(std::string_view where, std::string_view what,
                            std::string_view detail = {}) noexcept;
TESSERA_API void tag_io(std::string_view what) noexcept;  // "prefetch" gives io.prefetch

TESSERA_API std::string last_tag(Channel channel);  // "" since the start or the last clear
TESSERA_API void clear_tag(Channel channel) noexcept;

}  // namespace tessera
