// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/unique_join.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// The ends of a rank's sorted block, which other ranks may continue.
struct Ends {
  i64 groups = 0;                           // distinct values in the block
  i64 first_count = 0, first_position = 0;  // of the first group
  std::byte first[16] = {}, last[16] = {};  // values
};

// NaNs are one value.
Array same_values(const Array& a, const Array& b) {
  const Array same = ops::equal(a, b);
  if (!is_inexact(a.dtype())) return same;
  return ops::logical_or(same, ops::logical_and(ops::isnan(a), ops::isnan(b)));
}

class Join {  // groups that run over the ends of blocks
 public:
  Join(const Groups& mine, const DNDarray& x) : mine_(mine), comm_(x.comm()), dtype_(x.dtype()) {
    Ends ends;
    ends.groups = mine.values.size();
    if (ends.groups > 0) {
      read(mine.values, 0, ends.first);
      read(mine.values, ends.groups - 1, ends.last);
      if (mine.positions) ends.first_position = mine.positions.select(0, 0).item().as<i64>();
      if (mine.counts) ends.first_count = mine.counts.select(0, 0).item().as<i64>();
    }
    all_.resize(to_index(comm_.size()));
    comm_.allgather(&ends, sizeof ends, all_.data());
    find_continued();
  }

  // Distinct values by the rank in whose block they begin.
  Partition part() const {
    std::vector<i64> kept;
    for (std::size_t r = 0; r < all_.size(); ++r) kept.push_back(all_[r].groups - continued_[r]);
    return Partition::of(kept);
  }
  bool continued() const { return continued_[to_index(comm_.rank())]; }

  // The last group of this rank takes in what follows of it on other ranks.
  void take_in() const {
    const std::size_t me = to_index(comm_.rank());
    const i64 last = all_[me].groups - 1;
    if (last < (continued_[me] ? 1 : 0)) return;
    std::vector<std::size_t> from;
    for (std::size_t r = me + 1; r < all_.size(); ++r) {
      if (all_[r].groups == 0) continue;
      if (!continued_[r]) break;
      from.push_back(r);
      if (all_[r].groups > 1) break;
    }
    if (from.empty()) return;
    if (mine_.counts) {
      i64 count = mine_.counts.select(0, last).item().as<i64>();
      for (std::size_t r : from) count += all_[r].first_count;
      mine_.counts.select(0, last).fill(Value(count));
    }
    if (mine_.positions) choose_first(from, last);
  }

 private:
  void read(const Array& values, i64 i, std::byte* to) const {
    const Array one = values.select(0, i).to(cpu).contiguous();
    std::memcpy(to, one.host_data(), to_index(size_of(dtype_)));
  }
  Array array_of(const std::vector<const std::byte*>& values) const {
    const Array a = empty_dense({static_cast<i64>(values.size())}, dtype_);
    std::byte* to = static_cast<std::byte*>(a.host_data());
    for (const std::byte* v : values) {
      std::memcpy(to, v, to_index(size_of(dtype_)));
      to += size_of(dtype_);
    }
    return a;
  }

  // A block is continued from the one before it when it begins with the value that ends that one.
  void find_continued() {
    continued_.assign(all_.size(), false);
    std::vector<const std::byte*> lasts, firsts;
    std::vector<std::size_t> ranks;
    const Ends* before = nullptr;
    for (std::size_t r = 0; r < all_.size(); ++r) {
      if (all_[r].groups == 0) continue;
      if (before) {
        lasts.push_back(before->last);
        firsts.push_back(all_[r].first);
        ranks.push_back(r);
      }
      before = &all_[r];
    }
    if (ranks.empty()) return;
    const Array same = same_values(array_of(lasts), array_of(firsts)).contiguous();
    for (std::size_t k = 0; k < ranks.size(); ++k) continued_[ranks[k]] = same.host<bool>()[k];
  }

  // Of the equal values, the one that a sort of the whole array puts first: by value (NaNs of
  // complex numbers differ in order), then by position.
  void choose_first(const std::vector<std::size_t>& from, i64 last) const {
    std::byte own[16];
    read(mine_.values, last, own);
    std::vector<std::pair<i64, const std::byte*>> found{
        {mine_.positions.select(0, last).item().as<i64>(), own}};
    for (std::size_t r : from) found.emplace_back(all_[r].first_position, all_[r].first);
    std::sort(found.begin(), found.end());
    std::vector<const std::byte*> values;
    values.reserve(found.size());
    for (const auto& f : found) values.push_back(f.second);
    const Array all = array_of(values);
    const i64 best = tessera::argsort(all).select(0, 0).item().as<i64>();
    mine_.values.select(0, last).copy_from(all.select(0, best).to(mine_.values.device()));
    mine_.positions.select(0, last).fill(Value(found[to_index(best)].first));
  }

  const Groups& mine_;
  const Communicator& comm_;
  DType dtype_;
  std::vector<Ends> all_;
  std::vector<bool> continued_;
};

}  // namespace

Joined join_groups(const Groups& mine, const DNDarray& x) {
  const Join join(mine, x);
  join.take_in();
  return {join.part(), join.continued()};
}

}  // namespace tessera::dist
