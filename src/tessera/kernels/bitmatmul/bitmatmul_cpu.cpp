// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/bitmatmul/parts.hpp"

namespace tessera {

Prepared prepare_bitmatmul_cpu(const BitMatmulSpec& spec, Device) {
  check_bitmatmul(spec);
  switch (spec.kind) {
    case BitProduct::counts: return prepare_counts_cpu(spec);
    case BitProduct::any: return prepare_any_cpu(spec);
    case BitProduct::closure: break;
  }
  return prepare_closure_cpu(spec);
}

}  // namespace tessera
