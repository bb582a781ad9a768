// SPDX-License-Identifier: Apache-2.0
// One operator over two devices: cut along its output, placed, joined again; the same numbers.
#include <cstdio>
#include <tessera/tessera.hpp>

using namespace tessera;

int main() {
  const Array w = Random(1).normal({6, 8}, DType::f64), x = Random(2).normal({8}, DType::f64);
  const NamedLinop A = Dense(w, dims("MN"), dims("N"), dims("M"));
  const BatchSpec spec{.batch_sizes = {{"M", 3}}, .device_matrix = {"sim:0", "sim:1"}};
  const NamedLinop B = create_batched_linop(A, spec);
  std::puts(B.tree().c_str());

  const double error = norm(ops::subtract(B(x), A(x))).item().as<double>();
  std::printf("the batched operator differs by %g\n", error);
  return error < 1e-12 ? 0 : 1;
}
