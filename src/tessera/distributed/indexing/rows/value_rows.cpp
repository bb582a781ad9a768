// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/value_rows.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/key.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {

bool varies(const Shape& value, i64 result_ndim, i64 position, i64 lead_ndim) {
  const i64 missing = result_ndim - value.size();
  for (i64 a = 0; a < lead_ndim; ++a) {
    const i64 own = position + a - missing;
    if (own >= 0 && value[own] != 1) return true;
  }
  return false;
}

Shape own_extents(const Shape& value, i64 result_ndim) {
  Shape own(result_ndim - value.size(), 1);
  own.append(value);
  return own;
}

Shape rows_of_value(const Shape& value, const IndexPlan& plan) {
  Shape shape = own_extents(value, plan.shape.size());
  for (i64 a = plan.position; a < plan.position + plan.lead.size(); ++a) shape[a] = plan.shape[a];
  return shape;
}

i64 bytes_of_row(const DNDarray& value, const IndexPlan& plan) {
  const Shape own = own_extents(value.shape(), plan.shape.size());
  i64 bytes = size_of(value.dtype());
  for (i64 a = 0; a < own.size(); ++a)
    if (a < plan.position || a >= plan.position + plan.lead.size()) bytes *= own[a];
  return bytes;
}

bool moves(const DNDarray& value) { return value.split() || !value.known(); }

DNDarray narrowed_for(const DNDarray& x, const DNDarray& value) {
  return size_of(value.dtype()) > size_of(x.dtype()) ? value.astype(x.dtype()) : value;
}

DNDarray trimmed(const DNDarray& value, i64 ndim) {
  DNDarray v = value;
  while (v.ndim() > ndim && v.shape(0) == 1) {
    DistIndex first;
    first.add(0);
    v = v[first];
  }
  if (v.ndim() <= ndim) return v;
  const Shape last(v.shape().end() - ndim, v.shape().end());  // without elements: see fits()
  return DNDarray::replicated(Array::empty(last, v.dtype(), v.device()), v.comm());
}

Array value_for_those(const DNDarray& value, const std::vector<bool>& needs) {
  const Communicator& comm = value.comm();
  const bool mine = needs[static_cast<std::size_t>(comm.rank())];
  if (!moves(value)) return mine ? value.local() : Array();
  Boxes to;
  for (const bool need : needs) to.push_back(need ? Box{} : Box{0, 0, 0});
  const Array all = relayout(value, std::move(to));
  return mine ? all : Array();
}

bool worth_a_flag(const DNDarray& value) {
  return moves(value) && value.size() * size_of(value.dtype()) > value.comm().size();
}

Array value_where_needed(const DNDarray& value, bool needs) {
  const auto p = static_cast<std::size_t>(value.comm().size());
  std::vector<bool> all(p, true);
  if (worth_a_flag(value)) {
    const auto mine = static_cast<std::uint8_t>(needs);
    std::vector<std::uint8_t> flags(p);
    value.comm().allgather(&mine, 1, flags.data());
    all.assign(flags.begin(), flags.end());
  }
  return value_for_those(value, all);
}

void count_where_needed(Transfers& t, const DNDarray& value) {
  if (!moves(value)) return;
  const bool flagged = worth_a_flag(value);
  if (flagged) t.to_all(Content::flags, 1);
  t.gather(Content::rows, value, size_of(value.dtype()), !flagged);
}

OwnRows::OwnRows(const DNDarray& value, const IndexPlan& plan)
    : value_(value),
      lead_(plan.lead),
      own_(own_extents(value.shape(), plan.shape.size())),
      position_(plan.position) {
  if (!value.split()) {
    holder_ = *value.owner();
    return;
  }
  const i64 axis = own_.size() - value.ndim() + *value.split(), in_lead = axis - position_;
  if (own_[axis] == 1) {
    holder_ = value.part().owner(0);
  } else if (in_lead >= 0 && in_lead < lead_.size()) {
    lead_axis_ = in_lead;
  } else {
    rest_axis_ = in_lead < 0 ? axis : axis - lead_.size();
  }
}

i64 OwnRows::count(int rank) const {
  i64 rows = held(rank) > 0 ? 1 : 0;
  for (i64 a = 0; a < lead_.size(); ++a) rows *= extent(a, rank);
  return rows;
}

int OwnRows::owner(i64 entry) const {
  return lead_axis_ >= 0 ? value_.part().owner(along(entry)) : holder_;
}

i64 OwnRows::along(i64 entry) const {
  for (i64 a = lead_.size() - 1; a > lead_axis_; --a) entry /= lead_[a];
  return entry % lead_[lead_axis_];
}

bool OwnRows::holds(int rank, i64 entry) const {
  if (held(rank) == 0 || lead_axis_ < 0) return held(rank) > 0;
  const i64 at = along(entry) - begin(rank);
  return at >= 0 && at < held(rank);
}

i64 OwnRows::row(i64 entry, int rank) const {
  i64 row = 0, weight = 1;
  for (i64 a = lead_.size() - 1; a >= 0; --a) {
    const i64 along = entry % lead_[a] - (a == lead_axis_ ? begin(rank) : 0);
    if (own_[position_ + a] != 1) row += along * weight;
    weight *= extent(a, rank);
    entry /= lead_[a];
  }
  return row;
}

i64 OwnRows::number(i64 entry) const {
  i64 number = 0, weight = 1;
  for (i64 a = lead_.size() - 1; a >= 0; --a) {
    if (own_[position_ + a] != 1) number += entry % lead_[a] * weight;
    weight *= own_[position_ + a];
    entry /= lead_[a];
  }
  return number;
}

ValueRows OwnRows::rows(const Array& local, int rank) const {
  ValueRows v{local, own_, {}, position_};
  for (i64 a = 0; a < lead_.size(); ++a) v.lead.push_back(v.shape[position_ + a] = extent(a, rank));
  if (rest_axis_ >= 0) v.shape[axis_of_rest(rest_axis_)] = held(rank);
  return v;
}

Shape OwnRows::rest(int rank) const {
  Shape rest;
  for (i64 a = 0; a < own_.size() - lead_.size(); ++a)
    rest.push_back(a == rest_axis_ ? held(rank) : own_[axis_of_rest(a)]);
  return rest;
}

bool ValueRows::varies() const {
  return dist::varies(value.shape(), shape.size(), position, lead.size());
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
    weight /= std::max<i64>(1, lead[a]);
    const Array digit(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
    i64* to = digit.host<i64>();
    for (i64 j = 0; j < n; ++j) to[j] = entries[static_cast<std::size_t>(j)] / weight % lead[a];
    key.add(digit.to(value.device()));
  }
  return value.view(lead_first())[key].contiguous();
}

}  // namespace tessera::dist
