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

// The questions of one rank: values in order without repetition, and which of them each value is.
// Complex numbers may repeat: those with NaNs are one value to unique, but not in order.
struct Questions {
  Array values, inverse;
};
Questions questions_of(const Array& values) {
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

  // How many of the ordered questions each rank answers; those beyond the last block need no
  // answer and stand at the end.
  std::vector<i64> pieces(const Array& questions, bool right) const {
    const Array known = lasts_.astype(questions.dtype()).to(questions.device());
    const Array block = tessera::searchsorted(known, questions, right);
    const Array numbers =
        arange(Value(0), Value(lasts_.size()), Value(1), DType::i64, questions.device());
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

// Positions in all blocks for every question: what came, then the size of the array for the rest.
Array completed(const Array& came, const Routes& routes, const Partition& part, i64 questions) {
  const Array out = full({questions}, Value(part.size()), DType::i64, came.device());
  out.slice(0, 0, came.size())
      .copy_from(shifted(came, routes, part.starts().first(to_index(part.ranks()))));
  return out;
}

// Values that are distributed: questions go to their ranks and answers come back.
Array ask(const Array& questions, std::vector<i64> pieces, const Array& block, bool right,
          const DNDarray& sorted) {
  const Communicator& comm = sorted.comm();
  const i64 asked = sum(pieces);
  const Routes routes = routes_of(std::move(pieces), comm);
  const Array come = move_pieces(questions.slice(0, 0, asked), routes, comm);
  const Array answers = tessera::searchsorted(block, come, right);
  const DType travel = counting_type(sorted.part().counts());
  const Array back = move_pieces(answers.astype(travel), routes.back(), comm);
  return completed(back, routes.back(), sorted.part(), questions.size());
}

// Values that every rank holds: each rank answers its part, and all hear all answers.
Array share(const Array& questions, const std::vector<i64>& pieces, const Array& block, bool right,
            const DNDarray& sorted) {
  const Communicator& comm = sorted.comm();
  const DType travel = counting_type(sorted.part().counts());
  i64 begin = 0;
  for (int r = 0; r < comm.rank(); ++r) begin += pieces[to_index(r)];
  const Array mine = questions.slice(0, begin, begin + pieces[to_index(comm.rank())]);
  const Array answers =
      tessera::searchsorted(block, mine, right).astype(travel).to(cpu).contiguous();
  const Array all = empty_dense({sum(pieces)}, travel);
  std::vector<i64> bytes = pieces;
  for (i64& n : bytes) n *= size_of(travel);
  comm.allgather(answers.host_data(), bytes, all.host_data());
  return completed(all.to(questions.device()), Routes{{}, pieces}, sorted.part(), questions.size());
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
  const Questions questions = questions_of(values.local().astype(dtype));
  std::vector<i64> pieces = blocks.pieces(questions.values, right);
  const Array answers = values.distributed()
                            ? ask(questions.values, std::move(pieces), block, right, sorted)
                            : share(questions.values, pieces, block, right, sorted);
  return result(take(answers, questions.inverse, 0));
}

}  // namespace tessera::dist
