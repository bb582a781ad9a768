// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/reshape.hpp"

#include "support/cases.hpp"
#include "tessera/distributed/indexing/key.hpp"

namespace tessera::dist {
namespace {

const Shape shapes[] = {{24},         {24, 1},      {1, 24},     {4, 6},    {6, 4},
                        {2, 12},      {12, 2},      {2, 3, 4},   {4, 3, 2}, {3, 8},
                        {2, 2, 2, 3}, {1, 4, 1, 6}, {3, 1, 8, 1}};

TEST(DistReshape, EveryShapeToEveryShape) {
  for (const Shape& from : shapes) {
    const Array x = sample(from, DType::i64);
    for_each_distribution(from, [&](const Case& c) {
      const DNDarray d = c.of(x);
      for (const Shape& to : shapes) {
        SCOPED_TRACE(cat(from, " to ", to));
        const DNDarray y = dist::reshape(d, to);
        expect_same(y, x.reshape(to));
        expect_split(y, c.distribution.split
                            ? dist::split_of_reshape(from, *c.distribution.split, to)
                            : std::nullopt);
      }
      EXPECT_EQ(d.distribution(), c.distribution);
    });
  }
}

TEST(DistReshape, IntoAnAskedSplit) {
  for (const Shape& from : {Shape{24}, Shape{4, 6}, Shape{2, 3, 4}}) {
    const Array x = sample(from, DType::i16);
    for_each_distribution(from, [&](const Case& c) {
      for (const Shape& to : {Shape{6, 4}, Shape{3, 2, 4}, Shape{24}})
        for (i64 s = -to.size(); s < to.size(); ++s) {
          const DNDarray y = dist::reshape(c.of(x), to, s);
          expect_same(y, x.reshape(to));
          expect_split(y, s < 0 ? s + to.size() : s);
        }
    });
  }
}

TEST(DistReshape, TheSplitByRule) {
  const auto rule = [](const Shape& a, i64 s, const Shape& b) {
    return dist::split_of_reshape(a, s, b).value_or(-1);
  };
  EXPECT_EQ(rule({6, 4}, 0, {6, 2, 2}), 0);   // kept
  EXPECT_EQ(rule({6, 4}, 0, {24}), 0);        // coarser
  EXPECT_EQ(rule({6, 4}, 0, {1, 6, 4}), 1);   // a leading 1 does not take it
  EXPECT_EQ(rule({2, 6, 4}, 1, {2, 24}), 1);  // the same rows
  EXPECT_EQ(rule({2, 6, 4}, 1, {2, 3, 2, 4}), 1);
  EXPECT_EQ(rule({2, 1, 4}, 1, {2, 1, 4}), 1);  // the same shape
  EXPECT_EQ(rule({2, 6, 4}, 1, {48}), 0);       // no such rows
  EXPECT_EQ(rule({2, 6, 4}, 2, {1, 8, 6}), 1);
  EXPECT_EQ(rule({1}, 0, {}), -1);
}

TEST(DistReshape, KeptAxesSendNothing) {
  const Array x = sample({4, 6, 5});
  for_each_distribution({4, 6, 5}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const i64 s = c.distribution.split.value_or(0);
    const auto free = [&](const Shape& to) {
      expect_same(silent(c.comm, [&] { return dist::reshape(d, to); }), x.reshape(to));
    };
    free({4, 6, 5});
    free({1, 4, 1, 6, 5});
    if (s == 0) free({4, 30});
    if (s == 0) free({120});
    if (s == 0) free({4, 3, -1});
    if (s == 1) free({2, 2, 6, 5});
    if (s == 1) free({4, 30});
    if (s == 2) free({24, 5});
  });
}

TEST(DistReshape, FlatOrderMovesEachElementOnce) {
  run_ranks(3, [](const Communicator& comm) {
    const Array x = sample({30}, DType::f64);
    const DNDarray d = distribute(x, {0, Partition::even(30, 3)}, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = dist::reshape(d, {5, 6});  // cuts at 2 and 4 of 5 rows: 12 and 24
    const i64 sent = (comm.traffic() - before).bytes;
    EXPECT_EQ(sent, comm.rank() == 0 ? 0 : 8 * (comm.rank() == 1 ? 2 : 4));
    expect_same(y, x.reshape({5, 6}));
  });
}

TEST(DistReshape, ViewsAndCopies) {
  for_each_distribution({6, 4}, [](const Case& c) {
    const DNDarray d = c.of(sample({6, 4}));
    const DNDarray v = dist::reshape(d, {6, 2, 2});
    if (d.local().size() > 0 && c.distribution.split != 1) {
      EXPECT_TRUE(may_share_memory(v.local(), d.local()));
    }
    const DNDarray f = dist::flatten(d);
    EXPECT_FALSE(may_share_memory(f.local(), d.local()));
    expect_same(f, sample({6, 4}).reshape({-1}));
  });
}

// By shapes and splits: neither the number of ranks nor where their cuts lie changes what is a
// view.
TEST(DistReshape, WhatIsAViewDoesNotDependOnTheRanks) {
  for (const Shape& from : shapes) {
    const Array x = sample(from, DType::i64);
    for_each_distribution(from, [&](const Case& c) {
      if (!c.distribution.split) return;
      const DNDarray d = c.of(x),
                     alone(x.copy(), from,
                           {*c.distribution.split, Partition::even(from[*c.distribution.split], 1)},
                           Communicator::self());
      for (const Shape& to : shapes) {
        const DNDarray y = dist::reshape(d, to);
        EXPECT_EQ(y.writable(), dist::reshape(alone, to).writable()) << cat(from, " to ", to);
        if (!y.writable()) {
          EXPECT_THROW(y.assign(DistIndex(ellipsis), Array::scalar(Value(-1), DType::i64)),
                       ArgumentError);
          continue;
        }
        y.assign(DistIndex(ellipsis), y.copy().gathered());
        EXPECT_EQ(y.sole(), false) << "writable is a view of the named array";
      }
      EXPECT_TRUE(dist::reshape(d, {24}).owned().writable());
    });
  }
}

TEST(DistReshape, NothingAndErrors) {
  const Array x = sample({6, 4}), none = sample({0, 4});
  for_each_distribution({6, 4}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    expect_same_error<ShapeError>([&] { x.reshape({5, 5}); }, [&] { dist::reshape(d, {5, 5}); });
    expect_same_error<ShapeError>(
        [&] {
          x.reshape({-1, -1});
        },
        [&] {
          dist::reshape(d, {-1, -1});
        });
    EXPECT_THROW(dist::reshape(d, {24}, 1), IndexError);
  });
  for_each_distribution({0, 4}, [&](const Case& c) {
    expect_same(dist::reshape(c.of(none), {2, 0, 3}), none.reshape({2, 0, 3}));
    expect_same(dist::ravel(c.of(none)), none.reshape({-1}));
  });
  for_each_distribution({1, 1}, [&](const Case& c) {
    const Array one = sample({1, 1});
    expect_same(dist::reshape(c.of(one), {}), one.reshape({}));
  });
}

}  // namespace
}  // namespace tessera::dist
