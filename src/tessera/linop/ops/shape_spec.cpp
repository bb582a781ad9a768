// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/shape_spec.hpp"

#include "tessera/linop/dim_sizes.hpp"

namespace tessera {

ShapeSpec::ShapeSpec(Dims ishape, Dims oshape) : names(std::move(ishape), std::move(oshape)) {
  const std::string who = cat("ShapeSpec ", names.str());
  check_distinct(who, names.ishape);
  check_distinct(who, names.oshape);
  require<DimError>(iscompatible(names.ishape, names.oshape).matched, who,
                    ": the two sides have different numbers of dims");
  if (names.ishape.size() != names.oshape.size()) return;
  for (i64 i = 0; i < names.ishape.size(); ++i)
    require<DimError>(names.ishape[i] == names.oshape[i] ||
                          !contains(names.oshape, names.ishape[i]) || names.ishape[i].is_wildcard(),
                      who, ": dim '", names.ishape[i],
                      "' would name another axis; that is a Permute");
}

}  // namespace tessera
