// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/html.hpp"

#include "tessera/base/text.hpp"

namespace tessera::html {

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string element(std::string_view tag, std::string_view content, std::string_view style) {
  const std::string attribute = style.empty() ? std::string() : cat(" style=\"", style, "\"");
  return cat("<", tag, attribute, ">", content, "</", tag, ">");
}

std::string classed(std::string_view tag, std::string_view name, std::string_view content) {
  return cat("<", tag, " class=\"", name, "\">", content, "</", tag, ">");
}

std::string folded(std::string_view title, std::string_view content, bool open) {
  return cat("<details", open ? " open" : "", "><summary>", title, "</summary>", content,
             "</details>");
}

std::string framed(std::string_view name, std::string_view content) {
  return cat("<div class=\"", name, "\" style=\"border:1px solid;border-radius:4px;",
             "display:inline-block;padding:.4em .8em\">", content, "</div>");
}

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

}  // namespace tessera::html
