// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/searchsorted.hpp"

#include <cstring>

#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// The queries of one rank: values in order without repetition, and which of them each value is.
// Complex numbers may repeat: those with NaNs are one value to unique, but not in order.
struct Queries {
  Array values, inverse;
};
Queries queries_of(const Array& values) {
  if (!is_complex(values.dtype())) {
    const auto u = tessera::unique(values);
    return {u.values, u.inverse};
  }
  const Array flat = values.reshape({values.size()}), order = tessera::argsort(flat);
  return {take(flat, order, 0), tessera::argsort(order).reshape(values.shape())};
}

// The blocks of the sorted array, by what all ranks know of them.
class Blocks {
 public:
  Blocks(const DNDarray& sorted, const Array& local) : part_(sorted.part()) {
    const Communicator& comm = sorted.comm();
    const i64 item = size_of(sorted.dtype());
    std::vector<std::byte> mine(to_index(item)), all(to_index(item * comm.size()));
    if (local.size() > 0) {
      const Array last = local.select(0, local.size() - 1).to(cpu).contiguous();
      std::memcpy(mine.data(), last.host_data(), to_index(item));
    }
    comm.allgather(mine.data(), item, all.data());
    for (int r = 0; r < comm.size(); ++r)
      if (part_.count(r) > 0) ranks_.push_back(r);
    lasts_ = empty_dense({static_cast<i64>(ranks_.size())}, sorted.dtype());
    std::byte* to = static_cast<std::byte*>(lasts_.host_data());
    for (int r : ranks_) {
      std::memcpy(to, all.data() + r * item, to_index(item));
      to += item;
    }
  }

  // How many of the ordered queries each rank answers; those beyond the last block need no
  // answer and stand at the end.
  std::vector<i64> pieces(const Array& queries, bool right) const {
    const Array known = lasts_.astype(queries.dtype()).to(queries.device());
    const Array block = tessera::searchsorted(known, queries, right);
    const Array numbers =
        arange(Value(0), Value(lasts_.size()), Value(1), DType::i64, queries.device());
    const Array ends = tessera::searchsorted(block, numbers, /*right=*/true).to(cpu).contiguous();
    std::vector<i64> lengths(to_index(part_.ranks()), 0);
    i64 begin = 0;
    for (std::size_t k = 0; k < ranks_.size(); ++k) {
      const i64 end = ends.host<i64>()[k];
      lengths[to_index(ranks_[k])] = end - begin;
      begin = end;
    }
    return lengths;
  }

 private:
  Partition part_;
  std::vector<int> ranks_;  // those with a block that is not empty
  Array lasts_;             // their last values, on the host
};

i64 sum(std::span<const i64> v) {
  i64 total = 0;
  for (i64 n : v) total += n;
  return total;
}

// Positions in all blocks for every query: what came, then the size of the array for the rest.
Array completed(const Array& came, const Routes& routes, const Partition& part, i64 queries) {
  const Array out = full({queries}, Value(part.size()), DType::i64, came.device());
  out.slice(0, 0, came.size())
      .copy_from(shifted(came, routes, part.starts().first(to_index(part.ranks()))));
  return out;
}

// Values that are distributed: queries go to their ranks and answers come back.
Array sent_to_owners(const Array& queries, std::vector<i64> pieces, const Array& block, bool right,
                     const DNDarray& sorted) {
  const Communicator& comm = sorted.comm();
  const i64 sent = sum(pieces);
  const Routes routes = routes_of(std::move(pieces), comm);
  const Array come = move_pieces(queries.slice(0, 0, sent), routes, comm);
  const Array answers = tessera::searchsorted(block, come, right);
  const DType travel = counting_type(sorted.part().counts());
  const Array back = move_pieces(answers.astype(travel), routes.back(), comm);
  return completed(back, routes.back(), sorted.part(), queries.size());
}

// Values that every rank holds: each rank answers its part, and all hear all answers.
Array answered_in_parts(const Array& queries, const std::vector<i64>& pieces, const Array& block,
                        bool right, const DNDarray& sorted) {
  const Communicator& comm = sorted.comm();
  const DType travel = counting_type(sorted.part().counts());
  i64 begin = 0;
  for (int r = 0; r < comm.rank(); ++r) begin += pieces[to_index(r)];
  const Array mine = queries.slice(0, begin, begin + pieces[to_index(comm.rank())]);
  const Array answers =
      tessera::searchsorted(block, mine, right).astype(travel).to(cpu).contiguous();
  const Array all = empty_dense({sum(pieces)}, travel);
  std::vector<i64> bytes = pieces;
  for (i64& n : bytes) n *= size_of(travel);
  comm.allgather(answers.host_data(), bytes, all.host_data());
  return completed(all.to(queries.device()), Routes{{}, pieces}, sorted.part(), queries.size());
}

}  // namespace

DNDarray searchsorted(const DNDarray& sorted, const DNDarray& values, bool right) {
  require_same_group("searchsorted", sorted, values);
  require<ShapeError>(sorted.ndim() == 1, "searchsorted: the sorted array has shape ",
                      sorted.shape(), ", expected one dimension");
  auto result = [&](const Array& a) {
    return DNDarray(a, values.shape(), values.distribution(), values.comm());
  };
  if (!sorted.distributed())
    return result(tessera::searchsorted(sorted.local(), values.local(), right));
  if (sorted.size() == 0 || values.size() == 0)
    return result(zeros(values.lshape(), DType::i64, values.device()));
  const DType dtype = promote(sorted.dtype(), values.dtype());
  const Array block = sorted.local().astype(dtype);
  const Blocks blocks(sorted, sorted.local());
  const Queries queries = queries_of(values.local().astype(dtype));
  std::vector<i64> pieces = blocks.pieces(queries.values, right);
  const Array answers =
      values.distributed() ? sent_to_owners(queries.values, std::move(pieces), block, right, sorted)
                           : answered_in_parts(queries.values, pieces, block, right, sorted);
  return result(take(answers, queries.inverse, 0));
}

}  // namespace tessera::dist
