// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/exchange.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/comm/self.hpp"
#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/merge.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {

i64 Routes::received() const { return std::accumulate(receives.begin(), receives.end(), i64{0}); }

i64 Routes::sources() const {
  return std::count_if(receives.begin(), receives.end(), [](i64 n) { return n > 0; });
}

Routes routes_of(std::vector<i64> sends, const Communicator& comm, std::span<const i64> counts) {
  constexpr i64 few = 512;
  Routes routes{std::move(sends), std::vector<i64>(static_cast<std::size_t>(comm.size())),
                !counts.empty() && *std::max_element(counts.begin(), counts.end()) <= few};
  comm.alltoall(routes.sends.data(), sizeof(i64), routes.receives.data());
  return routes;
}

std::vector<i64> pieces_of(std::span<const i64> splitters, i64 count, int ranks) {
  std::vector<i64> pieces;
  i64 begin = 0;
  for (std::size_t q = 0; q < static_cast<std::size_t>(ranks); ++q) {
    const i64 end = q < splitters.size() ? splitters[q] : count;
    pieces.push_back(end - begin);
    begin = end;
  }
  return pieces;
}

Array move_pieces(const Array& mine, const Routes& routes, const Communicator& comm) {
  const i64 item = size_of(mine.dtype());
  const Array from = mine.to(cpu).contiguous(), to = empty_dense({routes.received()}, mine.dtype());
  auto blocks = [&](const std::vector<i64>& lengths, const Array& memory) {
    std::vector<Block> list;
    const std::byte* next = static_cast<const std::byte*>(memory.host_data());
    for (std::size_t q = 0; q < lengths.size(); ++q) {
      if (lengths[q] == 0) continue;
      list.push_back(Block::dense(static_cast<int>(q), next, lengths[q] * item));
      next += lengths[q] * item;
    }
    return list;
  };
  std::vector<Block> sends = blocks(routes.sends, from), receives = blocks(routes.receives, to);
  if (!routes.few) {
    comm.exchange(sends, receives);
    return to.to(mine.device());
  }
  copy_own_block(comm.rank(), sends, receives);
  const auto own = [&](const Block& b) { return b.rank == comm.rank(); };
  std::erase_if(sends, own);
  std::erase_if(receives, own);
  comm.exchange_short(sends, receives);
  return to.to(mine.device());
}

void exchange_pieces(const PieceExchange& pieces, i64 item, const Communicator& comm) {
  struct Announced {
    i64 items = 0, more = 0;
  };
  const std::size_t ranks = to_index(comm.size());
  std::vector<Announced> out(ranks), in(ranks);
  for (bool going_on = true; going_on;) {
    const bool more = pieces.fill();
    for (std::size_t q = 0; q < ranks; ++q) out[q] = {pieces.ready(q), more};
    comm.alltoall(out.data(), sizeof(Announced), in.data());
    std::vector<Block> sends, receives;
    going_on = false;
    for (std::size_t q = 0; q < ranks; ++q) {
      const int r = static_cast<int>(q);
      going_on = going_on || in[q].more != 0;
      if (out[q].items > 0)
        sends.push_back(Block::dense(r, pieces.send_from(q), out[q].items * item));
      if (in[q].items > 0)
        receives.push_back(Block::dense(r, pieces.receive_at(q), in[q].items * item));
    }
    comm.exchange(sends, receives);
    for (std::size_t q = 0; q < ranks; ++q) pieces.done(q, in[q].items);
  }
}

DType counting_type(i64 n) {
  if (n <= i64{1} << 8) return DType::u8;
  if (n <= i64{1} << 16) return DType::u16;
  return n <= i64{1} << 32 ? DType::u32 : DType::i64;
}

DType counting_type(std::span<const i64> counts) {
  return counting_type(*std::max_element(counts.begin(), counts.end()));
}

Array shifted(const Array& received, const Routes& routes, std::span<const i64> starts) {
  const Array out = empty_dense(received.shape(), DType::i64, received.device());
  i64 begin = 0;
  for (std::size_t r = 0; r < starts.size(); ++r) {
    const i64 end = begin + routes.receives[r];
    const Array piece = out.slice(0, begin, end);
    piece.copy_from(received.slice(0, begin, end));
    if (starts[r] != 0 && begin < end)
      elementwise(ElementOp::add, std::array<ArrayOrValue, 2>{piece, Value(starts[r])}, piece);
    begin = end;
  }
  return out;
}

namespace {

std::vector<i64> starts_of(std::span<const i64> counts) {
  std::vector<i64> starts(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  return starts;
}

// So few items that samples would be most of them: rank 0 puts them in order. About as many bytes,
// but no rounds.
bool are_few(i64 total, int ranks) {
  return total <= std::min<i64>(i64{16} * ranks * ranks, 1 << 16);
}

Ordered order_few(const Array& items, std::span<const i64> counts, const Partition& part,
                  const OrderWants& wants, const Communicator& comm) {
  const Partition from = Partition::of(counts);
  auto on_root = [&](i64 n) { return Distribution{0, Partition::all_on(n, comm.size(), 0)}; };
  auto gather = [&](const Array& a) {
    const i64 n = from.size();
    return DNDarray(a, {n}, {0, from}, comm).distributed_as(on_root(n)).local();
  };
  auto scatter = [&](const Array& a) {
    const i64 n = part.size();
    return DNDarray(a, {n}, on_root(n), comm).distributed_as({0, part}).local();
  };
  const Array all = gather(items);
  const Array order = stable_order(all, 0, wants.descending).slice(0, 0, part.size());
  Ordered result;
  if (wants.values) result.values = scatter(take(all, order, 0));
  if (!wants.positions) return result;
  const auto extents = wants.given ? wants.extents : counts;
  const DType travel = counting_type(std::accumulate(extents.begin(), extents.end(), i64{0}));
  Array positions = order;
  if (wants.given) {
    const i64 start = starts_of(extents)[static_cast<std::size_t>(comm.rank())];
    positions = take(gather(ops::add(wants.given, Value(start)).astype(travel)), order, 0);
  }
  result.positions = scatter(positions.astype(travel)).astype(DType::i64);
  return result;
}

}  // namespace

Ordered order_items(const Array& items, std::span<const i64> counts, const Partition& part,
                    const OrderWants& wants, const Communicator& comm) {
  const i64 total = std::accumulate(counts.begin(), counts.end(), i64{0});
  if (are_few(total, comm.size())) return order_few(items, counts, part, wants, comm);
  const bool by_value = !wants.positions && !wants.descending;
  Array order, mine;
  if (by_value) {
    mine = tessera::sort(items);
  } else {
    order = stable_order(items, 0, wants.descending);
    mine = take(items, order, 0);
  }
  // Without the last splitter when nothing lies beyond it.
  std::span<const i64> targets = part.starts().subspan(1);
  if (part.size() == total) targets = targets.first(targets.size() - 1);
  std::vector<i64> splitters = find_splitters(mine, counts, targets, wants.descending, comm);
  const Routes routes = routes_of(pieces_of(splitters, items.size(), comm.size()), comm, counts);
  const i64 sent = std::accumulate(routes.sends.begin(), routes.sends.end(), i64{0});
  const Array values = move_pieces(mine.slice(0, 0, sent), routes, comm);
  mine = Array();  // memory that is not needed while what came is put in order
  const bool mixed = routes.sources() > 1;
  if (by_value) return {merged(values, routes.receives), {}};
  const auto extents = wants.given ? wants.extents : counts;
  Array came;
  if (wants.positions) {
    order = order.slice(0, 0, sent);
    if (wants.given) order = take(wants.given, order, 0);
    order = order.astype(counting_type(extents));
    came = move_pieces(order, routes, comm);
  }
  order = Array();
  const Array merged_order = mixed ? stable_order(values, 0, wants.descending) : Array();
  auto in_order = [&](const Array& a) { return mixed ? take(a, merged_order, 0) : a; };
  Ordered result;
  if (wants.values) result.values = in_order(values);
  if (wants.positions) result.positions = in_order(shifted(came, routes, starts_of(extents)));
  return result;
}

}  // namespace tessera::dist
