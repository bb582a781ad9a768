// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/record_sums.hpp"

namespace tessera::record {

void add_matmul(Recorder& r, const View& a, const View& b, const View& y, bool conj_a) {
  MatmulSpec spec;
  spec.a = operand_of(a);
  spec.b = operand_of(b);
  spec.out = operand_of(y);
  spec.conj_a = conj_a;
  spec.beta = c128(1, 0);
  const View reads[] = {a, b};
  r.launch(&KernelTable::matmul, "matmul and add", spec, reads, y, {.updates = true});
}

void add_product(Recorder& r, const View& a, const View& b, const View& y) {
  ElementwiseSpec spec;
  spec.op = ElementOp::multiply_add;
  spec.compute = y.dtype;
  spec.out = operand_of(y);
  const View reads[] = {a, b, y};
  for (const View& v : reads)
    spec.inputs.push_back({{v.layout.broadcast_to(y.shape()), v.dtype}, std::nullopt});
  r.launch(&KernelTable::elementwise, name(spec.op), spec, reads, y);
}

}  // namespace tessera::record
