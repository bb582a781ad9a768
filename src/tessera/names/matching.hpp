// SPDX-License-Identifier: Apache-2.0
#pragma once
// When two lists of names can mean the same dims: each side is a pattern ("..." any number, "()"
// one), and they match when some list of plain names satisfies both. Decided exactly, by dynamic
// programming.
//   isequal(dims("...A"), dims("BA")).matched;    resolve_wildcards(dims("C..."), dims("CKxKy"))

#include <optional>
#include <vector>

#include "tessera/names/named_dimension.hpp"

namespace tessera {

struct Match {
  bool matched = false;
  std::vector<std::vector<i64>>
      map;  // for each of the first list's names, its partners in the second
  explicit operator bool() const { return matched; }
};

TESSERA_API Match isequal(const Dims& a, const Dims& b);
// Only the lengths need to agree.
TESSERA_API Match iscompatible(const Dims& a, const Dims& b);
// Wildcards of `shape` replaced by what they match in `target`; unchanged when they do not match.
TESSERA_API Dims resolve_wildcards(const Dims& shape, const Dims& target);
// The most definite of several shapes: plain names win over wildcards, and of one word the larger
// number. DimError when the lengths cannot agree or two words face each other.
TESSERA_API Dims max_shape(const std::vector<Dims>& shapes);

}  // namespace tessera
