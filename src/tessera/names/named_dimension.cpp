// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/named_dimension.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tessera {
namespace {

struct Entry {
  std::string word;
  i64 number;
  std::string text;
};

// Names live for the whole process: ids stay valid in statics of any library. The first two are the
// plain wildcards, which need no look-up.
struct Names {
  std::shared_mutex mutex;
  std::deque<Entry> entries{{"()", 0, "()"}, {"...", 0, "..."}};
  std::unordered_map<std::string, std::uint32_t> by_text{{"()", 0}, {"...", 1}};
};
Names& names() {
  static Names* n = new Names;
  return *n;
}

std::string text_of(std::string_view word, i64 number) {
  if (number == 0) return std::string(word);
  if (word == "()") return cat("(", number, ")");
  return cat(word, number);
}

const Entry& entry(std::uint32_t id) {
  Names& n = names();
  std::shared_lock lock(n.mutex);
  return n.entries[id & 0x7fffffffu];  // without the mark of "(n)"; a deque: references stay valid
}

bool digits(std::string_view s) {
  return !s.empty() && s.size() <= 15 &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::pair<std::string_view, i64> split_name(std::string_view text) {
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    const std::string_view inside = text.substr(1, text.size() - 2);
    if (digits(inside)) return {"()", std::stoll(std::string(inside))};
  }
  std::size_t cut = text.size();
  while (cut > 0 && std::isdigit(static_cast<unsigned char>(text[cut - 1]))) --cut;
  const std::string_view tail = text.substr(cut);
  // "B0" and "A01" keep their zeros: a number is written in one way only.
  if (cut == 0 || !digits(tail) || tail.front() == '0') return {text, 0};
  return {text.substr(0, cut), std::stoll(std::string(tail))};
}

}  // namespace

std::uint32_t NamedDimension::intern(std::string_view word, i64 number) {
  if (word == "...") return ellipses_id;
  std::string text = text_of(word, number);
  Names& n = names();
  {
    std::shared_lock lock(n.mutex);
    if (auto it = n.by_text.find(text); it != n.by_text.end()) return it->second;
  }
  std::unique_lock lock(n.mutex);
  const std::uint32_t mark = word == "()" && number > 0 ? any_bit : 0;
  auto [it, fresh] = n.by_text.emplace(text, static_cast<std::uint32_t>(n.entries.size()) | mark);
  if (fresh) n.entries.push_back({std::string(word), number, std::move(text)});
  return it->second;
}

NamedDimension::NamedDimension(std::string_view text) {
  require<DimError>(!text.empty(), "the name of a dimension cannot be empty");
  const auto [word, number] = split_name(text);
  id_ = intern(word, number);
}

NamedDimension::NamedDimension(std::string_view word, i64 number) {
  require<DimError>(!word.empty() && number >= 0, "'", word, "' with number ", number,
                    " is not the name of a dimension");
  const auto [base, own] = split_name(word);
  id_ = own == 0 ? intern(word, number) : intern(base, own + number);
}

std::string_view NamedDimension::word() const { return entry(id_).word; }
i64 NamedDimension::number() const { return entry(id_).number; }
std::string NamedDimension::str() const { return entry(id_).text; }

NamedDimension NamedDimension::operator+(i64 k) const {
  return is_ellipses() ? *this : NamedDimension(word(), number() + k);
}

NamedDimension NamedDimension::next_unused(const Dims& avoid) const {
  NamedDimension candidate = *this;
  if (is_ellipses()) return candidate;
  while (contains(avoid, candidate)) candidate = candidate + 1;
  return candidate;
}

Dims dims(std::string_view text) {
  Dims result;
  std::size_t i = 0;
  const auto separates = [](unsigned char c) { return c == ',' || std::isspace(c); };
  const std::size_t other = text.find_first_of(";:/|\\&+");
  require<DimError>(other == std::string_view::npos, "'", text, "' has a '",
                    other == std::string_view::npos ? "" : text.substr(other, 1),
                    "'; names are separated by commas, spaces or the capital letters that they "
                    "begin with: 'Nx, Ny', 'Nx Ny' or 'NxNy'");
  while (i < text.size()) {
    if (separates(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (text.substr(i, 3) == "...") {
      end = i + 3;
    } else if (text[i] == '(') {
      end = text.find(')', i);
      require<DimError>(end != std::string_view::npos, "'", text,
                        "' opens a '(' that it does not close");
      ++end;
    } else {
      while (end < text.size() && !std::isupper(static_cast<unsigned char>(text[end])) &&
             text[end] != '(' && text[end] != '.' && !separates(text[end]))
        ++end;
    }
    result.push_back(NamedDimension(text.substr(i, end - i)));
    i = end;
  }
  return result;
}

std::string to_text(const Dims& d) {
  return d.size() == 1 ? cat("(", d[0], ",)") : cat("(", join(d), ")");
}

bool contains(const Dims& d, NamedDimension n) {
  return std::find(d.begin(), d.end(), n) != d.end();
}

bool has_ellipses(const Dims& d) {
  return std::any_of(d.begin(), d.end(), [](NamedDimension n) { return n.is_ellipses(); });
}

}  // namespace tessera
