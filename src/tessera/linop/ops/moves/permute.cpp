// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/permute.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {

Permute::Permute(Dims ishape, Dims oshape) : names(std::move(ishape), std::move(oshape)) {
  const std::string who = cat("Permute ", names.str());
  check_distinct(who, names.ishape);
  check_distinct(who, names.oshape);
  require<DimError>(names.ishape.size() == names.oshape.size(), who,
                    ": the two sides have different numbers of dims");
  for (NamedDimension d : names.oshape)
    require<DimError>(contains(names.ishape, d), who, ": dim '", d, "' is not one of the input's");
}

void Permute::apply(Recorder& r, const View& x, const View& y) const {
  record::copy(r, sub_view(x, aligned(x.layout, names.ishape, names.oshape)), y);
}

NamedLinop Permute::normal() const { return Identity(names.ishape); }

Permute Permute::renamed(const Renames& r) const {
  return Permute(rename(names.ishape, r), rename(names.oshape, r));
}

}  // namespace tessera
