// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of HTML for cards in notebooks and for pages: text that stays text, elements, folds. No
// templates and no parser: what is inside an element is trusted to be markup already.
//   std::string row = element("tr", element("td", escaped(name), "padding:0 1em"));

#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera::html {

// Nothing of the text is markup any more, in content and in quoted attributes.
TESSERA_API std::string escaped(std::string_view text);
// <tag style="style">content</tag>; `content` is markup.
TESSERA_API std::string element(std::string_view tag, std::string_view content,
                                std::string_view style = {});
// <tag class="name">content</tag>
TESSERA_API std::string classed(std::string_view tag, std::string_view name,
                                std::string_view content);
// A title that shows and hides the content.
TESSERA_API std::string folded(std::string_view title, std::string_view content, bool open);
// The frame of a card: transparent, in the colours of the page around it.
TESSERA_API std::string framed(std::string_view name, std::string_view content);
// JSON that may stand between <script> tags: no "<" ends or opens anything.
TESSERA_API std::string script_safe(std::string_view json);

}  // namespace tessera::html
