// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/shape_spec.hpp"

#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {

ShapeSpec::ShapeSpec(Dims ishape, Dims oshape) : names(std::move(ishape), std::move(oshape)) {
  check_renaming(kind, names);
}

}  // namespace tessera
