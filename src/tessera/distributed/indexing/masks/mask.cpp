// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/indexing/index_route.hpp"
#include "tessera/distributed/indexing/masks/mask_known.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/bool_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/fit.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

Array pack_bits(const Array& mask) {
  const Array dense = mask.to(cpu).contiguous();
  const i64 n = dense.size();
  const Array bits = empty_dense({(n + 7) / 8}, DType::u8);
  bits_of_bools(dense.host<bool>(), n, bits.host<std::uint8_t>());
  return bits;
}

Array unpack_bits(const std::uint8_t* bits, const Shape& shape) {
  const Array mask = empty_dense(shape, DType::b1);
  bools_of_bits(bits, mask.size(), mask.host<bool>());
  return mask;
}

// The elements of a rank's box that lie in another box, as intervals of every axis.
struct Piece {
  Shape begin, size;
  bool empty() const { return count_of(size) == 0; }
};
Piece piece_of(const Shape& shape, const Box& a, const Box& b) {
  Piece piece{Shape(shape.size(), 0), shape};
  for (const Box* box : {&a, &b}) {
    if (box->axis < 0) continue;
    const i64 begin = std::max(piece.begin[box->axis], box->begin),
              end = std::min(piece.begin[box->axis] + piece.size[box->axis], box->end);
    piece.begin[box->axis] = begin;
    piece.size[box->axis] = std::max<i64>(0, end - begin);
  }
  return piece;
}
Array inside(const Array& part, const Box& box, const Piece& piece) {
  Layout l = part.layout();
  for (i64 a = 0; a < l.ndim(); ++a)
    l = l.slice(a, piece.begin[a] - (box.axis == a ? box.begin : 0), piece.size[a]);
  return part.view(l);
}

// The key with local arrays instead of its mask.
Index with_arrays(const DistIndex& key, std::span<const Array> arrays) {
  Index local;
  for (const Index::Item& item : key.index().items())
    if (!add_plain(local, item)) local.add(arrays[to_index(item.value)]);
  return local;
}

// Whether the value differs along the picked elements: then their order matters.
bool varies(const DNDarray& value, i64 axis, i64 result_ndim) {
  const i64 own = axis - (result_ndim - value.ndim());
  return own >= 0 && value.shape(own) != 1;
}

// Every rank has x: its result is dealt out as the first distributed array of the key, here along
// another axis than the last, which is that of all masks. False where nothing is read.
bool dealt_off_masks(const DistIndex& key) {
  for (const Index::Item& item : key.index().items()) {
    const bool array = item.kind == Index::Kind::mask || item.kind == Index::Kind::integer_array;
    if (!array || !key.distribution()[to_index(item.value)]) continue;
    const DNDarray& first = key.distribution()[to_index(item.value)];
    return item.kind == Index::Kind::integer_array && *first.split() != first.ndim() - 1 &&
           first.size() > 0;
  }
  return false;
}

// What all ranks have to get of a mask: its bits, or the positions that dist::nonzero lists, which
// deals out the bits by rows first (collective).
bool fewer_as_bits(const DNDarray& mask) {
  const i64 bits = (mask.size() + 7) / 8, picked = counted_by_rank(mask).total();
  const i64 by_rows = *mask.split() == 0 ? 0 : bits / mask.comm().size();
  return bits < picked * bytes_of_position(mask.shape()) + by_rows;
}

}  // namespace

Array in_order(const DNDarray& dealt, i64 axis, MaskShares shares) {
  const int me = dealt.comm().rank();
  DistIndex pick;
  for (i64 a = 0; a < axis; ++a) pick.add(Slice{});
  pick.add(stand_in({0}, DType::i64));
  const EntryRows rows(dealt, normalize(dealt, pick));
  Fetch fetch;
  const i64 begin = dealt.part().begin(me), end = dealt.part().end(me);
  for (const std::vector<i64>& theirs : shares.places)
    fetch.serve.emplace_back(theirs.size(), end,
                             [&, next = theirs.data()]() mutable { return begin + *next++; });
  fetch.bounds = std::move(shares.cuts);
  fetch.slot =
      NarrowList(to_index(fetch.wanted()), fetch.wanted(), [n = i64{0}]() mutable { return n++; });
  const Array first = fetch_rows(rows, fetch);
  Shape back;
  for (i64 a = 0; a < first.ndim(); ++a) back.push_back(a < axis ? a + 1 : a == axis ? 0 : a);
  return first.permute(back);
}

i64 most_picked(const DNDarray& x, const LoneMask& mask) {
  i64 widest = 0, behind = 1;
  for (i64 a = *x.split() - mask.first + 1; a < mask.mask.ndim(); ++a) behind *= mask.mask.shape(a);
  for (const i64 n : x.part().counts()) widest = std::max(widest, n * behind);
  return widest;
}

bool covers_split(const DNDarray& x, const LoneMask& mask) {
  return x.split() && *x.split() >= mask.first && *x.split() < mask.first + mask.mask.ndim();
}

bool picks_nothing(const IndexPlan& checked) {
  for (i64 a = 0; a < checked.shape.size(); ++a)
    if (a != checked.position && checked.shape[a] == 0) return true;
  return false;
}

LooseMasks loose_masks(const DNDarray& x, const DistIndex& key, bool writes) {
  LooseMasks masks;
  if (!key.distributed()) return masks;
  const std::vector<i64> axes = first_axes(key.index(), x.ndim());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index::Item& item = key.index().items()[i];
    if (item.kind != Index::Kind::mask || !key.distribution()[to_index(item.value)]) continue;
    const DNDarray& mask = key.distribution()[to_index(item.value)];
    const bool counted = x.split() ? covers_split(x, {mask, axes[i]}) : !writes;
    const bool listed = counted && !x.split() && dealt_off_masks(key);
    if (!counted || (listed && known_bits(mask, {})))
      masks.bits.push_back(item.value);
    else
      (listed ? masks.listed : masks.counted).push_back(item.value);
  }
  return masks;
}

Array relayout_bits(const DNDarray& mask, const Distribution& to) {
  const Communicator& comm = mask.comm();
  const int p = comm.size(), me = comm.rank();
  const Boxes from = boxes_of(mask.shape(), mask.distribution(), p),
              into = boxes_of(mask.shape(), to, p);
  Shape shape = mask.shape();
  if (to.split) shape[*to.split] = to.part.count(me);
  const Array out = empty_dense(shape, DType::b1, mask.device());
  std::vector<Array> held;
  std::vector<std::pair<Piece, Array>> arrived;
  std::vector<Block> sends, receives;
  for (int r = 0; r < p; ++r) {
    const Piece given = piece_of(mask.shape(), from[to_index(me)], into[to_index(r)]),
                taken = piece_of(mask.shape(), from[to_index(r)], into[to_index(me)]);
    if (r == me) {
      if (!given.empty())
        inside(out, into[to_index(me)], given)
            .copy_from(inside(mask.resident(), from[to_index(me)], given));
      continue;
    }
    if (!given.empty()) {
      held.push_back(pack_bits(inside(mask.resident(), from[to_index(me)], given)));
      sends.push_back(Block::dense(r, held.back().host_data(), held.back().bytes()));
    }
    if (taken.empty()) continue;
    arrived.emplace_back(taken, empty_dense({(count_of(taken.size) + 7) / 8}, DType::u8));
    receives.push_back(
        Block::dense(r, arrived.back().second.host_data(), arrived.back().second.bytes()));
  }
  comm.exchange(sends, receives);
  for (const auto& [piece, bits] : arrived)
    inside(out, into[to_index(me)], piece)
        .copy_from(unpack_bits(bits.host<std::uint8_t>(), piece.size).to(mask.device()));
  return out;
}

Movement movement_of_bits(const DNDarray& mask, const Distribution& to) {
  const int p = mask.comm().size();
  const Boxes from = boxes_of(mask.shape(), mask.distribution(), p),
              into = boxes_of(mask.shape(), to, p);
  Movement m;
  m.sent.resize(to_index(p));
  for (int r = 0; r < p; ++r)
    for (int q = 0; q < p; ++q) {
      const Piece piece = piece_of(mask.shape(), from[to_index(r)], into[to_index(q)]);
      if (q == r || piece.empty()) continue;
      ++m.messages;
      m.sent[to_index(r)] += (count_of(piece.size) + 7) / 8;
    }
  m.bytes = std::accumulate(m.sent.begin(), m.sent.end(), i64{0});
  return m;
}

DistIndex with_whole_masks(const DistIndex& key, LooseMasks masks) {
  for (const i64 a : masks.listed)
    if (fewer_as_bits(key.distribution()[to_index(a)])) masks.bits.push_back(a);
  std::sort(masks.bits.begin(), masks.bits.end());
  if (masks.bits.empty()) return key;
  DistIndex whole;
  std::vector<Array> known;  // all of them before any is told: masks may share what they remember
  for (const i64 a : masks.bits) known.push_back(known_bits(key.distribution()[to_index(a)], {}));
  std::size_t next = 0;
  for (const Index::Item& item : key.index().items()) {
    if (add_plain(whole, item)) continue;
    const DNDarray& distribution = key.distribution()[to_index(item.value)];
    if (next < masks.bits.size() && masks.bits[next] == item.value) {
      whole.add(known[next] ? known[next] : dealt_bits(distribution, {}));
      ++next;
    } else if (distribution) {
      whole.add(distribution);
    } else {
      whole.add(key.index().arrays()[to_index(item.value)]);
    }
  }
  return whole;
}

Array aligned(const DNDarray& x, const LoneMask& mask) {
  const Distribution as{*x.split() - mask.first, x.part()};
  return mask.mask.distribution() == as ? mask.mask.resident() : relayout_bits(mask.mask, as);
}

DNDarray read_masked(const DNDarray& x, const DistIndex& key, const LoneMask& mask,
                     const IndexPlan& checked) {
  MaskUse use(x, mask);
  const Array local_mask = use.bits().to(x.device());
  const Array local = x.resident()[with_arrays(key, std::array<Array, 1>{local_mask})];
  const i64 axis = checked.position;
  const bool in_place = *x.split() == mask.first;
  const auto order = use.order([&] {
    return in_place ? std::vector<i64>{local.shape(axis)} : picked_by_row(x, mask, local_mask);
  });
  Shape shape = checked.shape;
  shape[axis] = order->total();
  if (in_place) return DNDarray(local, shape, {axis, Partition::of(order->counts())}, x.comm());
  const Partition even = Partition::even(order->total(), x.comm().size());
  Shape to_front{axis}, back;
  for (i64 a = 0; a < local.ndim(); ++a)
    if (a != axis) to_front.push_back(a);
  for (i64 a = 0; a < local.ndim(); ++a) back.push_back(a < axis ? a + 1 : a == axis ? 0 : a);
  const Array ordered = put_in_order(local.permute(to_front), *use.rows(order, even), x.comm());
  return DNDarray(ordered.permute(back), shape, {axis, even}, x.comm());
}

void write_masked(const DNDarray& x, const DistIndex& key, const LoneMask& mask,
                  const IndexPlan& checked, const DNDarray& given) {
  const i64 axis = checked.position, ndim = checked.shape.size();
  const bool whole = mask.mask.ndim() == x.ndim() && key.index().items().size() == 1;
  const bool nothing = picks_nothing(checked);
  const DNDarray value = trimmed(given, ndim);
  // The same for all of them: no rank has to know of another's. What does not fit is told below,
  // with the number of elements.
  const bool alike = !varies(value, axis, ndim) && fits(given.shape(), checked.shape);
  if (alike && nothing) return;
  MaskUse use(x, mask);
  Array local_mask = use.bits().to(x.device());
  if (may_share_memory(local_mask, x.resident())) local_mask = local_mask.copy();
  const Index local = with_arrays(key, std::array<Array, 1>{local_mask});
  if (alike) {
    const bool needs = !worth_telling(value) || reduce(ReduceOp::any, local_mask).item().as<bool>();
    const Array all = value_where_needed(value, needs);
    if (needs) x.resident().assign(local, may_share_memory(all, x.resident()) ? all.copy() : all);
    return;
  }
  const bool all = *x.split() != mask.first && !value.split();  // whoever has it looks up places
  const auto order = use.order([&] { return picked_by_row(x, mask, local_mask); }, all);
  IndexPlan plan = checked;
  plan.shape[axis] = order->total();
  if (whole)
    require<ShapeError>(value.size() == order->total(),
                        "NumPy boolean array indexing assignment cannot assign ", value.size(),
                        " input values to the ", order->total(),
                        " output values where the mask is true");
  require_fit(given.shape(), plan);
  if (nothing || order->total() == 0) return;
  const i64 own = axis - (ndim - value.ndim());
  Array mine;
  if (*x.split() == mask.first) {
    mine = value.distributed_as({own, Partition::of(order->counts())}).local();
  } else if (value.split()) {
    const DNDarray dealt = value.resplit(own);  // along another axis every rank would have a slab
    mine = in_order(dealt, own, use.rows(order, dealt.part())->shares());
  } else {
    const Distribution owned{own, Partition::of(order->counts())};
    mine = by_owners(value, own, *order).distributed_as(owned).local();
  }
  x.resident().assign(local, may_share_memory(mine, x.resident()) ? mine.copy() : mine);
}

}  // namespace tessera::dist
