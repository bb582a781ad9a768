// SPDX-License-Identifier: Apache-2.0
#pragma once
// The name of a dimension: a word and a number ("Nx", "Nx1"), interned, so that comparing and
// copying cost nothing. Wildcards are names too: "..." stands for any number of dims, "()" for
// exactly one, "(1)", "(2)" for distinct ones. No size: sizes belong to operators and arrays.
//   NamedDimension x("Nx");   x.next_unused({x}).str() == "Nx1";   Dims d = dims("CNxNy");

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/base/small_vec.hpp"

namespace tessera {

class NamedDimension;
using Dims = SmallVec<NamedDimension, 6>;

class TESSERA_API NamedDimension {
 public:
  NamedDimension() = default;             // "()"
  NamedDimension(std::string_view text);  // as infer: "Nx1" is word "Nx", number 1
  NamedDimension(const char* text) : NamedDimension(std::string_view(text)) {}
  NamedDimension(std::string_view word, i64 number);
  static NamedDimension ellipses() { return NamedDimension(ellipses_id); }

  std::string_view word() const;
  i64 number() const;
  std::string str() const;  // "Nx1"; "(2)" for an ordinal wildcard
  bool is_ellipses() const { return id_ == ellipses_id; }
  bool is_any() const { return id_ == 0 || (id_ & any_bit) != 0; }  // "()" and "(n)"
  bool is_wildcard() const { return is_any() || is_ellipses(); }
  NamedDimension operator+(i64 k) const;  // number + k; "..." stays
  // The next name with this word that `avoid` does not hold; itself when it is free.
  NamedDimension next_unused(const Dims& avoid) const;
  std::uint32_t id() const { return id_; }
  friend bool operator==(NamedDimension a, NamedDimension b) { return a.id_ == b.id_; }

 private:
  // What is asked most often is in the id itself: 0 is "()", 1 is "...", the top bit marks "(n)".
  static constexpr std::uint32_t ellipses_id = 1, any_bit = 0x80000000u;
  explicit NamedDimension(std::uint32_t id) : id_(id) {}
  static std::uint32_t intern(std::string_view word, i64 number);

  std::uint32_t id_ = 0;
};

using ND = NamedDimension;

// "NxNyNz" -> (Nx, Ny, Nz): a dim starts at each capital letter, at "(" and at "...".
TESSERA_API Dims dims(std::string_view text);
TESSERA_API std::string to_text(const Dims& d);  // "(Nx, Ny)"
TESSERA_API bool contains(const Dims& d, NamedDimension n);
TESSERA_API bool has_ellipses(const Dims& d);

}  // namespace tessera
