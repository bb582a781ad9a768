// SPDX-License-Identifier: Apache-2.0
#pragma once
// Joins values into a sentence: `cat("axis ", 3, " of ", shape)`. Anything with a `std::string
// str() const` member, a `to_text` overload, a number, a bool or a string can be a part. It does
// not do formats (widths, precision): use fmt in a .cpp for those.
//   std::string s = cat("shape ", shape, " on ", device);

#include <concepts>
#include <initializer_list>
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

// One part of a sentence as it was given, and how it becomes text. The sentence is put together in
// one place, so a file that has something to say compiles little more than a list of these. Numbers
// are held, for a variable whose address is taken is not kept in a register; the rest is referred
// to.
struct TextPart {
  union {
    const void* object;
    i64 integer;
    std::uint64_t natural;
    double real;
  };
  void (*append)(std::string& to, const TextPart& part);
};
using TextParts = std::initializer_list<TextPart>;

TESSERA_API void append_bool(std::string& to, const TextPart& part);
TESSERA_API void append_letter(std::string& to, const TextPart& part);
TESSERA_API void append_letters(std::string& to, const TextPart& part);
TESSERA_API void append_integer(std::string& to, const TextPart& part);
TESSERA_API void append_natural(std::string& to, const TextPart& part);
TESSERA_API void append_real(std::string& to, const TextPart& part);
template <class T>
void append_object(std::string& to, const TextPart& part) {
  to.append(to_text(*static_cast<const T*>(part.object)));
}
extern template TESSERA_API void append_object<std::string>(std::string&, const TextPart&);
extern template TESSERA_API void append_object<std::string_view>(std::string&, const TextPart&);

template <class T>
TextPart text_part(const T& part) {
  TextPart p{};
  if constexpr (std::same_as<T, bool>) {
    p.integer = part;
    p.append = append_bool;
  } else if constexpr (std::same_as<T, char>) {
    p.integer = part;
    p.append = append_letter;
  } else if constexpr (std::signed_integral<T>) {
    p.integer = part;
    p.append = append_integer;
  } else if constexpr (std::integral<T>) {
    p.natural = part;
    p.append = append_natural;
  } else if constexpr (std::floating_point<T>) {
    p.real = part;
    p.append = append_real;
  } else if constexpr (std::convertible_to<const T&, const char*>) {
    p.object = static_cast<const char*>(part);
    p.append = append_letters;
  } else {
    p.object = &part;
    p.append = append_object<T>;
  }
  return p;
}
TESSERA_API std::string text_of_parts(TextParts parts);

template <class... Parts>
std::string cat(const Parts&... parts) {
  return text_of_parts({text_part(parts)...});
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
