// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/place.hpp"

#include <vector>

#include "tessera/compute/context.hpp"
#include "tessera/matrix/forms/stored.hpp"

namespace tessera {

OperandInfo shown(const AnyMatrix& m) {
  OperandInfo s{{m.rows(), m.cols()}, m.dtype(), {m.bytes(), m.held_at()}};
  s.triangular = m.is(Property::is_upper_triangular) || m.is(Property::is_lower_triangular);
  s.diagonal = m.form() == Form::diagonal || m.form() == Form::identity;
  // As measured: a look at its properties; strip by strip where half of it is stored; diagonals are
  // searched for zeros, and their products watch the exponents.
  const auto rows = static_cast<double>(m.rows());
  if (is_strips(m.form())) {
    s.steps = 10 + rows / 4;
    s.diagonal_steps = 5 + rows / 15;
  } else if (m.form() == Form::diagonal) {
    s.steps = 4 + rows / 300;
    s.diagonal_steps = 3 + rows / 80;
  } else {
    s.steps = s.diagonal_steps = 2;
  }
  return s;
}

std::optional<Device> settled_device(std::initializer_list<const AnyMatrix*> operands) {
  if (context().has_choice()) return {};
  std::optional<Device> common;
  for (const AnyMatrix* m : operands) {
    if (m->bytes() == 0) continue;  // lies nowhere
    if (common && *common != m->device()) return {};
    common = m->device();
  }
  return common ? *common : (*operands.begin())->device();
}

void prefetch(std::initializer_list<const AnyMatrix*> operands) {
  for (const AnyMatrix* m : operands) {
    const Array& data = m->payload().data;
    if (m->bytes() == 0) continue;
    const auto [first, last] = data.layout().span();
    const i64 item = size_of(data.dtype());
    if (data.storage().prefetch(first * item, (last + 1 - first) * item)) tag_io("prefetch");
  }
}

void placed_by_context(const Workload& problem, std::initializer_list<const AnyMatrix*> operands,
                       i64 result_bytes, const std::function<void(Device)>& body) {
  std::vector<Residency> held;
  held.reserve(operands.size());
  for (const AnyMatrix* m : operands)
    if (m->bytes() > 0) held.push_back({m->bytes(), m->held_at()});
  context().run(problem, held, result_bytes, body);
}

}  // namespace tessera
