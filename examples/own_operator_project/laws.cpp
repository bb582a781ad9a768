// SPDX-License-Identifier: Apache-2.0
// Every law of Tessera over the operator: adjoint, linearity, normal, splitting, renaming, strides,
// plans, capture, threads and devices, on samples that the project gives.
#include <tessera/testing/laws.hpp>

#include "slope.hpp"

using namespace mine;

std::vector<laws::Sample> samples(DType t, Device d) {
  const NamedLinop S = Slope(7, "X", "D");
  const Array w = Random(1).normal({6}, t, d);
  return {{"batched", S, {3, 7}, dims("XD")},
          {"two points", Slope(2, "X", "D"), {2}, dims("XD")},
          {"in a chain", Diagonal(w, dims("D")) * S, {7}, dims("XD")},
          {"regularised", S.N() + 0.1 * NamedLinop(Identity()), {7}, dims("XDX1")}};
}

int main() { return laws::check_laws(samples) == 0 ? 0 : 1; }
