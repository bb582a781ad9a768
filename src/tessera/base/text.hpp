// SPDX-License-Identifier: Apache-2.0
#pragma once
// Joins values into a sentence: `cat("axis ", 3, " of ", shape)`. Anything with a `std::string
// str() const` member, a `to_text` overload, a number, a bool or a string can be a part. It does
// not do formats (widths, precision): use fmt in a .cpp for those.
//   std::string s = cat("shape ", shape, " on ", device);

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "tessera/base/api.hpp"

namespace tessera {

TESSERA_API std::string to_text(double v);
inline std::string to_text(float v) { return to_text(static_cast<double>(v)); }
inline std::string to_text(bool v) { return v ? "true" : "false"; }
inline std::string to_text(std::string_view s) { return std::string(s); }
inline std::string to_text(const char* s) { return s; }
inline std::string to_text(const std::string& s) { return s; }
inline std::string to_text(char c) { return std::string(1, c); }
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) std::string to_text(T v) {
  return std::to_string(v);
}
template <class T>
requires requires(const T& t) {
  { t.str() } -> std::convertible_to<std::string>;
}
std::string to_text(const T& t) { return t.str(); }

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string s;
  (s.append(to_text(parts)), ...);
  return s;
}

// "a, b, c" of a range.
template <class Range>
std::string join(const Range& range, std::string_view separator = ", ") {
  std::string s;
  bool first = true;
  for (const auto& item : range) {
    if (!first) s.append(separator);
    s.append(to_text(item));
    first = false;
  }
  return s;
}

// 1536 -> "1.5 KiB": bytes as people read them, exact below 1 KiB.
TESSERA_API std::string bytes_text(i64 bytes);
// "2GiB", "512 MB", "4096" -> bytes; throws ArgumentError with the text given.
TESSERA_API i64 parse_bytes(std::string_view text);

}  // namespace tessera
