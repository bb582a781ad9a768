// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>

#include "tessera/dist/at.hpp"
#include "tessera/dist/mask.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using dist::at;
using dist::copy_bytes;

// Numbers of 0 ... most as digits of larger ones, as many in each as waste the fewest bits.
class Packing {
 public:
  explicit Packing(i64 most) : radix_(static_cast<std::uint64_t>(most) + 1) {
    for (int k = 1; k <= 32 && fits(k); ++k)
      if (bits(k) * digits_ < bits(digits_) * k) digits_ = k;
  }
  i64 bytes(i64 count) const {
    const int left = static_cast<int>(count % digits_);
    return (count / digits_ * bits(digits_) + (left > 0 ? bits(left) : 0) + 7) / 8;
  }
  std::vector<std::byte> pack(std::span<const i64> numbers) const {
    std::vector<std::uint64_t> words(at(bytes(static_cast<i64>(numbers.size())) / 8 + 2));
    std::size_t bit = 0;
    each_word(static_cast<i64>(numbers.size()), [&](i64 first, int digits) {
      std::uint64_t word = 0;
      for (int k = digits; k-- > 0;)
        word = word * radix_ + static_cast<std::uint64_t>(numbers[at(first + k)]);
      words[bit >> 6] |= word << (bit & 63);
      if ((bit & 63) != 0) words[(bit >> 6) + 1] |= word >> (64 - (bit & 63));
      bit += at(bits(digits));
    });
    std::vector<std::byte> out(at(bytes(static_cast<i64>(numbers.size()))));
    copy_bytes(out.data(), words.data(), out.size());
    return out;
  }
  std::vector<i64> unpack(const std::byte* in, i64 count) const {
    std::vector<i64> numbers(at(count));
    std::vector<std::uint64_t> words(at(bytes(count) / 8 + 2));
    copy_bytes(words.data(), in, at(bytes(count)));
    std::size_t bit = 0;
    each_word(count, [&](i64 first, int digits) {
      const int n = bits(digits);
      std::uint64_t word = words[bit >> 6] >> (bit & 63);
      if ((bit & 63) != 0) word |= words[(bit >> 6) + 1] << (64 - (bit & 63));
      if (n < 64) word &= (std::uint64_t{1} << n) - 1;
      for (int k = 0; k < digits; ++k, word /= radix_)
        numbers[at(first + k)] = static_cast<i64>(word % radix_);
      bit += at(n);
    });
    return numbers;
  }

 private:
  bool fits(int digits) const {  // into 63 bits
    std::uint64_t left = std::uint64_t{1} << 63;
    for (int k = 0; k < digits; ++k) left /= radix_;
    return left > 0;
  }
  int bits(int digits) const {
    std::uint64_t most = 1;
    for (int k = 0; k < digits; ++k) most *= radix_;
    return std::bit_width(most - 1);
  }
  template <class F>
  void each_word(i64 count, F&& f) const {
    for (i64 first = 0; first < count; first += digits_)
      f(first, static_cast<int>(std::min<i64>(digits_, count - first)));
  }
  std::uint64_t radix_;
  int digits_ = 1;
};

// What all ranks say, by rank.
std::vector<std::vector<i64>> told_to_all(std::span<const i64> mine, i64 most,
                                          const Communicator& comm) {
  const Packing packing(most);
  const std::vector<std::byte> packed = packing.pack(mine);
  std::vector<std::byte> all(packed.size() * at(comm.size()));
  comm.allgather(packed.data(), static_cast<i64>(packed.size()), all.data());
  std::vector<std::vector<i64>> numbers;
  numbers.reserve(at(comm.size()));
  for (int r = 0; r < comm.size(); ++r)
    numbers.push_back(packing.unpack(all.data() + at(r) * packed.size(), std::ssize(mine)));
  return numbers;
}

MaskOrder ordered(MaskOrder&& order, const Communicator& comm) {
  std::vector<i64> sums;
  for (i64 row = 0; row < order.rows; row += order.group) {
    const auto first = order.own.begin() + row;
    sums.push_back(std::accumulate(first, first + std::min(order.group, order.rows - row), i64{0}));
  }
  order.picked = told_to_all(order.group == 1 ? order.own : sums, order.widest * order.group, comm);
  order.before.push_back(0);
  for (std::size_t g = 0; g < sums.size(); ++g) {
    i64 sum = order.before.back();
    for (const std::vector<i64>& of_rank : order.picked) sum += of_rank[g];
    order.before.push_back(sum);
  }
  return std::move(order);
}

// What ranks pick in each row of some groups: those in which the part of a rank begins, and those
// that lie wholly in this rank's part.
class Rows {
 public:
  Rows(const MaskOrder& order, const Partition& to, const Communicator& comm)
      : order_(order), to_(to), comm_(comm), packing_(order.widest) {
    for (int r = 1; r < comm.size(); ++r) {
      const i64 g = group_of(to.begin(r));
      const bool within = g < groups() && order.before[at(g)] < to.begin(r);
      if (within && (cut_.empty() || cut_.back() < g)) cut_.push_back(g);
    }
    if (order.group == 1) return;  // all is known
    tell_cut_groups();
    tell_inner_groups();
  }
  // The group in which element `e` of the result lies.
  i64 group_of(i64 e) const {
    return std::upper_bound(order_.before.begin() + 1, order_.before.end(), e) -
           order_.before.begin() - 1;
  }
  i64 groups() const { return std::ssize(order_.before) - 1; }
  // By rank, then row of the group.
  std::span<const i64> of(int rank, i64 group) const {
    if (order_.group == 1) return {&order_.picked[at(rank)][at(group)], 1};
    const auto cut = std::lower_bound(cut_.begin(), cut_.end(), group);
    const i64 n = rows_of(group);
    if (cut != cut_.end() && *cut == group)
      return {at_cuts_[at(rank)].data() + (cut - cut_.begin()) * order_.group, at(n)};
    return {inner_[at(rank)].data() + (group - inner_of(comm_.rank()).first) * order_.group, at(n)};
  }

 private:
  struct Groups {
    i64 first = 0, last = 0;  // past the end
  };
  i64 rows_of(i64 group) const {
    return std::min(order_.group, order_.rows - group * order_.group);
  }
  i64 rows_of(const Groups& g) const {
    return std::min(g.last * order_.group, order_.rows) - g.first * order_.group;
  }
  bool is_cut(i64 group) const { return std::binary_search(cut_.begin(), cut_.end(), group); }
  Groups inner_of(int rank) const {
    if (to_.count(rank) == 0) return {};
    Groups g{group_of(to_.begin(rank)), group_of(to_.end(rank) - 1) + 1};
    while (g.first < g.last && is_cut(g.first)) ++g.first;
    while (g.last > g.first && is_cut(g.last - 1)) --g.last;
    return g;
  }
  // Whether a rank picks anything there: otherwise it has nothing to say.
  bool picks(int rank, const Groups& g) const {
    const std::vector<i64>& of_rank = order_.picked[at(rank)];
    return std::any_of(of_rank.begin() + g.first, of_rank.begin() + g.last,
                       [](i64 n) { return n > 0; });
  }
  std::span<const i64> own(const Groups& g) const {
    return {order_.own.data() + g.first * order_.group, at(rows_of(g))};
  }
  void tell_cut_groups() {
    std::vector<i64> mine;
    for (const i64 g : cut_) {
      const auto rows = own({g, g + 1});
      mine.insert(mine.end(), rows.begin(), rows.end());
    }
    if (!mine.empty()) at_cuts_ = told_to_all(mine, order_.widest, comm_);
  }
  void tell_inner_groups() {
    const int p = comm_.size(), me = comm_.rank();
    const Groups here = inner_of(me);
    std::vector<std::vector<std::byte>> sent(at(p)), got(at(p));
    std::vector<Block> sends, receives;
    for (int r = 0; r < p; ++r) {
      if (r == me) continue;
      if (const Groups there = inner_of(r); there.first < there.last && picks(me, there)) {
        sent[at(r)] = packing_.pack(own(there));
        sends.push_back(Block::dense(r, sent[at(r)].data(), std::ssize(sent[at(r)])));
      }
      if (here.first == here.last || !picks(r, here)) continue;
      got[at(r)].resize(at(packing_.bytes(rows_of(here))));
      receives.push_back(Block::dense(r, got[at(r)].data(), std::ssize(got[at(r)])));
    }
    comm_.exchange(sends, receives);
    inner_.resize(at(p));
    for (int r = 0; r < p; ++r) {
      if (r == me)
        inner_[at(r)].assign(own(here).begin(), own(here).end());
      else if (got[at(r)].empty())
        inner_[at(r)].resize(at(rows_of(here)));
      else
        inner_[at(r)] = packing_.unpack(got[at(r)].data(), rows_of(here));
    }
  }

  const MaskOrder& order_;
  const Partition& to_;
  const Communicator& comm_;
  Packing packing_;
  std::vector<i64> cut_;                           // groups in which a rank's part begins
  std::vector<std::vector<i64>> at_cuts_, inner_;  // by rank
};

// How many of this rank's elements lie before element `e` of the result.
i64 own_before(const MaskOrder& order, const Rows& rows, i64 e, const Communicator& comm) {
  const int me = comm.rank();
  const i64 g = std::min(rows.group_of(e), rows.groups());
  const std::vector<i64>& mine = order.picked[at(me)];
  i64 sum = std::accumulate(mine.begin(), mine.begin() + g, i64{0});
  if (g == rows.groups() || order.before[at(g)] == e) return sum;
  i64 left = e - order.before[at(g)];  // elements of the group that lie before e
  for (std::size_t row = 0; left > 0; ++row)
    for (int r = 0; r < comm.size() && left > 0; ++r) {
      const i64 n = std::min(left, rows.of(r, g)[row]);
      if (r == me) sum += n;
      left -= n;
    }
  return sum;
}

}  // namespace

std::vector<i64> MaskOrder::counts() const {
  std::vector<i64> sums;
  for (const std::vector<i64>& of_rank : picked)
    sums.push_back(std::accumulate(of_rank.begin(), of_rank.end(), i64{0}));
  return sums;
}

std::vector<i64> MaskOrder::positions(int rank) const {
  std::vector<i64> all;
  for (i64 row = 0; row < rows; ++row) {
    i64 first = before[at(row)];
    for (int r = 0; r < rank; ++r) first += picked[at(r)][at(row)];
    for (i64 k = 0; k < picked[at(rank)][at(row)]; ++k) all.push_back(first + k);
  }
  return all;
}

i64 bytes_of_counts(i64 rows, i64 widest) { return Packing(widest).bytes(rows); }

i64 rows_together(i64 rows, i64 widest, int ranks) {
  constexpr i64 worth = 512;  // bytes of one rank, for two more rounds of messages
  if (ranks < 3) return 1;
  const i64 others = ranks - 1, each = bytes_of_counts(rows, widest);
  i64 best = 1, least = others * each - worth;
  for (i64 group = 2; group < rows; group += (group + 1) / 2) {
    const i64 bytes = others * (bytes_of_counts((rows + group - 1) / group, widest * group) +
                                bytes_of_counts(std::min(rows, others * group), widest)) +
                      each;
    if (bytes >= least) continue;
    best = group;
    least = bytes;
  }
  return best;
}

MaskOrder order_of_mask(const DNDarray& x, const LoneMask& mask, const Array& local, bool each) {
  MaskOrder order;
  for (i64 a = 0; a < *x.split() - mask.first; ++a) order.rows *= mask.mask.shape(a);
  order.widest = most_picked(x, mask);
  if (!each) order.group = rows_together(order.rows, order.widest, x.comm().size());
  const i64 width = order.rows > 0 ? local.size() / order.rows : 0;
  const Array counts =
      reduce(ReduceOp::count_nonzero, local.contiguous().reshape({order.rows, width}), Axes{1})
          .to(cpu)
          .contiguous();
  order.own.assign(counts.host<i64>(), counts.host<i64>() + order.rows);
  return ordered(std::move(order), x.comm());
}

MaskOrder order_of_counts(i64 picked, i64 widest, const Communicator& comm) {
  MaskOrder order;
  order.widest = widest;
  order.own = {picked};
  return ordered(std::move(order), comm);
}

MaskShares shares_of(const MaskOrder& order, const Partition& to, const Communicator& comm) {
  const int p = comm.size(), me = comm.rank();
  const Rows rows(order, to, comm);
  MaskShares shares;
  for (int r = 0; r <= p; ++r)
    shares.cuts.push_back(own_before(order, rows, r == p ? order.total() : to.begin(r), comm));
  shares.places.resize(at(p));
  const i64 begin = to.begin(me), end = to.end(me);
  if (begin == end) return shares;
  for (i64 g = rows.group_of(begin); g < rows.groups() && order.before[at(g)] < end; ++g) {
    i64 first = order.before[at(g)];
    std::vector<std::span<const i64>> of_group(at(p));
    for (int r = 0; r < p; ++r) of_group[at(r)] = rows.of(r, g);
    for (std::size_t row = 0; row < of_group[0].size(); ++row)
      for (int r = 0; r < p; ++r) {
        const i64 next = first + of_group[at(r)][row];
        for (i64 k = std::max(first, begin); k < std::min(next, end); ++k)
          shares.places[at(r)].push_back(k - begin);
        first = next;
      }
  }
  return shares;
}

Array put_in_order(const Array& mine, const MaskOrder& order, const Partition& to,
                   const Communicator& comm) {
  const int me = comm.rank();
  const Array held = mine.contiguous().to(cpu);
  Shape shape = mine.shape();
  shape[0] = to.count(me);
  const Array arrived = empty_dense(shape, mine.dtype(), cpu);
  const Array place = empty_dense({shape[0]}, DType::i64, cpu);  // where each arrived element goes
  i64 row = size_of(mine.dtype());
  for (i64 a = 1; a < shape.size(); ++a) row *= shape[a];
  auto* from = static_cast<std::byte*>(held.host_data());
  auto* into = static_cast<std::byte*>(arrived.host_data());
  i64* places = place.host<i64>();
  std::vector<Block> sends, receives;
  i64 filled = 0;
  const MaskShares shares = shares_of(order, to, comm);
  for (int r = 0; r < comm.size(); ++r) {
    const std::vector<i64>& theirs = shares.places[at(r)];
    const i64 in = std::ssize(theirs), first = shares.cuts[at(r)],
              out = shares.cuts[at(r) + 1] - first;
    for (i64 k = 0; k < in; ++k) places[theirs[at(k)]] = filled + k;
    if (r == me) {
      if (in * row > 0) std::memcpy(into + filled * row, from + first * row, at(in * row));
    } else {
      if (in * row > 0) receives.push_back(Block::dense(r, into + filled * row, in * row));
      if (out * row > 0) sends.push_back(Block::dense(r, from + first * row, out * row));
    }
    filled += in;
  }
  comm.exchange(sends, receives);
  return take(arrived, place, 0).to(mine.device());
}

}  // namespace tessera
