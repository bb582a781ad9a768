// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/named_dim_collection.hpp"

#include <algorithm>

namespace tessera {
namespace {

using GroupKind = NameGroup::Kind;

// Neighbouring "..." mean no more than one.
Dims coalesced(const Dims& d) {
  Dims r;
  for (NamedDimension n : d)
    if (!n.is_ellipses() || r.empty() || !r.back().is_ellipses()) r.push_back(n);
  return r;
}

void check_group(std::string_view name, const NameGroup& g) {
  if (g.kind != GroupKind::mapping) return;
  for (i64 i = 0; i < g.dims.size(); ++i) {
    require<DimError>(!g.dims[i].is_wildcard(), "NamedDimCollection: the mapping '", name,
                      "' cannot have the wildcard ", g.dims[i], " as a key");
    for (i64 j = 0; j < i; ++j)
      require<DimError>(g.dims[i] != g.dims[j], "NamedDimCollection: the mapping '", name,
                        "' would have the key ", g.dims[i], " twice");
  }
}

// Old and new names that face each other, where both are plain.
Renames renames_of(std::string_view name, const NameGroup& before, const NameGroup& after) {
  const Match m = iscompatible(before.dims, after.dims);
  require<DimError>(m.matched, "NamedDimCollection: '", name, "' is ", before, ", and ", after,
                    " is not compatible with it in length");
  Renames r;
  for (i64 i = 0; i < before.dims.size(); ++i) {
    const NamedDimension old = before.dims[i];
    if (old.is_wildcard()) continue;
    for (const i64 j : m.map[static_cast<std::size_t>(i)]) {
      const NamedDimension fresh = after.dims[j];
      if (fresh.is_wildcard()) continue;
      const auto known =
          std::find_if(r.begin(), r.end(), [&](const auto& pair) { return pair.first == old; });
      require<DimError>(known == r.end() || known->second == fresh, "NamedDimCollection: '", name,
                        "' from ", before, " to ", after, " is an inconsistent mapping: ", old,
                        " would become both ", known == r.end() ? fresh : known->second, " and ",
                        fresh);
      if (known == r.end()) r.emplace_back(old, fresh);
    }
  }
  return r;
}

}  // namespace

Dims rename(const Dims& d, const Renames& renames) {
  Dims r = d;
  for (NamedDimension& n : r)
    for (const auto& [from, to] : renames)
      if (n == from) {
        n = to;
        break;
      }
  return r;
}

NameGroup::NameGroup(const std::vector<std::pair<NamedDimension, i64>>& mapping)
    : kind(GroupKind::mapping) {
  for (const auto& [d, value] : mapping) {
    dims.push_back(d);
    values.push_back(value);
  }
}

std::string NameGroup::str() const {
  if (kind == GroupKind::list) return to_text(dims);
  if (kind == GroupKind::one) return dims[0].str();
  std::string text = "{";
  for (i64 i = 0; i < dims.size(); ++i)
    text += cat(i ? ", " : "", dims[i], ": ", values[static_cast<std::size_t>(i)]);
  return text + "}";
}

NamedDimCollection::NamedDimCollection(std::initializer_list<Entry> entries) {
  for (const auto& [name, group] : entries) add(name, group);
}

bool NamedDimCollection::contains(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.first == name; });
}

const NameGroup& NamedDimCollection::operator[](std::string_view name) const {
  for (const Entry& e : entries_)
    if (e.first == name) return e.second;
  throw DimError(cat("NamedDimCollection: no shape '", name, "' in ", *this));
}

void NamedDimCollection::add(std::string name, NameGroup group) {
  require<DimError>(!contains(name), "NamedDimCollection: the shape '", name,
                    "' is there already: ", *this);
  check_group(name, group);
  if (group.kind == GroupKind::list) group.dims = coalesced(group.dims);
  entries_.emplace_back(std::move(name), std::move(group));
}

void NamedDimCollection::set(std::string_view name, NameGroup group) {
  if (!contains(name)) return add(std::string(name), std::move(group));
  const NameGroup& before = (*this)[name];
  require<DimError>(before.kind != GroupKind::one || group.kind == GroupKind::one,
                    "NamedDimCollection: '", name, "' is the single name ", before,
                    " and cannot become the non-singleton ", group);
  require<DimError>((before.kind == GroupKind::mapping) == (group.kind == GroupKind::mapping) &&
                        (before.kind == GroupKind::one || group.kind != GroupKind::one),
                    "NamedDimCollection: '", name, "' is ", before, " and cannot become ", group,
                    ", which is of another kind");
  check_group(name, group);
  if (group.kind == GroupKind::list) group.dims = coalesced(group.dims);
  NamedDimCollection fresh = *this;
  fresh.rename(renames_of(name, before, group));
  for (Entry& e : fresh.entries_)
    if (e.first == name) e.second = std::move(group);
  *this = std::move(fresh);
}

void NamedDimCollection::update(const std::vector<Entry>& entries) {
  NamedDimCollection fresh = *this;
  for (const auto& [name, group] : entries) fresh.set(name, group);
  *this = std::move(fresh);
}

void NamedDimCollection::rename(const Renames& renames) {
  NamedDimCollection fresh = *this;
  for (auto& [name, group] : fresh.entries_) {
    group.dims = tessera::rename(group.dims, renames);
    check_group(name, group);
    if (group.kind == GroupKind::list) group.dims = coalesced(group.dims);
  }
  *this = std::move(fresh);
}

std::string NamedDimCollection::str() const {
  std::string text;
  for (const auto& [name, group] : entries_)
    text += cat(text.empty() ? "" : ", ", name, "=", group);
  return text;
}

}  // namespace tessera
