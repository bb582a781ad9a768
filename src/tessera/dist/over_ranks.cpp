// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/over_ranks.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/dist/parcel.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr i64 short_bytes = 16384;  // up to here one round of messages is cheaper than fewer bytes

// One call on one rank: the arrays as flat cpu arrays, and the share of them that is worked on
// here.
struct Round {
  const Communicator& comm;
  const std::vector<int>& ranks;
  Arrays flat;
  i64 length = 0, bytes = 0;  // elements of each array; bytes of all of them
  bool whole = true;          // every rank works on everything

  i64 begin(int rank) const { return whole ? 0 : length * rank / comm.size(); }
  i64 end(int rank) const { return whole ? length : length * (rank + 1) / comm.size(); }
  std::size_t row(int rank) const {
    return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
  bool takes_part(int rank) const { return row(rank) < ranks.size(); }
};

Round prepared(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks) {
  Round r{comm, ranks, {}, mine[0].size(), 0, true};
  for (const Array& a : mine) {
    const Array dense = empty_dense({a.size()}, a.dtype(), cpu);
    dense.copy_from(a.to(cpu).reshape({-1}));
    r.flat.push_back(dense);
    r.bytes += dense.bytes();
  }
  r.whole = r.bytes <= short_bytes || comm.size() <= 2 || ranks.size() < 2;
  return r;
}

Arrays stacked_empty(const Arrays& like, std::size_t rows, i64 length) {
  Arrays all;
  for (const Array& a : like)
    all.push_back(empty_dense({static_cast<i64>(rows), length}, a.dtype(), cpu));
  return all;
}

// Everything of everybody: one record of all arrays per rank.
Arrays gathered(const Round& r) {
  std::vector<i64> counts(static_cast<std::size_t>(r.comm.size()), 0);
  for (int rank : r.ranks) counts[static_cast<std::size_t>(rank)] = r.bytes;
  std::vector<std::byte> record(static_cast<std::size_t>(r.bytes)),
      records(record.size() * r.ranks.size());
  std::size_t at = 0;
  for (const Array& a : r.flat) {
    std::memcpy(record.data() + at, a.host_data(), static_cast<std::size_t>(a.bytes()));
    at += static_cast<std::size_t>(a.bytes());
  }
  r.comm.allgather(record.data(), counts, records.data());
  const Arrays all = stacked_empty(r.flat, r.ranks.size(), r.length);
  at = 0;
  for (std::size_t row = 0; row < r.ranks.size(); ++row)
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto bytes = static_cast<std::size_t>(r.flat[k].bytes());
      std::memcpy(static_cast<std::byte*>(all[k].host_data()) + row * bytes, records.data() + at,
                  bytes);
      at += bytes;
    }
  return all;
}

// This rank's share of what everybody has.
Arrays shared_out(const Round& r) {
  const int me = r.comm.rank();
  const Arrays all = stacked_empty(r.flat, r.ranks.size(), r.end(me) - r.begin(me));
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<Part> sends, receives;
    if (r.takes_part(me))
      for (int q = 0; q < r.comm.size(); ++q)
        sends.push_back({q, r.flat[k].slice(0, r.begin(q), r.end(q))});
    for (std::size_t row = 0; row < r.ranks.size(); ++row)
      receives.push_back({r.ranks[row], all[k].select(0, static_cast<i64>(row))});
    exchange(sends, receives, r.comm);
  }
  return all;
}

Arrays collected(const Round& r) { return r.whole ? gathered(r) : shared_out(r); }

// The shares of the answer put together on every rank.
Array joined(const Round& r, const Array& share) {
  if (r.whole) return share;
  const Array all = empty_dense({r.length}, share.dtype(), cpu);
  std::vector<i64> counts;
  for (int q = 0; q < r.comm.size(); ++q)
    counts.push_back((r.end(q) - r.begin(q)) * size_of(share.dtype()));
  const Array dense = share.contiguous();
  r.comm.allgather(dense.host_data(), counts, all.host_data());
  return all;
}

Array placed(const Array& flat, const Array& like) {
  return flat.contiguous().reshape(like.shape()).to(like.device());
}

}  // namespace

Arrays fold_ranks(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks,
                  const OverRanks& f) {
  const Round r = prepared(comm, mine, ranks);
  Arrays answers;
  for (const Array& share : f(collected(r))) answers.push_back(placed(joined(r, share), mine[0]));
  return answers;
}

Arrays scan_ranks(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks,
                  const OverRanks& f) {
  const Round r = prepared(comm, mine, ranks);
  const int me = comm.rank();
  Arrays answers;
  for (const Array& rows : f(collected(r))) {
    if (r.whole) {
      if (r.takes_part(me))
        answers.push_back(placed(rows.select(0, static_cast<i64>(r.row(me))), mine[0]));
      continue;
    }
    const Array row = empty_dense({r.takes_part(me) ? r.length : 0}, rows.dtype(), cpu);
    std::vector<Part> sends, receives;
    for (std::size_t k = 0; k < ranks.size(); ++k)
      sends.push_back({ranks[k], rows.select(0, static_cast<i64>(k))});
    if (r.takes_part(me))
      for (int q = 0; q < comm.size(); ++q)
        receives.push_back({q, row.slice(0, r.begin(q), r.end(q))});
    exchange(sends, receives, comm);
    if (r.takes_part(me)) answers.push_back(placed(row, mine[0]));
  }
  return answers;
}

}  // namespace tessera::dist
