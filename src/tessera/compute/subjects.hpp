// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is measured for the cost model: which operations in which dtypes and shapes, at which sizes,
// and which sizes between those are worth a measurement of their own once the rest is known. Pure:
// calibrate.hpp runs them, tests invent machines. Private to compute/.
//   for (const Subject& s : all_subjects()) for (const i64 n : measured_sizes) sized(s, n) ...

#include <array>
#include <span>
#include <vector>

#include "tessera/compute/cost_model.hpp"

namespace tessera {

inline constexpr std::array<i64, 9> measured_sizes{8, 32, 64, 128, 256, 512, 1024, 2048, 4096};

// What a curve is of.
struct Subject {
  Operation op;
  DType dtype;
  Pattern pattern = Pattern::plain;
};
// What takes long is measured in fewer dtypes: others stand in (stand_in).
TESSERA_API std::vector<Subject> all_subjects();
TESSERA_API Workload sized(const Subject& subject, i64 n);
// The largest of the sizes at which it is measured: of stacks less, since large matrices take one
// another's place anyway.
TESSERA_API i64 largest_size(const Subject& subject);

// A problem between two measured sizes at which the host and another device are near each other.
struct UncertainSize {
  Workload problem;
  Device device;
  double distance;  // of the logarithms of their times, where the operands lie on one of them
};
// Those that are within a factor of two, the nearest first. A forecast between two sizes is off by
// little; it decides where both devices are near each other, and nothing where one is far better.
TESSERA_API std::vector<UncertainSize> doubts(const CostModel& model,
                                              std::span<const Device> devices);

}  // namespace tessera
