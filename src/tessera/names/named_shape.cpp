// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/named_shape.hpp"

#include <algorithm>

namespace tessera {
namespace {

NamedDimCollection collection_of(const NamedShape& s) {
  NamedDimCollection c{{"ishape", s.ishape}, {"oshape", s.oshape}};
  for (const auto& [name, group] : s.others) c.add(name, group);
  return c;
}

NamedShape shape_of(const NamedDimCollection& c) {
  NamedShape s(c["ishape"].dims, c["oshape"].dims);
  s.others.assign(c.entries().begin() + 2, c.entries().end());
  return s;
}

}  // namespace

NamedShape::NamedShape(const NamedShape&) = default;
NamedShape::NamedShape(NamedShape&&) noexcept = default;
NamedShape& NamedShape::operator=(const NamedShape&) = default;
NamedShape& NamedShape::operator=(NamedShape&&) noexcept = default;
NamedShape::~NamedShape() = default;

NamedShape NamedShape::H() const { return {oshape, ishape, others}; }

NamedShape NamedShape::N() const {
  NamedShape n(ishape, ishape, others);
  Dims taken = ishape;
  for (NamedDimension& d : n.oshape) {
    if (contains(oshape, d)) continue;
    d = d.next_unused(taken);
    taken.push_back(d);
  }
  return n;
}

const NameGroup& NamedShape::other(std::string_view name) const {
  for (const auto& [key, group] : others)
    if (key == name) return group;
  throw DimError(cat("NamedShape ", *this, " has no shape '", name, "'"));
}

NamedShape NamedShape::with(std::string_view name, NameGroup group) const {
  NamedDimCollection c = collection_of(*this);
  c.set(name, std::move(group));
  return shape_of(c);
}

NamedShape NamedShape::renamed(const Renames& renames) const {
  NamedDimCollection c = collection_of(*this);
  c.rename(renames);
  return shape_of(c);
}

std::string NamedShape::str() const { return cat(to_text(ishape), " -> ", to_text(oshape)); }

NamedShape operator+(const NamedShape& a, const NamedShape& b) {
  NamedShape s = a;
  s.ishape.append(b.ishape);
  s.oshape.append(b.oshape);
  for (const NamedDimCollection::Entry& e : b.others) {
    const auto same = std::find_if(s.others.begin(), s.others.end(),
                                   [&](const auto& known) { return known.first == e.first; });
    require<DimError>(same == s.others.end() || same->second == e.second, "NamedShape: the shape '",
                      e.first, "' is ", same == s.others.end() ? e.second : same->second,
                      " in one and ", e.second, " in the other");
    if (same == s.others.end()) s.others.push_back(e);
  }
  return s;
}

Dims nd_shape(i64 ndim, bool kspace) {
  require<ArgumentError>(ndim >= 1 && ndim <= 3, "names: a grid has 1, 2 or 3 dims, got ", ndim);
  const Dims all = dims(kspace ? "KxKyKz" : "NxNyNz");
  return Dims(all.begin(), all.begin() + ndim);
}

Dims dims_of(const NamedShape& s) {
  Dims all;
  for (const Dims* side : {&s.ishape, &s.oshape})
    for (NamedDimension d : *side)
      if (!contains(all, d)) all.push_back(d);
  return all;
}

}  // namespace tessera
