// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/tags.hpp"

#include <array>

namespace tessera {
namespace {

struct Tag {
  std::array<std::string_view, 3> words;
};
constinit thread_local std::array<Tag, 2> last;

Tag& last_of(Channel channel) { return last[static_cast<std::size_t>(channel)]; }

}  // namespace

void tag_kernel(std::string_view where, std::string_view what, std::string_view detail) noexcept {
  last_of(Channel::kernel) = {{where, what, detail}};
}

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
