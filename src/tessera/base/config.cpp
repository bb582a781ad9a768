// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/config.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

// Settings and their variables: host_budget, TESSERA_HOST_BUDGET.
bool name_of_budget(std::string_view name) {
  return name.ends_with("_budget") || name.ends_with("_BUDGET");
}

template <class T>
std::string written(std::string_view name, T value) {
  if constexpr (!std::is_same_v<T, bool>)
    if (name_of_budget(name)) return budget_text(value);
  return to_text(value);
}

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
      return name_of_budget(name) ? parse_budget(text) : parse_bytes(text);
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
#define TESSERA_ROW(type, name, initial, text)       \
  rows.push_back({#name, written<type>(#name, name), \
                  written<type>(#name, static_cast<type>(initial)), text});
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
  if (key == #name) return written<type>(key, name);
  TESSERA_SETTINGS(TESSERA_GET)
#undef TESSERA_GET
  throw ArgumentError(cat("config has no setting '", key, "'; ts.config lists them"));
}

std::uint64_t Config::of_plans() const {
  std::uint64_t number = 0;
  for (const Setting<bool>* on :
       {&rewrite, &rewrite_diagonals, &rewrite_filters, &rewrite_phases, &rewrite_pruning,
        &rewrite_tiles, &reuse_in_place, &pipeline, &join_sweeps})
    number = 2 * number + (*on ? 1 : 0);
  for (const Setting<i64>* amount : {&fft_effort, &staging_bytes})
    number = number * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(static_cast<i64>(*amount));
  return number;
}

i64 parse_budget(std::string_view text) {
  if (!text.ends_with('%')) return parse_bytes(text);
  double share = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), share);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  require<ArgumentError>(
      ec == std::errc{} && (rest == "%" || rest == " %") && share >= 1e-4 && share <= 100, "'",
      text, "' is not a share of memory; write for example \"50%\"");
  return -static_cast<i64>(std::llround(share * 1e4));
}

i64 budget_bytes(i64 budget, i64 whole) {
  if (budget >= 0) return budget;
  // Of nothing the share is one byte, as 0 would be no limit.
  return std::max<i64>(
      static_cast<i64>(static_cast<double>(whole) * 1e-6 * -static_cast<double>(budget)), 1);
}

std::string budget_text(i64 budget) {
  if (budget >= 0) return to_text(budget);
  const std::string whole = to_text(-budget / 10000), part = to_text(10000 + -budget % 10000);
  const std::size_t last = part.find_last_not_of('0');
  return cat(whole, last == 0 ? "" : ".", part.substr(1, last), "%");
}

Config& config() {
  static Config* instance = new Config;  // leaked: outlives every static that may still read it
  return *instance;
}

}  // namespace tessera
