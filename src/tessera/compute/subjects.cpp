// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/subjects.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

std::span<const DType> dtypes_of(Operation op) {
  static constexpr DType all[] = {DType::f32, DType::f64, DType::c64, DType::c128},
                         some[] = {DType::f32, DType::f64, DType::c128}, bits[] = {DType::b1};
  if (op == Operation::bit_matmul) return bits;
  if (op == Operation::eig) return std::span(some).subspan(1);
  if (op == Operation::solve || op == Operation::inverse) return all;
  if (op >= Operation::solve || op <= Operation::reduce) return some;
  return all;
}

// In the middle of two sizes when drawn as logarithms; large ones in even steps, whose operands are
// made quickly.
i64 between(i64 a, i64 b) {
  const double middle = std::sqrt(static_cast<double>(a) * static_cast<double>(b));
  const double step = middle < 512 ? 1 : 128;
  return static_cast<i64>(std::round(middle / step) * step);
}

// How far apart the forecasts are, with the operands on the host or on the device.
std::optional<double> distance(const CostModel& model, const Workload& p, Device device) {
  const auto host = model.seconds(cpu, p), other = model.seconds(device, p);
  const auto there = model.move_seconds(cpu, device, operand_bytes(p)),
             back = model.move_seconds(device, cpu, operand_bytes(p));
  if (!host || !other || !there || !back) return std::nullopt;
  return std::min(std::abs(std::log((*other + *there) / *host)),
                  std::abs(std::log((*host + *back) / *other)));
}

}  // namespace

std::vector<Subject> all_subjects() {
  std::vector<Subject> all;
  for (int i = 0; i < operation_count; ++i) {
    const auto op = static_cast<Operation>(i);
    for (const DType dtype : dtypes_of(op)) {
      all.push_back({op, dtype});
      if (op == Operation::solve) all.push_back({op, dtype, Pattern::columns});
      if (op != Operation::matmul) continue;
      all.push_back({op, dtype, Pattern::tall});
      all.push_back({op, dtype, Pattern::stack});
    }
  }
  return all;
}

Workload sized(const Subject& s, i64 n) {
  switch (s.op) {
    case Operation::elementwise:
    case Operation::reduce: return {s.op, s.dtype, n * n};
    case Operation::matvec: return {s.op, s.dtype, n, 1, n};
    case Operation::matmul:
      if (s.pattern == Pattern::stack) return {s.op, s.dtype, n, n, n, stack_length};
      return {s.op, s.dtype, s.pattern == Pattern::tall ? tall_aspect * n : n, n, n};
    case Operation::bit_matmul: return {s.op, s.dtype, n, n, n};
    case Operation::solve:
      return {s.op, s.dtype, n, s.pattern == Pattern::columns ? system_columns : 1};
    default: return {s.op, s.dtype, n, n};
  }
}

i64 largest_size(const Subject& s) {
  return s.pattern == Pattern::stack ? 512 : measured_sizes.back();
}

std::vector<UncertainSize> doubts(const CostModel& model, std::span<const Device> devices) {
  const double near = std::log(2.0);
  std::vector<UncertainSize> found;
  for (const Subject& subject : all_subjects())
    for (std::size_t i = 1; i < measured_sizes.size(); ++i) {
      if (measured_sizes[i] > largest_size(subject)) break;
      const Workload p = sized(subject, between(measured_sizes[i - 1], measured_sizes[i]));
      for (const Device device : devices) {
        if (device == cpu) continue;
        const std::optional<double> d = distance(model, p, device);
        if (d && *d < near) found.push_back({p, device, *d});
      }
    }
  std::stable_sort(found.begin(), found.end(), [](const UncertainSize& a, const UncertainSize& b) {
    return a.distance < b.distance;
  });
  return found;
}

}  // namespace tessera
