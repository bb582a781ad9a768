// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/partition.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tessera::dist {
namespace {

using Counts = std::vector<i64>;

TEST(Partition, EvenGivesTheFirstRanksOneMore) {
  EXPECT_EQ(Partition::even(10, 3).counts(), (Counts{4, 3, 3}));
  EXPECT_EQ(Partition::even(2, 4).counts(), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(Partition::even(0, 2).counts(), (Counts{0, 0}));
  EXPECT_TRUE(Partition::even(11, 4).balanced());
  EXPECT_FALSE(Partition::of(Counts{3, 4}).balanced()) << "the first gets more, not the last";
  EXPECT_TRUE(Partition::of(Counts{4, 3}).balanced());
  EXPECT_TRUE(Partition().balanced());
  EXPECT_EQ(Partition::all_on(5, 3, 1).counts(), (Counts{0, 5, 0}));
  const i64 huge = std::numeric_limits<i64>::max();
  EXPECT_EQ(Partition::even(huge, 7).size(), huge);
}

TEST(Partition, RefusesWhatIsNone) {
  EXPECT_THROW(Partition::of(Counts{3, -1}), ArgumentError);
  EXPECT_THROW(Partition::of(Counts{}), ArgumentError);
  EXPECT_THROW(Partition::of(Counts{std::numeric_limits<i64>::max(), 1}), ArgumentError);
  EXPECT_THROW(Partition::even(-1, 2), ArgumentError);
  EXPECT_THROW(Partition::even(1, 0), ArgumentError);
  EXPECT_THROW(Partition::all_on(4, 2, 2), ArgumentError);
}

TEST(Partition, EqualByCountsNotByHow) {
  EXPECT_EQ(Partition::even(7, 3), Partition::of(Counts{3, 2, 2}));
  EXPECT_FALSE(Partition::even(7, 3) == Partition::of(Counts{2, 3, 2}));
  EXPECT_EQ(Partition(), Partition::even(0, 1));
  EXPECT_FALSE(Partition() == Partition::even(0, 2));
}

TEST(Partition, OwnersHoldTheirEntries) {
  const Partition part = Partition::of(Counts{0, 3, 0, 0, 2, 1, 0});
  for (i64 i = 0; i < part.size(); ++i) {
    const int r = part.owner(i);
    EXPECT_TRUE(part.begin(r) <= i && i < part.end(r)) << i;
  }
  EXPECT_EQ(part.owner(0), 1);
  EXPECT_EQ(part.owner(3), 4);
  EXPECT_EQ(part.owner(5), 5);
}

// Against the definition: which entries of the slice lie in each rank's block.
TEST(Partition, SlicesStayWithTheirOwners) {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<i64>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 400; ++trial) {
    const int p = static_cast<int>(1 + below(7));
    Counts counts;
    for (int r = 0; r < p; ++r) counts.push_back(below(3) == 0 ? 0 : below(6));
    const Partition part = Partition::of(counts);
    const SliceRange range =
        resolve_slice({below(8), part.size() - below(4), 1 + below(5)}, part.size());
    const Partition kept = part.sliced(range);
    ASSERT_EQ(kept.size(), range.length);
    for (int r = 0; r < p; ++r) {
      Counts expected, found;
      for (i64 k = 0; k < range.length; ++k)
        if (const i64 at = range.start + k * range.step; part.owner(at) == r)
          expected.push_back(at - part.begin(r));
      const SliceRange mine = part.local_range(range, r);
      for (i64 k = 0; k < mine.length; ++k) found.push_back(mine.start + k * mine.step);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(kept.count(r), mine.length);
    }
  }
}

TEST(Partition, StepsNearTheEndOfTheNumbers) {
  const Partition part = Partition::even(10, 3);
  const SliceRange range = resolve_slice({2, {}, std::numeric_limits<i64>::max()}, 10);
  EXPECT_EQ(part.sliced(range).counts(), (Counts{1, 0, 0}));
  EXPECT_EQ(part.local_range(range, 0).start, 2);
  EXPECT_EQ(part.local_range(range, 2).length, 0);
}

}  // namespace
}  // namespace tessera::dist
