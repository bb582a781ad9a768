// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/sleep.hpp"

#include <cmath>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {

Sleep::Sleep(double seconds, const Dims& ioshape, const Dims& oshape)
    : duration(seconds), names(ioshape, oshape.empty() ? ioshape : oshape) {
  check_renaming(kind, names);
  require<ArgumentError>(std::isfinite(duration) && duration >= 0, "Sleep ", to_text(names.ishape),
                         ": a duration of ", duration, " seconds; expected 0 or more");
}

void Sleep::apply(Recorder& r, const View& x, const View& y) const {
  record::copy(r, x, y);
  // Reads what the copy wrote, so that it comes after it and before whoever reads the result.
  if (!awake && duration > 0)
    r.launch(&KernelTable::sleep, "sleep", SleepSpec{duration}, {}, y, {.updates = true});
}

Sleep Sleep::adjoint() const {
  Sleep a = *this;
  a.awake = !awake;
  a.names = names.H();
  return a;
}

NamedLinop Sleep::normal() const { return Identity(names.ishape); }

Sleep Sleep::renamed(const Renames& r) const {
  Sleep a = *this;
  a.names = names.renamed(r);
  return a;
}

}  // namespace tessera
