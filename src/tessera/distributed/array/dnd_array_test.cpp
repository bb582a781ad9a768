// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/dnd_array.hpp"

#include "support/distributions.hpp"

namespace tessera::dist {
namespace {

using Counts = std::vector<i64>;

TEST(DNDarray, KnowsItsLayoutWithoutAsking) {
  on_ranks([](Communicator comm) {
    const Shape shape{10, 3};
    const Array whole = counted(shape);
    const Traffic before = comm.traffic();
    for (const Distribution& s : distributions_of(shape, comm.size())) {
      const DNDarray x = distribute(whole, s, comm);
      EXPECT_EQ(x.split(), s.split);
      EXPECT_EQ(x.counts(),
                s.split ? s.part.counts() : Counts(static_cast<std::size_t>(comm.size()), 10));
      EXPECT_EQ(x.balanced(), !s.split || s.part.balanced());
      EXPECT_EQ(x.distributed(), s.split.has_value() && comm.size() > 1);
      i64 sum = 0;
      for (int r = 0; r < comm.size(); ++r) sum += count_of(x.lshape(r));
      EXPECT_EQ(sum, s.split ? 30 : 30 * comm.size());
      EXPECT_EQ(x.local().shape(), x.lshape());
    }
    EXPECT_EQ(DNDarray::replicated(counted({}), comm).counts(),
              Counts(static_cast<std::size_t>(comm.size()), 1));
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(DNDarray, RefusesPartsThatDoNotFit) {
  const Communicator comm = Communicator::self();
  const Partition four = Partition::even(4, 1);
  EXPECT_THROW(DNDarray(counted({3, 2}), {4, 2}, {0, four}, comm), ShapeError);
  EXPECT_THROW(DNDarray(counted({4, 2}), {4, 2}, {1, four}, comm), ShapeError);
  EXPECT_THROW(DNDarray(counted({4, 2}), {4, 2}, {2, four}, comm), ShapeError);
  EXPECT_THROW(DNDarray(counted({4, 2}), {4, 2}, {0, Partition::even(4, 2)}, comm), ShapeError);
  EXPECT_THROW(DNDarray(counted({4, 2}), {2, 4}, {}, comm), ShapeError);
  EXPECT_FALSE(DNDarray());
}

TEST(DNDarray, OtherDistributionsAreCopies) {
  on_ranks([](Communicator comm) {
    const Shape shape{9, 5};
    const Array whole = counted(shape, DType::f32, test_device());
    for (const Distribution& s : distributions_of(shape, comm.size())) {
      const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
      for (const Distribution& to : distributions_of(shape, comm.size())) {
        const DNDarray y = x.distributed_as(to);
        expect_distributed(y, whole, to);
        EXPECT_EQ(may_share_memory(x.local(), y.local()), s == to && x.local().size() > 0);
      }
      expect_distributed(x, whole, s);
      expect_distributed(x.resplit(-1), whole,
                         s.split == 1 ? s : Distribution{1, Partition::even(5, comm.size())});
      expect_distributed(x.resplit(std::nullopt), whole, {});
      EXPECT_TRUE(same_bits(x.gathered(), whole));
      if (!s.split) continue;
      const Partition even = Partition::even(shape[*s.split], comm.size());
      expect_distributed(x.balance(), whole, {s.split, even});
      const Counts counts = Partition::all_on(shape[*s.split], comm.size(), 0).counts();
      expect_distributed(x.redistribute(counts), whole, {s.split, Partition::of(counts)});
    }
  });
}

TEST(DNDarray, WhereNothingChangesNothingIsSent) {
  on_ranks([](Communicator comm) {
    const Array whole = counted({6, 4});
    const Traffic before = comm.traffic();
    const DNDarray x = DNDarray::replicated(whole, comm);
    const DNDarray y = x.resplit(0);
    (void)y.resplit(0);
    (void)y.balance();
    (void)y.redistribute(y.counts());
    (void)y.copy();
    (void)y.astype(DType::f32);
    (void)y.to(Device::parse("sim:1"));
    (void)x.gathered();
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(DNDarray, CopiesShareNothing) {
  on_ranks([](Communicator comm) {
    const DNDarray x = DNDarray::replicated(counted({6, 4}), comm).resplit(1);
    const DNDarray c = x.copy(), f = x.astype(DType::f64), d = x.to(Device::parse("sim:0"));
    x.local().fill(Value(-1));
    expect_distributed(c, counted({6, 4}), x.distribution());
    expect_distributed(f, counted({6, 4}, DType::f64), x.distribution());
    EXPECT_EQ(d.device(), Device::parse("sim:0"));
    EXPECT_TRUE(same_bits(d.gathered(), counted({6, 4})));
    EXPECT_TRUE(same_bits(x.astype(DType::i64).local(), x.local())) << "the handle itself";
  });
}

TEST(DNDarray, ErrorsComeBeforeMessages) {
  on_ranks([](Communicator comm) {
    const DNDarray x = DNDarray::replicated(counted({6, 4}), comm).resplit(0);
    const Traffic before = comm.traffic();
    Counts counts(static_cast<std::size_t>(comm.size()), 0);
    counts[0] = 5;
    EXPECT_THROW(x.redistribute(counts), ShapeError);
    counts.push_back(1);
    EXPECT_THROW(x.redistribute(counts), ShapeError);
    counts.pop_back();
    counts[0] = -6;
    EXPECT_THROW(x.redistribute(counts), ArgumentError);
    EXPECT_THROW(x.resplit(2), IndexError);
    EXPECT_THROW(x.item(), ShapeError);
    EXPECT_THROW(x.distributed_as({1, Partition::even(6, comm.size())}), ShapeError);
    EXPECT_THROW(DNDarray::replicated(counted({6}), comm).redistribute(counts), SplitError);
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(DNDarray, ItemOfOneElement) {
  on_ranks([](Communicator comm) {
    for (const Device device : {cpu, Device::parse("sim:0")}) {
      const Array one = full({1, 1}, Value(2.5), DType::f32, device);
      for (const Distribution& s : distributions_of({1, 1}, comm.size())) {
        const DNDarray x = distribute(one, s, comm);
        EXPECT_EQ(x.item().as<double>(), 2.5);
        EXPECT_EQ(x.split(), s.split) << "reading changes nothing";
      }
    }
  });
}

// Note [rows live with their owner].
TEST(DNDarray, RowsAreReadOnceAndAgainAfterWrites) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), owner = p / 2;
    for (const Device device : {cpu, Device::parse("sim:0")}) {
      const bool here = comm.rank() == owner;
      const Array block = here ? counted({4, 3}, DType::i64, device) : Array();
      const DNDarray x =
          DNDarray::owned_by_one_rank(block, {4, 3}, DType::i64, device, owner, comm);
      const DNDarray row =
          x.owner_view(here ? block.select(0, 2) : Array(), Layout::contiguous({3}), owner);
      const DNDarray again = row;
      Traffic before = comm.traffic();
      EXPECT_FALSE(row.known());
      EXPECT_TRUE(same_bits(row.local(), Array::of<i64>({6, 7, 8})));
      EXPECT_EQ((comm.traffic() - before).bytes, here ? 24 * (p - 1) : 0);
      before = comm.traffic();
      EXPECT_TRUE(same_bits(again.local(), Array::of<i64>({6, 7, 8})));
      EXPECT_TRUE(row.known() && again.known());
      EXPECT_EQ(comm.traffic(), before);
      if (here) x.resident().slice(0, 2, 3).fill(Value(-5));
      x.touch();
      EXPECT_FALSE(again.known());
      EXPECT_TRUE(same_bits(again.local(), Array::of<i64>({-5, -5, -5})));
      EXPECT_TRUE(same_bits(row.local(), Array::of<i64>({-5, -5, -5})));
      EXPECT_EQ(row.owner(), owner);
      EXPECT_EQ(static_cast<bool>(row.resident()), here);
    }
  });
}

TEST(DNDarray, ArraysOfOneRankMoveOnlyWhatIsWanted) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), owner = p - 1;
    const bool here = comm.rank() == owner;
    const Array whole = counted({7, 2}, DType::f64, test_device());
    auto fresh = [&] {
      return DNDarray::owned_by_one_rank(here ? whole : Array(), whole.shape(), DType::f64,
                                         test_device(), owner, comm);
    };
    const Traffic start = comm.traffic();
    const DNDarray x = fresh(), copied = x.copy(), cast = x.astype(DType::f32);
    EXPECT_EQ(comm.traffic(), start) << "the copy of a row stays with its owner";
    EXPECT_TRUE(same_bits(copied.local(), whole));
    EXPECT_TRUE(same_bits(cast.local(), counted({7, 2}, DType::f32)));
    EXPECT_FALSE(here && may_share_memory(copied.local(), whole));
    const Traffic before = comm.traffic();
    const DNDarray parts = x.resplit(0);
    expect_distributed(parts, whole, {0, Partition::even(7, p)});
    EXPECT_EQ((comm.traffic() - before).bytes,
              here ? 16 * (7 - Partition::even(7, p).count(owner)) : 0);
    EXPECT_TRUE(same_bits(x.gathered(), whole));
    const Traffic known = comm.traffic();
    expect_distributed(x.resplit(1), whole, {1, Partition::even(2, p)});
    EXPECT_EQ(comm.traffic(), known) << "everybody has it now";
    EXPECT_EQ(fresh()
                  .owner_view(here ? whole.select(0, 3).select(0, 1) : Array(), {}, owner)
                  .item()
                  .as<double>(),
              7);
  });
}

TEST(DNDarray, ViewsShareTheirWrites) {
  run_ranks(3, [](Communicator comm) {
    const bool here = comm.rank() == 1;
    const DNDarray x = DNDarray::replicated(counted({6, 2}), comm).resplit(0);
    const DNDarray turned =
        x.with(x.local().transpose(), x.whole().permute(Shape{1, 0}), {1, x.part()});
    const DNDarray row =
        turned.owner_view(here ? x.local().select(0, 0) : Array(), x.whole().select(0, 0), 1);
    EXPECT_TRUE(same_bits(row.local(), Array::of<i64>({4, 5})));
    turned.local().fill(Value(9));
    turned.touch();
    EXPECT_TRUE(same_bits(x.gathered(), tessera::full({6, 2}, Value(9), DType::i64)));
    EXPECT_TRUE(same_bits(row.local(), Array::of<i64>({9, 9})));
    const DNDarray column =
        row.with(here ? row.resident().expand_dims(0) : Array(), row.whole().insert_axis(0), {});
    x.local().fill(Value(8));
    x.touch();
    EXPECT_TRUE(same_bits(column.local(), tessera::full({1, 2}, Value(8), DType::i64)));
    EXPECT_THROW(x.with(x.local(), Layout::contiguous({6, 3}), x.distribution()), ShapeError);
  });
}

TEST(DNDarray, GroupsAndDevicesAreCompared) {
  run_ranks(2, [](Communicator comm) {
    const DNDarray x = DNDarray::replicated(counted({2}), comm),
                   alone = DNDarray::replicated(counted({2}), Communicator::self());
    require_same_group("add", x, x.copy());
    EXPECT_THROW(require_same_group("add", x, alone), CommError);
    EXPECT_THROW(require_same_group("add", x, x.to(Device::parse("sim:2"))), DeviceError);
  });
}

}  // namespace
}  // namespace tessera::dist
