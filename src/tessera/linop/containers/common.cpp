// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/common.hpp"

#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/containers/remote_tile.hpp"

#include <algorithm>

#include "tessera/linop/ops/basic/zero.hpp"

namespace tessera {
namespace {
void require_same_size(std::string_view who, NamedDimension d, const std::optional<i64>& known,
                       i64 n, const NamedLinop& a) {
  require<DimError>(!known || n == *known, who, ": dim '", d, "' is ", known.value_or(0),
                    " in one part and ", n, " in ", a);
}
}  // namespace

std::optional<i64> common_size(std::string_view who, const std::vector<NamedLinop>& operators,
                               NamedDimension d) {
  std::optional<i64> known;
  for (const NamedLinop& a : operators) {
    const std::optional<i64> n = a.size(d);
    if (!n || !contains(a.dims(), d)) continue;  // what it calls so inside is another dim
    require_same_size(who, d, known, *n, a);
    known = n;
  }
  return known;
}

std::optional<NamedDimension> common_same_size(const std::vector<NamedLinop>& operators,
                                               NamedDimension d) {
  for (const NamedLinop& a : operators)
    if (const auto other = a.same_size(d)) return other;
  return std::nullopt;
}

CommonSizes::CommonSizes(std::string_view who, const std::vector<NamedLinop>& operators) {
  for (const NamedLinop& a : operators)
    for (NamedDimension d : a.dims()) {
      const std::optional<i64> n = d.is_wildcard() ? std::nullopt : a.size(d);
      if (!n) continue;
      const auto [it, fresh] = sizes_.emplace(d.id(), *n);
      if (!fresh) require_same_size(who, d, it->second, *n, a);
    }
}

std::optional<i64> CommonSizes::operator()(NamedDimension d) const {
  const auto it = sizes_.find(d.id());
  return it == sizes_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<Device> common_device_of(const std::vector<NamedLinop>& operators) {
  for (const NamedLinop& a : operators)
    if (const std::optional<Device> d = a.device()) return d;
  return std::nullopt;
}

std::vector<NamedLinop> adjoints(const std::vector<NamedLinop>& operators) {
  std::vector<NamedLinop> all;
  all.reserve(operators.size());
  for (const NamedLinop& a : operators) all.push_back(a.H());
  return all;
}

std::vector<NamedLinop> renamed_all(const std::vector<NamedLinop>& operators, const Renames& r) {
  std::vector<NamedLinop> all;
  all.reserve(operators.size());
  for (const NamedLinop& a : operators) all.push_back(a.rename(r));
  return all;
}

std::vector<NamedLinop> normals_alike(const std::vector<NamedLinop>& operators) {
  std::vector<NamedLinop> normals;
  normals.reserve(operators.size());
  for (const NamedLinop& a : operators) normals.push_back(a.N());
  Dims common = normals.front().oshape();
  for (const NamedLinop& n : normals) {
    const Dims in = n.ishape(), out = n.oshape();
    if (out.size() != common.size()) return {};
    for (i64 i = 0; i < out.size(); ++i) {
      if (out[i].is_wildcard() != common[i].is_wildcard()) return {};  // no name to be cut by
      if (!contains(in, out[i])) common[i] = out[i];
    }
  }
  for (NamedLinop& n : normals)
    if (!(n.oshape() == common)) n = Relabel{n, NamedShape(n.ishape(), common)};
  return normals;
}

bool any_real_linear(const std::vector<NamedLinop>& operators) {
  return std::any_of(operators.begin(), operators.end(),
                     [](const NamedLinop& a) { return a.real_linear(); });
}

bool takes_real(const NamedLinop& a) {
  return a.real_linear() && !is_complex(a.H().output_dtype(DType::c128));
}

NamedLinop part_within(const NamedLinop& a, const NamedShape& names, const Tile& tile) {
  const Dims own = a.dims();
  const bool named = std::all_of(tile.cuts.begin(), tile.cuts.end(),
                                 [&](const Cut& c) { return contains(own, c.dim); });
  return (named ? a : settled(a, names)).split(tile);
}

NamedLinop zero_part(const NamedLinop& like) {
  const NamedShape names = like.shape();
  DimSizes sizes;
  bool known = true;
  for (NamedDimension d : dims_of(names)) {
    const std::optional<i64> n = like.size(d);
    if (n) sizes.emplace_back(d, *n);
    known = known && (n || (contains(names.ishape, d) && contains(names.oshape, d)));
  }
  return known ? NamedLinop(Zero(names.ishape, names.oshape, sizes)) : RemoteTile::of(like);
}

DType common_dtype(const std::vector<NamedLinop>& operators, DType input) {
  DType t = operators.front().output_dtype(input);
  for (const NamedLinop& a : operators) t = promote(t, a.output_dtype(input));
  return t;
}

NamedLinop settled(const NamedLinop& a, const NamedShape& names) {
  const NamedShape own = a.shape(), full(resolve_wildcards(own.ishape, names.ishape),
                                         resolve_wildcards(own.oshape, names.oshape));
  if (full.ishape == own.ishape && full.oshape == own.oshape) return a;
  if (const std::optional<NamedLinop> own = a.offers().settled(full)) return *own;
  return Relabel{a, full};
}

}  // namespace tessera
