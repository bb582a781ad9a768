// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/fetch.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

// f(first, slots) for all entries, some at a time, until it says no.
constexpr i64 some_slots = 64 << 10, near_bytes = 512 << 10;  // they stay near
template <class F>
void each_slots(const NarrowList& slot, i64 some, F&& f) {
  const auto n = static_cast<i64>(slot.size());
  for (i64 first = 0; first < n; first += some)
    if (!f(first, slot.piece(first, std::min(some, n - first)))) return;
}

bool in_order(const NarrowList& slot, std::size_t distinct) {
  bool yes = slot.size() == distinct;
  if (!yes) return false;
  each_slots(slot, some_slots, [&](i64 first, const NumberList& some) {
    for (const i64 s : some) yes = yes && s == first++;
    return yes;
  });
  return yes;
}

// The entries by what they want, so that a piece of rows knows where it goes.
constexpr i64 list_bytes = 3 * sizeof(i64);  // of an entry, while the list is made
struct BySlot {
  std::vector<i64> first, entries;
  i64 wanted_by(i64 slot) const {
    return first[to_index(slot + 1)] - first[to_index(slot)];
  }  // entries
  explicit BySlot(const Fetch& fetch)
      : first(to_index(fetch.wanted() + 1)), entries(fetch.slot.size()) {
    const NumberList slot = fetch.slot.all();
    for (const i64 s : slot) ++first[to_index(s + 1)];
    for (std::size_t s = 1; s < first.size(); ++s) first[s] += first[s - 1];
    std::vector<i64> next(first.begin(), first.end() - 1);
    for (std::size_t j = 0; j < slot.size(); ++j)
      entries[to_index(next[to_index(slot[j])]++)] = static_cast<i64>(j);
  }
};

// Beside the result there is never more than a few pieces of each rank.
class RowFetch {
 public:
  RowFetch(const IndexedRows& rows, const Fetch& fetch)
      : rows_(rows),
        fetch_(fetch),
        x_(rows.array()),
        bytes_(rows.row_bytes()),
        piece_(rows_of_piece(rows)) {
    const i64 wanted = fetch.wanted();
    straight_ = in_order(fetch.slot, to_index(wanted));
    // Rows that several entries want are kept once and copied in the end, while that is not much:
    // less than a list of who wants them.
    keep_ = straight_ || wanted * bytes_ <= config().staging_bytes || bytes_ <= list_bytes;
    Shape shape{keep_ ? wanted : static_cast<i64>(fetch.slot.size())};
    shape.append(rows.rest());
    out_ = empty_dense(shape, x_.dtype(), keep_ ? cpu : x_.device());
    if (!keep_) by_slot_.emplace(fetch);
  }

  Array run() {
    if (bytes_ > 0)
      for (i64 piece = 0; round(piece); ++piece) {
      }
    if (!keep_) return out_;
    const Array there = out_.to(x_.device());
    if (straight_) return there;
    if (x_.device().kind != Kind::cpu)
      return take(there, list_of(fetch_.slot.all()).to(x_.device()), 0);
    Shape shape = out_.shape();
    shape[0] = static_cast<i64>(fetch_.slot.size());
    const Array each = empty_dense(shape, x_.dtype());
    const i64 near = std::clamp<i64>(near_bytes / std::max<i64>(1, bytes_), 1, some_slots);
    each_slots(fetch_.slot, near, [&](i64 first, const NumberList& some) {
      const auto n = static_cast<i64>(some.size());
      each.slice(0, first, first + n).copy_from(take(there, list_of(some), 0));
      return true;
    });
    return each;
  }

 private:
  struct Piece {
    i64 first = 0, count = 0;
  };
  // Piece number k of `n` rows.
  Piece piece_of(i64 n, i64 k) const {
    const i64 first = std::min(n, k * piece_);
    return {first, std::min(piece_, n - first)};
  }

  // False when this rank has nothing left to give or to get.
  bool round(i64 k) {
    const Communicator& comm = x_.comm();
    const int me = comm.rank();
    std::vector<Array> held;
    std::vector<std::pair<Piece, Array>> arrived;  // where in `wanted`
    std::vector<Block> sends, receives;
    bool any = false;
    for (int r = 0; r < comm.size(); ++r) {
      const i64 first = fetch_.bounds[to_index(r)], count = fetch_.bounds[to_index(r) + 1] - first;
      const Piece in = piece_of(count, k);
      if (in.count > 0) {
        any = true;
        const Piece wanted{first + in.first, in.count};
        if (r == me) {
          place(wanted, rows_.read(fetch_.serve[to_index(me)].piece(in.first, in.count)));
        } else {
          arrived.emplace_back(wanted, landing(wanted));
          receives.push_back(Block::dense(r, arrived.back().second.host_data(), in.count * bytes_));
        }
      }
      if (r == me) continue;
      const NarrowList& ids = fetch_.serve[to_index(r)];
      const Piece out = piece_of(static_cast<i64>(ids.size()), k);
      if (out.count == 0) continue;
      any = true;
      held.push_back(on_host_dense(rows_.read(ids.piece(out.first, out.count))));
      sends.push_back(Block::dense(r, held.back().host_data(), held.back().bytes()));
    }
    comm.exchange(sends, receives);
    if (!keep_)
      for (const auto& [wanted, rows] : arrived) place(wanted, rows);
    return any;
  }
  // Where rows from another rank arrive: at their place already, where they are kept.
  Array landing(const Piece& wanted) const {
    if (keep_) return out_.slice(0, wanted.first, wanted.first + wanted.count);
    Shape shape = out_.shape();
    shape[0] = wanted.count;
    return empty_dense(shape, out_.dtype(), cpu);
  }
  void place(const Piece& wanted, const Array& rows) const {
    if (keep_) {
      out_.slice(0, wanted.first, wanted.first + wanted.count).copy_from(on_host_dense(rows));
      return;
    }
    const i64 begin = by_slot_->first[to_index(wanted.first)],
              end = by_slot_->first[to_index(wanted.first + wanted.count)];
    const std::span<const i64> entries{by_slot_->entries.data() + begin, to_index(end - begin)};
    std::vector<i64> which;
    for (i64 s = 0; s < wanted.count; ++s)
      which.insert(which.end(), to_index(by_slot_->wanted_by(wanted.first + s)), s);
    const Device device = out_.device();
    out_.assign(Index(list_of(entries).to(device)),
                take(rows.to(device), list_of(which).to(device), 0));
  }

  const IndexedRows& rows_;
  const Fetch& fetch_;
  const DNDarray& x_;
  i64 bytes_ = 0, piece_ = 1;
  bool straight_ = false, keep_ = false;
  Array out_;
  std::optional<BySlot> by_slot_;
};

i64 row_messages(const IndexedRows& rows, i64 count) {
  const i64 piece = rows_of_piece(rows);
  return (count + piece - 1) / piece;
}

}  // namespace

i64 rows_of_piece(const IndexedRows& rows) {
  const i64 share = config().staging_bytes / rows.array().comm().size();  // of all ranks, each way
  return std::max<i64>(1, share / (rows.row_bytes() + 2 * static_cast<i64>(sizeof(i64))));
}

Array fetch_rows(const IndexedRows& rows, const Fetch& fetch) {
  return RowFetch(rows, fetch).run();
}

i64 most_wanted(const IndexedRows& rows, const std::vector<i64>& entries, int rank, int owner) {
  return rank == owner ? 0 : std::min(entries[to_index(rank)], rows.radix(owner));
}

void count_fetched(Transfers& t, const IndexedRows& rows, const std::vector<i64>& entries) {
  Transfer& sent = t.pairs(Content::rows, false);
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q) {
      const i64 count = most_wanted(rows, entries, r, q);
      sent.send(q, row_messages(rows, count), count * rows.row_bytes());
    }
}

Array KnownOwners::wanted_by(int rank) const {
  return ids_.slice(axis_, part_.begin(rank), part_.end(rank)).contiguous();
}

Fetch KnownOwners::fetch() const {
  const DNDarray& x = rows_.array();
  const int p = x.comm().size(), me = x.comm().rank();
  Fetch fetch;
  fetch.serve.resize(to_index(p));
  const i64 first = rows_.first_id(me), last = first + rows_.radix(me);
  for (int r = 0; r < p; ++r) {
    const Array theirs = wanted_by(r);
    const std::span<const i64> entries{theirs.host<i64>(), to_index(theirs.size())};
    if (r != me) {
      fetch.serve[to_index(r)] = NarrowList(distinct_within(entries, first, last), last);
      continue;
    }
    Distinct d = distinct(entries);
    fetch.bounds = owner_bounds(d.ids, x.part(), rows_.ids_per_entry());
    const i64 own = fetch.bounds[to_index(me)], count = fetch.bounds[to_index(me) + 1] - own;
    fetch.serve[to_index(me)] = NarrowList({d.ids.data() + own, to_index(count)}, last);
    fetch.slot = std::move(d.slot);
  }
  return fetch;
}

void KnownOwners::count(Transfers& t) const {
  Transfer& sent = t.pairs(Content::rows);
  for (int r = 0; r < t.ranks(); ++r) {
    const Array theirs = wanted_by(r);
    const Distinct d = distinct({theirs.host<i64>(), to_index(theirs.size())});
    const std::vector<i64> bounds =
        owner_bounds(d.ids, rows_.array().part(), rows_.ids_per_entry());
    for (int q = 0; q < t.ranks(); ++q) {
      const i64 count = q == r ? 0 : bounds[to_index(q) + 1] - bounds[to_index(q)];
      sent.send(q, row_messages(rows_, count), count * rows_.row_bytes());
    }
  }
}

}  // namespace tessera::dist
