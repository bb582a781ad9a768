// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several shapes over one pool of names, each under a word of its own: when one of them gets other
// names, the same dims are renamed in all. It knows no sizes and no operators.
//   NamedDimCollection c{{"in", dims("AB")}, {"out", dims("BC")}};
//   c.set("in", dims("BA"));   to_text(c["out"].dims) == "(A, C)"   // all renames at once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tessera/names/matching.hpp"

namespace tessera {

// (old, new) pairs, applied at once: {A: B, B: A} swaps.
using Renames = std::vector<std::pair<NamedDimension, NamedDimension>>;
TESSERA_API Dims rename(const Dims& d, const Renames& renames);

// A list of names, one name alone, or names that each carry a number.
struct TESSERA_API NameGroup {
  enum class Kind : std::uint8_t { list, one, mapping };
  Kind kind = Kind::list;
  Dims dims;
  std::vector<i64> values;  // of a mapping, one a name

  NameGroup() = default;
  NameGroup(Dims list) : dims(std::move(list)) {}
  NameGroup(NamedDimension one) : kind(Kind::one), dims{one} {}
  NameGroup(const std::vector<std::pair<NamedDimension, i64>>& mapping);
  std::string str() const;  // "(A, B)", "A", "{A: 2, B: 3}"
  friend bool operator==(const NameGroup& a, const NameGroup& b) = default;
};

class TESSERA_API NamedDimCollection {
 public:
  using Entry = std::pair<std::string, NameGroup>;
  NamedDimCollection() = default;
  NamedDimCollection(std::initializer_list<Entry> entries);

  bool contains(std::string_view name) const;
  const NameGroup& operator[](std::string_view name) const;       // DimError for an unknown one
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of adding
  void add(std::string name, NameGroup group);                    // DimError when it is there

  // Note [renaming by assignment]: the shape becomes `group`. Where an old name and a new one face
  // each other and neither is a wildcard, that is a rename of the dim in every shape; wildcards on
  // either side change this shape only. Two dims that get one name are one dim from then on. Lists
  // must be compatible in length, one name stays one name, a mapping keeps its number of keys, and
  // an old name gets one new name ("inconsistent mapping" otherwise). What is refused (DimError)
  // changes nothing. An unknown name is added.
  void set(std::string_view name, NameGroup group);
  void update(const std::vector<Entry>& entries);  // one after another; all or nothing
  void rename(const Renames& renames);
  std::string str() const;  // "in=(A, B), out=(B, C)"

 private:
  std::vector<Entry> entries_;
};

}  // namespace tessera
