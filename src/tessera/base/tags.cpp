// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/tags.hpp"

#include <array>

namespace tessera {
namespace {

struct Tag {
  std::array<std::string_view, 3> words;
};
// In one place: finding it takes longer than writing to it.
struct Mine {
  std::array<Tag, 2> last;
  int scopes = 0;  // that are open
};
constinit thread_local Mine mine;

constexpr std::array<std::string_view, dtype_count> words_of_dtypes{
    "bit", "i8",  "i16",  "i32", "i64", "u8",  "u16", "u32",
    "u64", "f16", "bf16", "f32", "f64", "c64", "c128"};

Tag& last_of(Channel channel) { return mine.last[static_cast<std::size_t>(channel)]; }

}  // namespace

void tag_kernel(std::string_view where, std::string_view what, std::string_view detail) noexcept {
  last_of(Channel::kernel) = {{where, what, detail}};
}

std::string_view tag_word(DType t) noexcept { return words_of_dtypes[static_cast<std::size_t>(t)]; }

void tag_launch(std::string_view where, std::string_view what, DType dtype) noexcept {
  Mine& m = mine;
  if (m.scopes == 0)
    m.last[static_cast<std::size_t>(Channel::kernel)] = {{where, what, tag_word(dtype)}};
}

TagScope::TagScope() noexcept { ++mine.scopes; }
TagScope::TagScope(std::string_view where, std::string_view what, DType dtype) noexcept {
  tag_launch(where, what, dtype);
  ++mine.scopes;
}
TagScope::~TagScope() { --mine.scopes; }

void tag_io(std::string_view what) noexcept { last_of(Channel::io) = {{"io", what, {}}}; }

std::string last_tag(Channel channel) {
  std::string text;
  for (const std::string_view word : last_of(channel).words) {
    if (word.empty()) continue;
    if (!text.empty()) text += '.';
    text += word;
  }
  return text;
}

void clear_tag(Channel channel) noexcept { last_of(channel) = {}; }

}  // namespace tessera
