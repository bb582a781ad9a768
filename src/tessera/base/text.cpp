// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tessera/base/error.hpp"

namespace tessera {

std::string to_text(double v) {
  std::array<char, 32> buffer;
  auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return std::string(buffer.data(), end);
}

void append_bool(std::string& to, const TextPart& part) { to += to_text(part.integer != 0); }
void append_letter(std::string& to, const TextPart& part) { to += static_cast<char>(part.integer); }
void append_letters(std::string& to, const TextPart& part) {
  to += static_cast<const char*>(part.object);
}
void append_integer(std::string& to, const TextPart& part) { to += std::to_string(part.integer); }
void append_natural(std::string& to, const TextPart& part) { to += std::to_string(part.natural); }
void append_real(std::string& to, const TextPart& part) { to += to_text(part.real); }
template void append_object<std::string>(std::string&, const TextPart&);
template void append_object<std::string_view>(std::string&, const TextPart&);

std::string text_of_parts(TextParts parts) {
  std::string s;
  for (const TextPart& part : parts) part.append(s, part);
  return s;
}

std::string bytes_text(i64 bytes) {
  static constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return cat(bytes, " B");
  double v = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (v /= 1024; v >= 1024 && unit + 1 < units.size(); v /= 1024) ++unit;
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), v < 10 ? "%.2f %s" : "%.1f %s", v, units[unit]);
  return buffer.data();
}

i64 parse_bytes(std::string_view text) {
  double value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (!std::isspace(static_cast<unsigned char>(*c)))
      unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  const std::string_view letters = "kmgtp";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::string letter(1, letters[i]);
    if (unit == letter + "ib" || unit == letter) scale = std::pow(1024.0, i + 1);
    if (unit == letter + "b") scale = std::pow(1000.0, i + 1);
  }
  require<ArgumentError>(
      ec == std::errc{} && scale > 0 && value >= 0 && value * scale < 9e18, "'", text,
      "' is not a number of bytes; write for example 4096, \"512MB\" or \"2GiB\"");
  return static_cast<i64>(value * scale);
}

}  // namespace tessera
