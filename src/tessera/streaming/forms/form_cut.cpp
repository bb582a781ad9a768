// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_cut.hpp"

#include <algorithm>
#include <set>

namespace tessera::streaming {
namespace {

constexpr i64 shortest_side = 32;  // below it steps cost more than what they compute
constexpr i64 bit_unit = 512;      // columns of bits are cut where rows of words may begin

i64 source_bytes(const FormSource& m, i64 rows, i64 cols) {
  if (!m.store) return 0;
  if (!m.has_words()) return number_bytes(m.dtype, rows, cols);
  return std::max(word_bytes(rows, cols), word_bytes(cols, rows));  // as either lies
}

bool needs_bit_unit(const FormSizes& s) {
  return s.a.has_words() || s.b.has_words() || s.result.has_words();
}

// Bytes that are read of a factor once: of a half the squares on the diagonal are read whole.
double once(const FormSource& m, i64 side, bool mirrored_once) {
  if (!m.store) return 0;
  const double all =
      static_cast<double>(m.has_words() ? word_bytes(m.stored_rows, m.stored_cols)
                                        : number_bytes(m.dtype, m.stored_rows, m.stored_cols));
  if (!m.is_half() || (m.is_mirrored() && !mirrored_once)) return all;
  const i64 count = (m.stored_rows + side - 1) / side;
  const auto blocks = static_cast<double>(count);
  return all * (blocks + 1) / (2 * blocks);
}

// What squares of a side read for each byte that is wanted, since files read along what lies
// between short rows of a tile.
double along(const FormSource& m, i64 side) {
  if (!m.on_disk()) return m.store ? 0.05 : 0;
  constexpr i64 gap_bytes = i64{32} << 10;
  const i64 in_word = m.has_words() ? 64 : 1, cols = m.store->grid().shape()[1],
            tile = m.store->grid().tile_shape()[1],
            gap = gap_bytes / size_of(m.store->grid().dtype());
  i64 read = 0;
  for (const Range& block : cut_at_multiples(0, cols, std::max<i64>(1, side / in_word)))
    for (const Range& part : cut_at_multiples(block.begin, block.end, tile)) {
      const i64 whole = std::min(tile, cols - part.begin / tile * tile);
      read += std::min(whole, part.size() == whole ? whole : part.size() + gap);
    }
  return static_cast<double>(read) / static_cast<double>(std::max<i64>(1, cols));
}

double cost_of(const FormSizes& s, const FormCut& cut) {
  const i64 times_a = s.blocks(s.blocks(s.b.cols(), cut.side), cut.block_cols),
            times_b = s.blocks(s.blocks(s.a.rows(), cut.side), cut.block_rows);
  const auto passes_a = static_cast<double>(times_a), passes_b = static_cast<double>(times_b);
  // Small blocks take longer for each product, whatever they read.
  const double thin = 1 + 24 / static_cast<double>(cut.side);
  return thin * (once(s.a, cut.side, cut.one_pass) * along(s.a, cut.side) * passes_a +
                 once(s.b, cut.side, false) * along(s.b, cut.side) * (cut.one_pass ? 1 : passes_b));
}

// Sides that are those of tiles, their multiples and parts.
std::set<i64> sides_of(const FormSizes& s) {
  const i64 unit = needs_bit_unit(s) ? bit_unit : 1;
  const i64 longest = std::max({s.a.rows(), s.a.cols(), s.b.cols(), i64{1}});
  std::set<i64> out;
  const auto offer = [&](i64 side) {
    side = std::clamp<i64>(side, std::min(shortest_side, longest), longest);
    out.insert((side + unit - 1) / unit * unit);
  };
  offer(longest);
  for (const FormSource* m : {&s.a, &s.b}) {
    if (!m->on_disk()) continue;
    const Shape& tile = m->store->grid().tile_shape();
    for (const i64 n : {tile[0], tile[1] * (m->has_words() ? 64 : 1)}) {
      for (i64 side = n; side < 16 * n && side < 2 * longest; side *= 2) offer(side);
      for (i64 side = n; side > 1;) offer(side = (side + 1) / 2);
    }
  }
  for (i64 side = longest; side > 1;) offer(side = (side + 1) / 2);
  return out;
}

}  // namespace

i64 FormSizes::a_bytes(i64 side) const {
  return StreamPlan::rounded(source_bytes(a, std::min(side, a.rows()), std::min(side, a.cols())));
}
i64 FormSizes::b_bytes(i64 side) const {
  return StreamPlan::rounded(source_bytes(b, std::min(side, b.rows()), std::min(side, b.cols())));
}
i64 FormSizes::c_bytes(i64 side) const {
  const i64 rows = std::min(side, result.rows), cols = std::min(side, result.cols);
  return StreamPlan::rounded(result.has_words() ? word_bytes(rows, cols)
                                                : number_bytes(call.work, rows, cols));
}
i64 FormSizes::out_bytes(i64 side) const {
  const bool same = result.has_words() || (result.dtype == call.work && !call.scales());
  return same ? 0
              : StreamPlan::rounded(number_bytes(result.dtype, std::min(side, result.rows),
                                                 std::min(side, result.cols)));
}

i64 FormSizes::held(const FormCut& cut) const {
  BlockCall at = call;
  at.strip = cut.strip();
  const i64 widest = std::min(cut.side, std::max({a.rows(), a.cols(), b.cols(), i64{1}}));
  const i64 b_blocks = cut.one_pass ? blocks(b.rows(), cut.side) : 2;
  return cut.block_rows * cut.block_cols * c_bytes(cut.side) + form_a_slots * a_bytes(cut.side) +
         b_blocks * cut.block_cols * b_bytes(cut.side) + 2 * out_bytes(cut.side) +
         temporary_bytes(a, b, at, widest);
}

FormCut choose_form_cut(const FormSizes& s, const Options& options) {
  const i64 budget = budget_of(options);
  FormCut best;
  bool found = false;
  i64 fewest = std::numeric_limits<i64>::max();
  const auto consider = [&](FormCut cut) {
    const i64 all_cols = std::max<i64>(1, s.blocks(s.result.cols, cut.side)),
              all_rows = std::max<i64>(1, s.blocks(s.result.rows, cut.side));
    if (cut.one_pass) cut.block_rows = all_rows;
    const i64 takes = s.held(cut);
    fewest = std::min(fewest, takes);
    if (takes > budget) return;
    // One row or column of blocks more where it saves most.
    for (;;) {
      FormCut wider = cut, higher = cut;
      wider.block_cols = std::min(all_cols, cut.block_cols + 1);
      higher.block_rows = std::min(all_rows, cut.block_rows + 1);
      const bool can_wider = wider.block_cols > cut.block_cols && s.held(wider) <= budget,
                 can_higher = higher.block_rows > cut.block_rows && s.held(higher) <= budget;
      if (!can_wider && !can_higher) break;
      const bool takes_wider = can_wider && (!can_higher || cut.block_cols <= cut.block_rows);
      cut = takes_wider ? wider : higher;
    }
    cut.cost = cost_of(s, cut);
    if (!found || cut.cost < best.cost) best = cut;
    found = true;
  };
  for (const i64 side : sides_of(s)) {
    consider({.side = side});
    if (s.a.is_mirrored() && !s.call.boolean) consider({.side = side, .one_pass = true});
  }
  if (!found) require_budget("matmul", options, fewest);
  return best;
}

}  // namespace tessera::streaming
