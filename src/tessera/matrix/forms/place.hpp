// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where an operation on matrices runs. Without accelerators, and where one device holds all the
// operands, there is nothing to choose and nothing to ask. Otherwise the context picks
// (compute/context.hpp), the operands are mirrored there by whoever reads them, and the result
// stays. Computes nothing itself.
//   placed({Operation::matmul, DType::f64, m, n, k}, {&a, &b}, bytes, [&](Device d) { ... });

#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>

#include "tessera/base/tags.hpp"
#include "tessera/compute/problem_of.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// A matrix as an operand of context().explain: as it is packed.
TESSERA_API OperandInfo shown(const AnyMatrix& m);

// The device of an operation for which no choice is left; nothing where the context has one.
TESSERA_API std::optional<Device> settled_device(std::initializer_list<const AnyMatrix*> operands);

// Operands that lie in files are read ahead while the operation is prepared (tag io.prefetch).
TESSERA_API void prefetch(std::initializer_list<const AnyMatrix*> operands);

// By the context: `body` is called again, with another device, when an accelerator fails.
TESSERA_API void placed_by_context(const Workload& problem,
                                   std::initializer_list<const AnyMatrix*> operands,
                                   i64 result_bytes, const std::function<void(Device)>& body);

// Of operations that read a few elements only: nothing is read ahead.
template <class Body>
void placed_unread(const Workload& problem, std::initializer_list<const AnyMatrix*> operands,
                   i64 result_bytes, Body&& body) {
  const TagScope scope;
  if (const std::optional<Device> device = settled_device(operands)) {
    body(*device);
  } else {
    placed_by_context(problem, operands, result_bytes, body);
  }
}

// Leaves the tag of the operation, which its body sets, and none of its kernels'.
template <class Body>
void placed(const Workload& problem, std::initializer_list<const AnyMatrix*> operands,
            i64 result_bytes, Body&& body) {
  prefetch(operands);
  placed_unread(problem, operands, result_bytes, std::forward<Body>(body));
}

}  // namespace tessera
