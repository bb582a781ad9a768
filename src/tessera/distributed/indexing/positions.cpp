// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/positions.hpp"

#include <algorithm>
#include <cstdint>

#include "tessera/base/sign_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// A distributed key remembers all of itself, as it travels, while that is not much.
std::string whole_within(i64 size) { return cat("whole within ", size); }

}  // namespace

bool ascending(std::span<const i64> v) {
  // Looked at in whole blocks: differences of numbers that are not negative do not overflow.
  // A short one first, as most lists that do not ascend end there; long ones come faster.
  i64 block = 1024;
  const i64 last = static_cast<i64>(v.size()) - 1;
  for (i64 begin = 0; begin < last; begin += block, block = 16384) {
    const i64* const from = v.data() + begin;
    const auto bits = [&](i64 i) { return static_cast<std::uint64_t>(from[i]); };
    if (any_negative(std::min(block, last - begin),
                     [&](i64 i) { return (bits(i + 1) - bits(i)) | bits(i); }))
      return false;
  }
  return v.empty() || v.back() >= 0;
}

Array checked_positions(const Array& positions, i64 axis, i64 size) {
  const Array dense = positions.to(cpu).astype(DType::i64).contiguous();
  const i64* from = dense.host<i64>();
  const i64 n = dense.size();
  const auto range = static_cast<std::uint64_t>(size);
  const auto bits = [&](i64 i) { return static_cast<std::uint64_t>(from[i]); };
  if (!any_negative(n, [&](i64 i) { return bits(i) | (range - 1 - bits(i)); })) return dense;
  std::uint64_t outside = 0;  // without branches: [-size, size) is one unsigned range
  for (i64 i = 0; i < n; ++i) outside |= static_cast<std::uint64_t>(bits(i) + range >= 2 * range);
  if (outside != 0)  // the first of them is named
    for (i64 i = 0; i < n; ++i) resolve_integer(from[i], axis, size);
  const Array out =
      Array(Storage::allocate(cpu, n * 8), Layout::contiguous(dense.shape()), DType::i64);
  i64* to = out.host<i64>();
  for (i64 i = 0; i < n; ++i) to[i] = from[i] < 0 ? from[i] + size : from[i];
  return out;
}

DType type_of_positions(i64 size) {
  if (size <= i64{1} << 8) return DType::u8;
  if (size <= i64{1} << 16) return DType::u16;
  return size <= i64{1} << 32 ? DType::u32 : DType::i64;
}

i64 bytes_of_position(const Shape& shape) {
  i64 bytes = 0;
  for (const i64 n : shape) bytes += size_of(type_of_positions(n));
  return bytes;
}

Array own_checked(const DNDarray& positions, i64 axis, i64 size, std::string& problem) {
  try {
    return checked_positions(positions.resident(), axis, size);
  } catch (const IndexError& e) {
    if (problem.empty()) problem = e.what();
    return zeros(positions.resident().shape(), DType::i64);
  }
}

DNDarray narrowed(const DNDarray& positions, i64 axis, i64 size, std::string& problem) {
  const Array mine = own_checked(positions, axis, size, problem);
  return DNDarray(mine.astype(type_of_positions(size)), positions.shape(), positions.distribution(),
                  positions.comm());
}

void check_values(const DNDarray& x, NormalKey& k) {
  const bool looked_at = count_of(k.plan.lead) > 0;  // NumPy leaves values alone that it drops
  k.ascends.assign(k.plan.arrays.size(), false);
  for (std::size_t a = 0; a < k.plan.arrays.size(); ++a) {
    if (k.distribution[a]) continue;
    const i64 axis = k.plan.axes[static_cast<i64>(a)];
    Array& p = k.plan.arrays[a];
    p = p.to(cpu).astype(DType::i64);
    if (!looked_at) continue;
    p = p.contiguous();
    const i64* v = p.host<i64>();
    k.ascends[a] =
        v[0] >= 0 && v[p.size() - 1] < x.shape(axis) && ascending({v, to_index(p.size())});
    if (!k.ascends[a]) p = checked_positions(p, axis, x.shape(axis));
  }
}

void check_all_values(const DNDarray& x, NormalKey& key) {
  if (!key.any_distribution()) return check_values(x, key);
  try {
    check_values(x, key);
  } catch (const IndexError&) {
    throw_first_problem(x, key);
  }
}

bool all_ranges_known(const NormalKey& key) {
  for (const DNDarray& a : key.distribution)
    if (a && !a.recall(value_range)) return false;
  return true;
}

bool within_ranges(const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.distribution.size(); ++a) {
    if (!key.distribution[a] || count_of(key.plan.lead) == 0) continue;
    const auto range =
        std::static_pointer_cast<const ValueRange>(key.distribution[a].recall(value_range));
    const i64 size = x.shape(key.plan.axes[static_cast<i64>(a)]);
    if (range->least < -size || range->most >= size) return false;
  }
  return true;
}

void throw_first_problem(const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.distribution.size(); ++a) {
    const i64 axis = key.plan.axes[static_cast<i64>(a)];
    checked_positions(key.distribution[a] ? key.distribution[a].gathered() : key.plan.arrays[a],
                      axis, x.shape(axis));
  }
  throw IndexError("an index array holds positions that are out of bounds");
}

void agree_on_positions(const DNDarray& x, const NormalKey& key, const std::string& problem) {
  if (count_of(key.plan.lead) == 0) return;
  if (all_ranges_known(key) ? !within_ranges(x, key) : !x.comm().first_problem(problem).empty())
    throw_first_problem(x, key);
}

void count_agreement(Transfers& t, const NormalKey& key) {
  if (count_of(key.plan.lead) > 0 && !all_ranges_known(key)) t.to_all(Content::flags, 1);
}

GatherPositions::GatherPositions(const DNDarray& x, const NormalKey& key)
    : x_(x), key_(key), looked_at_(count_of(key.plan.lead) > 0) {
  for (std::size_t a = 0; looked_at_ && a < key.distribution.size(); ++a)
    if (key.distribution[a] && !key.distribution[a].recall(whole_within(x.shape(axis(a)))))
      travel_.push_back(a);
  agree_ = !travel_.empty() && !all_ranges_known(key);
}

void GatherPositions::count(Transfers& t) const {
  for (const std::size_t a : travel_)
    t.gather(Content::positions, key_.distribution[a],
             size_of(type_of_positions(x_.shape(axis(a)))));
  if (agree_) t.to_all(Content::flags, 1);
}

NormalKey GatherPositions::run() const {
  if (all_ranges_known(key_) && !within_ranges(x_, key_)) throw_first_problem(x_, key_);
  NormalKey k = key_;
  std::string problem;
  std::vector<std::shared_ptr<const Array>> whole(key_.distribution.size());
  for (const std::size_t a : travel_)
    whole[a] = std::make_shared<const Array>(
        narrowed(key_.distribution[a], axis(a), x_.shape(axis(a)), problem).gathered());
  for (std::size_t a = 0; a < k.distribution.size(); ++a) {
    if (!k.distribution[a]) continue;
    k.distribution[a] = {};
    if (looked_at_ && !whole[a])
      whole[a] = std::static_pointer_cast<const Array>(
          key_.distribution[a].recall(whole_within(x_.shape(axis(a)))));
    k.plan.arrays[a] =
        looked_at_ ? whole[a]->astype(DType::i64) : zeros(key_.distribution[a].shape(), DType::i64);
  }
  if (agree_ && !x_.comm().first_problem(problem).empty()) throw_first_problem(x_, key_);
  for (const std::size_t a : travel_)
    if (whole[a]->bytes() <= most_remembered)
      key_.distribution[a].remember(whole_within(x_.shape(axis(a))), whole[a]);
  return k;
}

Array cut_positions(const Array& positions, const Shape& lead, i64 lead_axis, i64 begin, i64 end) {
  const i64 axis = lead_axis - (lead.size() - positions.ndim());
  if (axis < 0 || (positions.shape(axis) == 1 && lead[lead_axis] != 1)) return positions;
  return positions.slice(axis, begin, end);
}

EntryPositions::EntryPositions(const DNDarray& x, const NormalKey& key, i64 lead_axis,
                               const Partition& part)
    : x_(x), key_(key), lead_axis_(lead_axis), part_(part) {
  const Shape& lead = key.plan.lead;
  for (const DNDarray& a : key.distribution) {
    if (!a) {
      sources_.push_back({How::cut, -1});
      continue;
    }
    const i64 own = lead_axis - (lead.size() - a.ndim());
    const bool has_axis = own >= 0 && a.shape(own) == lead[lead_axis];
    const How how = count_of(lead) == 0                           ? How::unread
                    : !has_axis                                   ? How::gather
                    : a.distribution() == Distribution{own, part} ? How::stay
                                                                  : How::move;
    sources_.push_back({how, has_axis ? own : -1});
  }
}

void EntryPositions::count(Transfers& t) const {
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    const DNDarray& positions = key_.distribution[a];
    const i64 item = size_of(type_of_positions(size(a)));
    if (sources_[a].how == How::gather) t.gather(Content::positions, positions, item);
    if (sources_[a].how != How::move) continue;
    t.add(Content::positions, Relayout(positions, {sources_[a].axis, part_}).movement(item));
  }
}

std::vector<Array> EntryPositions::run(std::string& problem) const {
  const int me = x_.comm().rank();
  std::vector<Array> mine;
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    const auto [how, own] = sources_[a];
    const DNDarray& positions = key_.distribution[a];
    const i64 axis = key_.plan.axes[static_cast<i64>(a)];
    if (how == How::cut) {
      mine.push_back(cut_positions(key_.plan.arrays[a], key_.plan.lead, lead_axis_, part_.begin(me),
                                   part_.end(me)));
    } else if (how == How::unread) {
      Shape shape = positions.shape();
      if (own >= 0) shape[own] = part_.count(me);
      mine.push_back(zeros(shape, DType::i64));
    } else if (how == How::stay) {
      mine.push_back(own_checked(positions, axis, size(a), problem));
    } else {
      const DNDarray narrow = narrowed(positions, axis, size(a), problem);
      const Array here =
          how == How::move ? narrow.distributed_as({own, part_}).local() : narrow.gathered();
      mine.push_back(here.astype(DType::i64));
    }
  }
  return mine;
}

}  // namespace tessera::dist
