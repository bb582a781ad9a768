// SPDX-License-Identifier: Apache-2.0
#pragma once
// The named input and output of an operator. Immutable value. A name on both sides means: the
// operator acts point by point along it.
//   NamedShape s(dims("AB"), dims("BC"));   s.H() is (B, C) -> (A, B);   s.N() is (A, B) -> (A1, B)

#include <optional>
#include <utility>
#include <vector>

#include "tessera/names/matching.hpp"

namespace tessera {

struct TESSERA_API NamedShape {
  Dims ishape, oshape;

  NamedShape() : NamedShape(Dims{NamedDimension::ellipses()}) {}
  explicit NamedShape(Dims both) : ishape(both), oshape(std::move(both)) {}
  NamedShape(Dims in, Dims out) : ishape(std::move(in)), oshape(std::move(out)) {}

  NamedShape H() const { return {oshape, ishape}; }
  // Input kept; an output dim is the input's where both sides have it, else its next unused name.
  NamedShape N() const;
  std::string str() const;  // "(A, B) -> (C,)"
  friend NamedShape operator+(const NamedShape& a, const NamedShape& b);
  // Wildcards match: not transitive.
  friend bool operator==(const NamedShape& a, const NamedShape& b) {
    return isequal(a.ishape, b.ishape).matched && isequal(a.oshape, b.oshape).matched;
  }
};
TESSERA_API NamedShape operator+(const NamedShape& a, const NamedShape& b);

// (old, new) pairs, applied at once: {A: B, B: A} swaps.
using Renames = std::vector<std::pair<NamedDimension, NamedDimension>>;
TESSERA_API Dims rename(const Dims& d, const Renames& renames);

}  // namespace tessera
