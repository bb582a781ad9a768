// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/roll.hpp"

#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/plan/record_moves.hpp"

namespace tessera {

Roll::Roll(DimSizes by, Dims ishape, Dims oshape) : shifts(std::move(by)) {
  Dims rolled;
  for (const auto& [d, shift] : shifts) rolled.push_back(d);
  check_distinct("Roll", rolled);
  names = NamedShape(ishape, mixed_output("Roll", ishape, oshape, rolled));
}

void Roll::apply(Recorder& r, const View& x, const View& y) const {
  Shape by(x.layout.ndim(), 0);
  for (const auto& [d, shift] : shifts) by[*axis_of(names.ishape, d, x.layout.ndim())] = shift;
  record::roll(r, x, y, by);
}

Roll Roll::adjoint() const {
  DimSizes back;
  for (const auto& [d, shift] : shifts)
    back.emplace_back(names.oshape[*axis_of(names.ishape, d, names.ishape.size())], -shift);
  return Roll(back, names.oshape, names.ishape);
}

NamedLinop Roll::normal() const { return Identity(names.ishape); }

Roll Roll::renamed(const Renames& r) const {
  return Roll(renamed_sizes(shifts, r), rename(names.ishape, r), rename(names.oshape, r));
}

}  // namespace tessera
