// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/value_rows.hpp"

namespace tessera {

bool varies(const Shape& value, i64 result_ndim, i64 position, i64 lead_ndim) {
  const i64 missing = result_ndim - value.size();
  for (i64 a = 0; a < lead_ndim; ++a) {
    const i64 own = position + a - missing;
    if (own >= 0 && value[own] != 1) return true;
  }
  return false;
}

bool ValueRows::varies() const {
  return tessera::varies(value.shape(), shape.size(), position, lead.size());
}

Array ValueRows::one_row() const {
  Layout l = lead_first();
  for (i64 a = 0; a < lead.size(); ++a) l = l.select(0, 0);
  return value.view(l.insert_axis(0)).contiguous();
}

Layout ValueRows::lead_first() const {
  IndexPlan order;
  order.lead = lead;
  order.position = position;
  return order.lead_first(value.broadcast_to(shape).layout());
}

Array ValueRows::rows(std::span<const i64> entries) const {
  const auto n = static_cast<i64>(entries.size());
  Index key;
  i64 weight = count_of(lead);
  for (i64 a = 0; a < lead.size(); ++a) {
    weight /= lead[a];
    const Array digit(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
    i64* to = digit.host<i64>();
    for (i64 j = 0; j < n; ++j) to[j] = entries[static_cast<std::size_t>(j)] / weight % lead[a];
    key.add(digit.to(value.device()));
  }
  return value.view(lead_first())[key].contiguous();
}

}  // namespace tessera
