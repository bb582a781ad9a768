// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/config.hpp"

#include <cctype>
#include <cstdlib>
#include <type_traits>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

// `meaning`: the setting's own line, which tells bytes from other numbers.
template <class T>
T read(std::string_view name, std::string_view text, std::string_view meaning) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "1" || text == "true" || text == "True" || text == "on") return true;
    if (text == "0" || text == "false" || text == "False" || text == "off") return false;
    throw ArgumentError(
        cat("config.", name, ": '", text, "' is not a truth value; write true or false"));
  } else {
    try {
      return parse_bytes(text);
    } catch (const ArgumentError& e) {
      if (meaning.find("bytes") != meaning.npos)
        throw ArgumentError(cat("config.", name, ": ", e.what()));
      throw ArgumentError(
          cat("config.", name, ": '", text, "' is not a number from 0 on (", meaning, ")"));
    }
  }
}

template <class T>
void from_environment(std::string_view name, std::string_view meaning, Setting<T>& setting) {
  std::string variable = "TESSERA_";
  for (char c : name) variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (const char* text = std::getenv(variable.c_str()); text && *text)
    setting.set(read<T>(variable, text, meaning));
}

}  // namespace

Config::Config() {
#define TESSERA_READ(type, name, initial, text) from_environment<type>(#name, text, name);
  TESSERA_SETTINGS(TESSERA_READ)
#undef TESSERA_READ
}

std::vector<Config::Row> Config::rows() const {
  std::vector<Row> rows;
#define TESSERA_ROW(type, name, initial, text) \
  rows.push_back(                              \
      {#name, to_text(static_cast<type>(name)), to_text(static_cast<type>(initial)), text});
  TESSERA_SETTINGS(TESSERA_ROW)
#undef TESSERA_ROW
  return rows;
}

void Config::set(std::string_view key, std::string_view value) {
#define TESSERA_SET(type, name, initial, text) \
  if (key == #name) return name.set(read<type>(key, value, text));
  TESSERA_SETTINGS(TESSERA_SET)
#undef TESSERA_SET
  throw ArgumentError(cat("config has no setting '", key, "'; ts.config lists them"));
}

std::string Config::value(std::string_view key) const {
#define TESSERA_GET(type, name, initial, text) \
  if (key == #name) return to_text(static_cast<type>(name));
  TESSERA_SETTINGS(TESSERA_GET)
#undef TESSERA_GET
  throw ArgumentError(cat("config has no setting '", key, "'; ts.config lists them"));
}

std::uint64_t Config::of_plans() const {
  std::uint64_t number = 0;
  for (const Setting<bool>* on : {&rewrite, &rewrite_diagonals, &rewrite_filters, &rewrite_phases,
                                  &rewrite_pruning, &rewrite_tiles, &reuse_in_place, &pipeline})
    number = 2 * number + (*on ? 1 : 0);
  for (const Setting<i64>* amount : {&fft_effort, &staging_bytes})
    number = number * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(static_cast<i64>(*amount));
  return number;
}

Config& config() {
  static Config* instance = new Config;  // leaked: outlives every static that may still read it
  return *instance;
}

}  // namespace tessera
