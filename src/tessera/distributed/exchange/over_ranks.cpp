// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/over_ranks.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr i64 short_bytes = 16384;  // up to here one round of messages is cheaper than fewer bytes

// A segment of the arrays, flat on the cpu, and the share of it that is worked on here.
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

// f(round, begin) for the segments of the arrays, one after the other.
template <class F>
void in_segments(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks,
                 F&& f) {
  Arrays flat;
  i64 item = 0;
  for (const Array& a : mine) {
    flat.push_back(a.to(cpu).contiguous().reshape({-1}));
    item += size_of(a.dtype());
  }
  const i64 length = mine[0].size(), step = std::max<i64>(1, config().staging_bytes / item);
  for (i64 begin = 0; begin < length; begin += step) {
    const i64 n = std::min(step, length - begin);
    Round r{comm, ranks, {}, n, n * item, true};
    r.whole = r.bytes <= short_bytes || comm.size() <= 2 || ranks.size() < 2;
    for (const Array& a : flat) r.flat.push_back(a.slice(0, begin, begin + n));
    f(r, begin);
  }
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
    if (a.bytes() == 0) continue;
    std::memcpy(record.data() + at, a.host_data(), static_cast<std::size_t>(a.bytes()));
    at += static_cast<std::size_t>(a.bytes());
  }
  r.comm.allgather(record.data(), counts, records.data());
  const Arrays all = stacked_empty(r.flat, r.ranks.size(), r.length);
  at = 0;
  for (std::size_t row = 0; row < r.ranks.size(); ++row)
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto bytes = static_cast<std::size_t>(r.flat[k].bytes());
      if (bytes == 0) continue;
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
    std::vector<TravelPart> sends, receives;
    if (r.takes_part(me))
      for (int q = 0; q < r.comm.size(); ++q)
        sends.push_back({q, r.flat[k].slice(0, r.begin(q), r.end(q))});
    for (std::size_t row = 0; row < r.ranks.size(); ++row)
      receives.push_back({r.ranks[row], all[k].select(0, static_cast<i64>(row))});
    exchange(sends, receives, nullptr, r.comm);
  }
  return all;
}

Arrays collected(const Round& r) { return r.whole ? gathered(r) : shared_out(r); }

// The shares of the answer put together on every rank.
Array joined(const Round& r, const Array& share) {
  if (r.whole) return share;
  const Array all = empty_dense({r.length}, share.dtype(), cpu);
  std::vector<i64> counts;
  counts.reserve(static_cast<std::size_t>(r.comm.size()));
  for (int q = 0; q < r.comm.size(); ++q)
    counts.push_back((r.end(q) - r.begin(q)) * size_of(share.dtype()));
  const Array dense = share.contiguous();
  r.comm.allgather(dense.host_data(), counts, all.host_data());
  return all;
}

// Room for the answer to all segments.
Array room_for(const Array& segment, i64 length) {
  return empty_dense({length}, segment.dtype(), cpu);
}

Arrays placed(const Arrays& flat, const Array& like) {
  Arrays all;
  for (const Array& a : flat) all.push_back(a.reshape(like.shape()).to(like.device()));
  return all;
}

// The row of this rank: each rank has worked on its share of all rows.
void send_back(const Round& r, const Array& rows, const Array& row) {
  const int me = r.comm.rank();
  std::vector<TravelPart> sends, receives;
  for (std::size_t k = 0; k < r.ranks.size(); ++k)
    sends.push_back({r.ranks[k], rows.select(0, static_cast<i64>(k))});
  if (r.takes_part(me))
    for (int q = 0; q < r.comm.size(); ++q)
      receives.push_back({q, row.slice(0, r.begin(q), r.end(q))});
  exchange(sends, receives, nullptr, r.comm);
}

}  // namespace

Arrays fold_ranks(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks,
                  const OverRanks& f) {
  Arrays answers;
  in_segments(comm, mine, ranks, [&](const Round& r, i64 begin) {
    const Arrays shares = f(collected(r));
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (begin == 0) answers.push_back(room_for(shares[k], mine[0].size()));
      answers[k].slice(0, begin, begin + r.length).copy_from(joined(r, shares[k]));
    }
  });
  return placed(answers, mine[0]);
}

Arrays scan_ranks(const Communicator& comm, const Arrays& mine, const std::vector<int>& ranks,
                  const OverRanks& f) {
  Arrays answers;
  in_segments(comm, mine, ranks, [&](const Round& r, i64 begin) {
    const Arrays all = f(collected(r));
    const int me = comm.rank();
    const bool takes_part = r.takes_part(me);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (begin == 0 && takes_part) answers.push_back(room_for(all[k], mine[0].size()));
      const Array row = takes_part ? answers[k].slice(0, begin, begin + r.length) : Array();
      if (!r.whole)
        send_back(r, all[k], row);
      else if (takes_part)
        row.copy_from(all[k].select(0, static_cast<i64>(r.row(me))));
    }
  });
  return placed(answers, mine[0]);
}

}  // namespace tessera::dist
