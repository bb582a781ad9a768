// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this thread did last, in two channels that do not disturb each other: kernels and input or
// output. For tests and for whoever asks "which route did this take?"; nothing reads it to decide.
// A tag is `<where>.<what>[.<operands>].<dtype>`: its words are literals, joined only when asked.
// Kernels that are started one by one tag themselves; an operation made of several has one tag.
//   tag_kernel("cpu", "matmul", "bitbit_popcount");   last_tag(Channel::kernel)

#include <string>
#include <string_view>

#include "tessera/base/dtype.hpp"

namespace tessera {

enum class Channel { kernel, io };

// The words must outlive the thread (literals, names of dtypes); an empty detail is left out.
TESSERA_API void tag_kernel(std::string_view where, std::string_view what,
                            std::string_view detail = {}) noexcept;
// A kernel that was started on its own: its tag, unless it is part of an operation that has one.
TESSERA_API void tag_launch(std::string_view where, std::string_view what, DType dtype) noexcept;
TESSERA_API std::string_view tag_word(DType t) noexcept;  // "f64", "c64", "bit", ...
TESSERA_API void tag_io(std::string_view what) noexcept;  // "prefetch" gives io.prefetch

TESSERA_API std::string last_tag(Channel channel);  // "" since the start or the last clear
TESSERA_API void clear_tag(Channel channel) noexcept;

// An operation of this thread that is made of several kernels: while it lives they leave no tags.
class TESSERA_API TagScope {
 public:
  TagScope() noexcept;  // the operation says what it is, by tag_kernel
  TagScope(std::string_view where, std::string_view what, DType dtype) noexcept;  // tag_launch
  ~TagScope();
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;
};

}  // namespace tessera
