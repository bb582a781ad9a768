// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/scalars/scalars.hpp"

namespace tessera {
namespace {

void run_scalars(const void* state, const Launch& launch) {
  const auto& spec = *static_cast<const ScalarsSpec*>(state);
  auto* cell = static_cast<double*>(launch.operand[0]);
  for (const ScalarStep& s : spec.code) scalar_step(s, cell);
  if (spec.mirror == DType::f64) return;
  auto* mirror = reinterpret_cast<float*>(cell + max_cells);
  for (const ScalarStep& s : spec.code)
    if (s.op != ScalarOp::put) mirror[s.to] = static_cast<float>(cell[s.to]);
}

}  // namespace

void check_scalars(const ScalarsSpec& spec) {
  require<ArgumentError>(spec.code.size() <= max_scalar_code, "scalars: a program of ",
                         spec.code.size(), " steps; at most ", max_scalar_code);
  require<DTypeError>(spec.mirror == DType::f64 || spec.mirror == DType::f32,
                      "scalars: mirrored as ", spec.mirror, "; expected float32 or float64");
}

Prepared prepare_scalars_cpu(const ScalarsSpec& spec, Device) {
  check_scalars(spec);
  return {.task = {&run_scalars, std::make_shared<ScalarsSpec>(spec)},
          .flops = static_cast<double>(spec.code.size())};
}

}  // namespace tessera
