// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/operators/batched_ranks.hpp"

#include <algorithm>
#include <exception>
#include <functional>

#include "tessera/distributed/array/error_of_all.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"

namespace tessera::dist {
namespace {

constexpr std::string_view who = "create_batched_linop";

bool same(const Tile& a, const Tile& b) {
  return std::equal(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                    [](const Cut& p, const Cut& q) {
                      return p.dim == q.dim && p.start == q.start && p.stop == q.stop;
                    });
}

bool meet(const Tile& a, const Tile& b) {
  return std::all_of(a.cuts.begin(), a.cuts.end(), [&](const Cut& p) {
    const Cut* q = b.find(p.dim);
    return !q || (p.start < q->stop && q->start < p.stop);
  });
}

RankShares shares_of(const std::vector<TilesOfRank::Owned>& tiles, Tile TilesOfRank::Owned::*side,
                     int ranks) {
  RankShares s;
  s.of.resize(to_index(ranks));
  for (const auto& t : tiles) {
    std::vector<Tile>& own = s.of[to_index(t.rank)];
    if (std::none_of(own.begin(), own.end(), [&](const Tile& o) { return same(o, t.*side); }))
      own.push_back(t.*side);
    for (const auto& other : tiles)
      if (other.rank != t.rank && meet(other.*side, t.*side)) s.apart = false;
  }
  return s;
}

RankShares renamed_shares(const RankShares& s, const Renames& r) {
  RankShares all = s;
  for (std::vector<Tile>& own : all.of)
    for (Tile& t : own) t = t.renamed(r);
  return all;
}

// Every rank sends its parts of y and takes those of the others in their places: one part of each
// rank at a time.
void collect(const Array& y, const Dims& names, const RankShares& shares,
             const Communicator& comm) {
  auto* const first = static_cast<std::byte*>(y.storage().data());
  auto block = [&](int rank, const Tile& tile) {
    return Block{rank, first, size_of(y.dtype()), part_of(y.layout(), names, tile)};
  };
  std::size_t rounds = 0;
  for (const std::vector<Tile>& own : shares.of) rounds = std::max(rounds, own.size());
  const std::vector<Tile>& mine = shares.of[to_index(comm.rank())];
  for (std::size_t k = 0; k < rounds; ++k) {
    std::vector<Block> sends, receives;
    for (int q = 0; q < comm.size(); ++q) {
      if (q == comm.rank()) continue;
      const std::vector<Tile>& theirs = shares.of[to_index(q)];
      if (k < mine.size()) sends.push_back(block(q, mine[k]));
      if (k < theirs.size()) receives.push_back(block(q, theirs[k]));
    }
    comm.exchange(sends, receives);
  }
}

// What this rank computed, made whole.
Array completed(const Array& part, const BatchedRanks& a) {
  const Array y = part.to(cpu).contiguous();
  if (a.out.apart)
    collect(y, a.shape().oshape, a.out, a.comm);
  else
    a.comm.allreduce(y.host_data(), y.size(), y.dtype(), Combine::sum);
  return y.to(a.base);
}

BatchedRanks over_ranks(const TilesOfRank& t, const Communicator& comm,
                        std::optional<CutFrom> from) {
  return {t.mine,
          comm,
          t.base,
          shares_of(t.tiles, &TilesOfRank::Owned::in, comm.size()),
          shares_of(t.tiles, &TilesOfRank::Owned::out, comm.size()),
          std::move(from)};
}

// An operator on arrays of these dims that cannot be applied.
NamedLinop fails(const std::exception_ptr& error, const Dims& ioshape) {
  const SimpleLinop::Function raise = [error](const Array&) -> Array {
    std::rethrow_exception(error);
  };
  return SimpleLinop(raise, raise, {}, ioshape);
}

}  // namespace

void BatchedRanks::apply(Recorder& r, const View& x, const View& y) const {
  const View reads[] = {x};
  r.call(
      "over ranks",
      [op = *this](std::span<const Array> in, const Array& out) {
        if (op.comm.alone()) return op.mine(in[0], out);
        Array part;
        error_of_all(op.comm, [&] { part = op.mine(in[0]); });
        out.copy_from(completed(part, op));
      },
      reads, y);
}

NamedLinop BatchedRanks::renamed(const Renames& r) const {
  return BatchedRanks{mine.rename(r),
                      comm,
                      base,
                      renamed_shares(in, r),
                      renamed_shares(out, r),
                      from ? std::optional(from->renamed(r)) : std::nullopt};
}

// Note [normals are made alone]: not collective, as the places are among those of the tiles, which
// all ranks have. What names and sizes forbid fails on all ranks at once. Where else it fails on
// this rank, others may have theirs and will apply it: the error is kept, and raised on all of them
// when it is applied.
std::optional<NamedLinop> BatchedRanks::cut_alike(
    const std::function<std::optional<NamedLinop>()>& make) const {
  const OfRank rank{comm.rank(), comm.size()};
  try {
    const std::optional<NamedLinop> normal = make();
    if (!normal) return std::nullopt;
    return over_ranks(tiles_of_rank(*normal, from->specs_of(*normal), from->input, rank), comm, {});
  } catch (const DimError&) {
    throw;
  } catch (const ShapeError&) {
    throw;
  } catch (const SplitError&) {
    throw;
  } catch (...) {
    if (comm.alone()) throw;
    return BatchedRanks{fails(std::current_exception(), shape().ishape), comm, base, in, in};
  }
}

NamedLinop BatchedRanks::split(const Tile& tile) const {
  throw SplitError(cat("BatchedRanks ", shape().str(), " cannot be cut along dim '",
                       tile.cuts.front().dim, "': its tiles lie on several ranks"));
}

NamedLinop BatchedRanks::to(Device d) const {
  require<DeviceError>(d == base, "BatchedRanks ", shape().str(), ": to(", d,
                       "): its tiles have their places; create it again with another spec");
  return *this;
}

std::string BatchedRanks::details() const {
  const std::size_t own = out.of[to_index(comm.rank())].size();
  return cat(comm.str(), " computes ", own, " parts of the result, ",
             out.apart ? "all are collected" : "all are summed");
}

NamedLinop create_batched_linop(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                                const std::optional<Shape>& input, const Communicator& comm) {
  std::optional<TilesOfRank> t;
  error_of_all(comm, [&] { t = tiles_of_rank(a, specs, input, {comm.rank(), comm.size()}); });
  const NamedLinop over = over_ranks(*t, comm, CutFrom::where_normals_differ(a, specs, input));
  return a.name() == a.kind() ? over : over.named(a.name());
}

}  // namespace tessera::dist
