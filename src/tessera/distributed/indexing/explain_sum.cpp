// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/explain_sum.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/entry_tell.hpp"
#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/indexing/masks/mask_known.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

// What dist::nonzero sends, then the positions where all ranks get them.
void count_mask(Explanation& e, const DNDarray& mask) {
  const int p = mask.comm().size();
  if (p == 1) return;
  const bool by_rows = *mask.split() == 0;
  tell_all(e, 8);
  const i64 position = bytes_of_position(mask.shape());
  const i64 behind = mask.size() / std::max<i64>(1, mask.shape(0));
  for (int r = 0; r < p; ++r) {
    const i64 own = count_of(mask.lshape(r));
    if (!by_rows && own > 0) send(e, r, p - 1, own / 8 + p, true);  // bits, by whole bytes
    const i64 most = by_rows ? own : Partition::even(mask.shape(0), p).count(r) * behind;
    send(e, r, (p - 1) * mask.ndim(), most * position * (p - 1), true);  // an array per axis
  }
  at_most(e);
}

}  // namespace

Explanation begin(const DNDarray& x) {
  Explanation e;
  e.sent.assign(to_index(x.comm().size()), 0);
  return e;
}

void at_most(Explanation& e) { e.exact = e.exact && e.sent.size() == 1; }

void send(Explanation& e, int rank, i64 messages, i64 bytes, bool index) {
  if (bytes == 0) return;
  e.messages += messages;
  e.sent[to_index(rank)] += bytes;
  (index ? e.index_bytes : e.data_bytes) += bytes;
}

void add(Explanation& e, const Movement& m, bool index) {
  e.messages += m.messages;
  (index ? e.index_bytes : e.data_bytes) += m.bytes;
  for (std::size_t r = 0; r < m.sent.size(); ++r) e.sent[r] += m.sent[r];
}

void tell_all(Explanation& e, i64 bytes) {
  const int p = static_cast<int>(e.sent.size());
  for (int r = 0; r < p; ++r) send(e, r, p - 1, bytes * (p - 1), true);
}

void gather_bits(Explanation& e, const DNDarray& mask) {
  const int p = mask.comm().size();
  for (int r = 0; r < p; ++r) send(e, r, p - 1, (count_of(mask.lshape(r)) + 7) / 8 * (p - 1), true);
}

void gather_positions(Explanation& e, const DNDarray& positions, i64 size) {
  const int p = positions.comm().size();
  for (int r = 0; r < p; ++r)
    send(e, r, p - 1, count_of(positions.lshape(r)) * size_of(type_of_positions(size)) * (p - 1),
         true);
}

void gather_value(Explanation& e, const DNDarray& value) {
  const int p = value.comm().size();
  add(e,
      movement(value.shape(), size_of(value.dtype()), boxes_of_value(value), Boxes(to_index(p))));
}

void count_groups(Explanation& e, const DNDarray& x, const LoneMask& mask, i64 group) {
  const i64 rows = rows_of_mask(x, mask);
  tell_all(e, bytes_of_counts((rows + group - 1) / group, most_picked(x, mask) * group));
}

void count_rows(Explanation& e, const DNDarray& x, const LoneMask& mask, i64 group) {
  if (group == 1) return;
  const int p = x.comm().size();
  const i64 rows = rows_of_mask(x, mask), widest = most_picked(x, mask);
  at_most(e);
  tell_all(e, bytes_of_counts(std::min(rows, (p - 1) * group), widest));
  for (int r = 0; r < p; ++r) send(e, r, p - 1, bytes_of_counts(rows, widest) + 2 * p, true);
}

Foreseen foreseen(const DNDarray& x, const DistIndex& key, bool writes) {
  Foreseen f{foresee(x, key), {}, {}, {}, {}, {}};
  const LooseMasks masks = loose_masks(x, key, writes);
  for (const i64 a : masks.bits) f.bits.push_back(key.distribution()[to_index(a)]);
  for (const i64 a : masks.counted) f.counted.push_back(key.distribution()[to_index(a)]);
  for (const i64 a : masks.listed) f.listed.push_back(key.distribution()[to_index(a)]);
  f.lead = f.key.plan.lead;
  f.shape = f.key.plan.shape;
  if (!f.masks() || f.lead.back() != 1) return f;
  for (const auto* list : {&f.bits, &f.counted, &f.listed})
    for (const DNDarray& mask : *list) f.lead.back() = std::max(f.lead.back(), mask.size());
  f.shape[f.key.plan.position + f.lead.size() - 1] = f.lead.back();
  return f;
}

Shape Foreseen::said() const {
  Shape shape = key.plan.shape;
  if (masks() && key.plan.lead.back() == 1) shape[key.plan.position + lead.size() - 1] = -1;
  return shape;
}

void explain_masks(Explanation& e, const Foreseen& f) {
  for (const DNDarray& mask : f.bits)
    if (!known_bits(mask, {})) gather_bits(e, mask);
  for (const DNDarray& mask : f.counted) count_mask(e, mask);
  for (const DNDarray& mask : f.listed) {  // the bits are less than positions of all elements
    tell_all(e, bytes_of_counts(1, mask.size()));
    count_mask(e, mask);
  }
}

void explain_gathered_keys(Explanation& e, const DNDarray& x, const NormalKey& k) {
  if (!k.any_distribution() || count_of(k.plan.lead) == 0) return;
  bool asks = false;
  for (std::size_t a = 0; a < k.distribution.size(); ++a) {
    const i64 size = x.shape(k.plan.axes[static_cast<i64>(a)]);
    if (!k.distribution[a] || known_whole(k.distribution[a], size)) continue;
    gather_positions(e, k.distribution[a], size);
    asks = true;
  }
  if (asks && !all_ranges_known(k)) tell_all(e, 1);
}

std::vector<i64> entries_by_rank(const NormalKey& k, const RoutePlan& plan) {
  const Shape& lead = k.plan.lead;
  std::vector<i64> entries = plan.distribution.part.counts();
  for (i64& n : entries) n *= count_of(lead) / std::max<i64>(1, lead[plan.lead_axis]);
  return entries;
}

void gather_others(Explanation& e, const DNDarray& x, const NormalKey& k, i64 first) {
  for (std::size_t a = 0; a < k.distribution.size(); ++a)
    if (k.distribution[a] && static_cast<i64>(a) != first)
      gather_positions(e, k.distribution[a], x.shape(k.plan.axes[static_cast<i64>(a)]));
}

std::vector<i64> all_entries(const DNDarray& x, const Shape& lead) {
  return std::vector<i64>(to_index(x.comm().size()), count_of(lead));
}

i64 row_messages(const EntryRows& rows, i64 count) {
  const i64 piece = rows_of_piece(rows);
  return (count + piece - 1) / piece;
}

void exchange_asked(Explanation& e, const DNDarray& x, const NormalKey& k, const Asked& asked) {
  const EntryRows rows(x, k);
  const int p = x.comm().size();
  at_most(e);
  for (int r = 0; r < p; ++r) {
    for (int q = 0; q < p; ++q) {
      if (q == r) continue;
      const i64 places = std::min(asked.entries[to_index(r)], rows.radix(q));
      if (places == 0) continue;  // nobody asks for nothing
      const i64 bytes = static_cast<i64>(sizeof(Notice)) + most_wire_bytes(places, rows.radix(q));
      send(e, r, told_at_once(rows) ? 1 : 2, bytes, true);
      if (asked.rows_come_back)
        send(e, q, row_messages(rows, places), places * rows.row_bytes());
      else
        send(e, r, 1, places * asked.per_place);
    }
  }
}

}  // namespace tessera::dist
