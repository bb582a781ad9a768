// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/zero.hpp"

namespace tessera {

Zero::Zero(Dims ishape, Dims oshape, Sizes given)
    : names(std::move(ishape), std::move(oshape)), sizes(std::move(given)) {
  for (const Dims* side : {&names.ishape, &names.oshape})
    check_distinct(cat("Zero ", names.str()), *side);
  check_sizes(cat("Zero ", names.str()), sizes, dims_of(names));
}

// The output's names are those of any normal; its sizes those of the input.
Zero Zero::normal() const {
  const NamedShape n = names.N();
  Sizes both;
  for (i64 i = 0; i < n.ishape.size(); ++i)
    if (const auto known = size(n.ishape[i])) {
      both.emplace_back(n.ishape[i], *known);
      if (!(n.oshape[i] == n.ishape[i])) both.emplace_back(n.oshape[i], *known);
    }
  return Zero(n.ishape, n.oshape, both);
}

std::string Zero::details() const {
  std::string text;
  for (const auto& [d, n] : sizes) text += cat(text.empty() ? "" : " ", d, "=", n);
  return text;
}

std::optional<NamedLinop> Zero::informed(const SizeOf& size_of) const {
  DimSizes known = sizes;
  for (NamedDimension d : dims_of(names))
    if (const auto n = d.is_wildcard() || size_in(known, d) ? std::nullopt : size_of(d))
      known.emplace_back(d, *n);
  if (known.size() == sizes.size()) return std::nullopt;
  return Zero(names.ishape, names.oshape, known);
}

}  // namespace tessera
