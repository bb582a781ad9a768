// SPDX-License-Identifier: Apache-2.0
// What distributed indexing promises beside values: how little it sends, splits that do not depend
// on data, NumPy's errors in NumPy's order. Random cases are in index_test.cpp.
#include <gtest/gtest.h>

#include "support/distributions.hpp"
#include "tessera/comm/thread.hpp"
#include "tessera/distributed/array/create.hpp"
#include "tessera/distributed/indexing/explain.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

DNDarray split_along(const Array& a, i64 axis, const Partition& part, const Communicator& comm) {
  return DNDarray(a.slice(axis, part.begin(comm.rank()), part.end(comm.rank())).copy(), a.shape(),
                  {axis, part}, comm);
}
DNDarray split_along(const Array& a, i64 axis, const Communicator& comm) {
  return split_along(a, axis, Partition::even(a.shape(axis), comm.size()), comm);
}
DNDarray on_rank(const Array& a, i64 axis, int rank, const Communicator& comm) {
  return split_along(a, axis, Partition::all_on(a.shape(axis), comm.size(), rank), comm);
}

i64 bytes_sent_by(const Communicator& comm, const std::function<void()>& f) {
  const Traffic before = comm.traffic();
  f();
  return bytes_of_all(comm, before);
}

Array mask_of(i64 n, std::initializer_list<i64> where) {
  const Array m = zeros({n}, DType::b1).contiguous();
  for (const i64 i : where) m.host<bool>()[i] = true;
  return m;
}

class DistIndexingRules : public testing::TestWithParam<int> {};

// A value that repeats along the written axis goes to the ranks that own written elements, once.
TEST_P(DistIndexingRules, ValuesGoWhereTheyAreWritten) {
  run_ranks(GetParam(), [](Communicator comm) {
    const int last = comm.size() - 1;
    const Array whole = counted({9, 4}), row = counted({1, 4}), column = counted({9, 1});
    const auto sent = [&](const dist::DistIndex& key, const Index& local, const Array& value,
                          const DNDarray& given) {
      const Array expected = whole.copy();
      expected.assign(local, value);
      const DNDarray x = on_rank(whole, 0, 0, comm);
      const i64 said = explain(x, key, given).index_bytes + explain(x, key, given).data_bytes;
      const i64 bytes = bytes_sent_by(comm, [&] { x.assign(key, given); });
      EXPECT_TRUE(same_bits(x.gathered(), expected)) << key.str();
      EXPECT_EQ(said, bytes) << key.str();
      return bytes;
    };
    const Slice back{{}, {}, -1};
    EXPECT_EQ(sent(dist::DistIndex(back), Index(back), row, on_rank(row, 0, 0, comm)), 0);
    EXPECT_EQ(sent(dist::DistIndex(back), Index(back), row, on_rank(row, 0, last, comm)),
              last > 0 ? 4 * 8 : 0);
    const Array turned = Array::of<i64>({7, 2, 8, 2});  // rows in any order, one of them twice
    EXPECT_EQ(sent(dist::DistIndex(turned), Index(turned), row, on_rank(row, 0, last, comm)),
              last > 0 ? 4 * 8 : 0);
    const Array four = counted({4, 1});
    EXPECT_EQ(sent(dist::DistIndex(turned), Index(turned), four, on_rank(four, 0, last, comm)),
              last > 0 ? 3 * 8 : 0)
        << "three places, one number each";
    const Array fours = counted({9, 3});
    const Array columns = Array::of<i64>({1, 1, 0});  // of equal places the last alone is sent
    EXPECT_EQ(sent(dist::DistIndex(Slice{}, columns), Index(Slice{}, columns), fours,
                   on_rank(fours, 0, last, comm)),
              last > 0 ? 9 * 2 * 8 : 0);
  });
}

// A row that one rank owns goes straight to the owners of its places; parts of it are read from it.
TEST_P(DistIndexingRules, RowsGoFromTheirOwner) {
  run_ranks(GetParam(), [](Communicator comm) {
    const i64 others = comm.size() - 1;
    const Array whole = counted({9, 4}), from = ops::add(counted({7, 4}), Value(100));
    const DNDarray x = on_rank(whole, 0, 0, comm), y = on_rank(from, 0, comm.size() - 1, comm);
    const Array rows = Array::of<i64>({7, 2, 8});
    const DNDarray row = y[dist::DistIndex(5)];
    const i64 said = explain(x, dist::DistIndex(rows), row).data_bytes;
    const i64 bytes = bytes_sent_by(comm, [&] { x.assign(dist::DistIndex(rows), row); });
    EXPECT_EQ(bytes, others > 0 ? 4 * 8 : 0);
    EXPECT_EQ(said, bytes);
    whole.assign(Index(rows), from[Index(5)]);
    EXPECT_TRUE(same_bits(x.gathered(), whole));
    const dist::DistIndex part(Slice{1, 3, {}});
    EXPECT_EQ(explain(row, part).data_bytes,
              bytes_sent_by(comm, [&] { (void)y[dist::DistIndex(5)][part].local(); }));
    EXPECT_EQ(explain(row, part).data_bytes, 2 * 8 * others);
  });
}

TEST_P(DistIndexingRules, KeysTravelInTheNarrowestType) {
  run_ranks(GetParam(), [](Communicator comm) {
    const int p = comm.size();
    const DNDarray x = split_along(counted({5, 300}), 0, comm);
    const DNDarray y = split_along(counted({5, 7}), 0, comm);
    const DNDarray k =
        split_along(ops::remainder(ops::multiply(counted({20}), Value(3)), Value(7)), 0, comm);
    const auto sent = [&](const DNDarray& a) {
      const i64 said = explain(a, dist::DistIndex(Slice{}, k)).index_bytes;
      const i64 bytes = bytes_sent_by(comm, [&] { (void)a[dist::DistIndex(Slice{}, k)]; });
      EXPECT_EQ(said, bytes);
      return bytes;
    };
    const i64 agreed = p * (p - 1);  // a byte each: nothing is out of bounds
    EXPECT_EQ(sent(x), 20 * 2 * (p - 1) + agreed);
    EXPECT_EQ(sent(y), 20 * 1 * (p - 1) + agreed);
  });
}

// Rows that are distributed beside columns that every rank has: the rows alone are told.
TEST_P(DistIndexingRules, OuterKeysTellTheirRowsAlone) {
  run_ranks(GetParam(), [](Communicator comm) {
    const int p = comm.size();
    const Array whole = counted({40, 50});
    const Array picked = ops::remainder(ops::multiply(counted({14, 1}), Value(23)), Value(40));
    const Array columns = ops::remainder(ops::multiply(counted({30}), Value(17)), Value(50));
    const DNDarray x = on_rank(whole, 0, 0, comm), rows = split_along(picked, 0, comm);
    DNDarray y;
    const i64 bytes = bytes_sent_by(comm, [&] { y = x[dist::DistIndex(rows, columns)]; });
    EXPECT_TRUE(same_bits(y.gathered(), whole[Index(picked, columns)]));
    const i64 away = 14 - rows.part().count(0), counts = 8 * (p - 1);  // to the owner of all
    EXPECT_EQ(bytes, counts + away + away * 30 * 8);
    const i64 set = bytes_sent_by(comm, [&] {
      x.assign(dist::DistIndex(rows, columns), Array::scalar(Value(-1), DType::i64));
    });
    EXPECT_EQ(set, counts + away);
    whole.assign(Index(picked, columns), Array::scalar(Value(-1), DType::i64));
    EXPECT_TRUE(same_bits(x.gathered(), whole));
  });
}

// However many elements a mask picks, the result is split along the axis that it collapses
// into.
TEST_P(DistIndexingRules, SplitsDoNotDependOnWhatAMaskPicks) {
  run_ranks(GetParam(), [](Communicator comm) {
    const Array whole = counted({7, 7}), list = Array::of<i64>({0, 2, 5, 5}).reshape({2, 2});
    for (const auto& picked : {mask_of(7, {3}), mask_of(7, {3, 6})}) {
      const Array expected = whole[Index(picked, list)];
      for (const DNDarray& x :
           {split_along(whole, 0, comm), DNDarray::replicated(whole.copy(), comm)}) {
        const DNDarray m = split_along(picked, 0, comm);
        const dist::DistIndex near(picked, list), far(m, list);
        EXPECT_EQ(x[far].split(), std::optional<i64>(1));
        EXPECT_EQ(explain(x, far).distribution.split, std::optional<i64>(1));
        EXPECT_TRUE(same_bits(x[far].gathered(), expected));
        EXPECT_EQ(x[near].split(), x.split() ? std::optional<i64>(1) : std::nullopt);
      }
    }
  });
}

TEST_P(DistIndexingRules, ErrorsSpeakOfWhatWasGiven) {
  run_ranks(GetParam(), [](Communicator comm) {
    const DNDarray x = split_along(counted({7, 5, 3}), 0, comm);
    const DNDarray all = split_along(mask_of(7, {0, 1, 2, 3, 4, 5, 6}), 0, comm);
    const Array six = counted({2, 3}), two = Array::of<i64>({0, 1});
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)x[dist::DistIndex(all, six, two)]; }),
              "shape mismatch: indexing arrays could not be broadcast together with shapes (7,) "
              "(2,3) (2,) ");
    const DNDarray value = DNDarray::replicated(counted({1, 1, 4}), comm);
    EXPECT_EQ(thrown_text<ShapeError>([&] { x.assign(dist::DistIndex(two, 0), value); }),
              "shape mismatch: value array of shape (1,1,4) could not be broadcast to indexing "
              "result of shape (2,3)");
    // NumPy broadcasts the value before it looks at positions.
    EXPECT_EQ(thrown_text<ShapeError>([&] {
                x.assign(dist::DistIndex(mask_of(7, {0, 1}), new_axis, Array::of<i64>({9})),
                         DNDarray::replicated(counted({2, 2}), comm));
              }),
              "shape mismatch: value array of shape (2,2) could not be broadcast to indexing "
              "result of shape (2,1,3)");
    // Of positions on several ranks the first in NumPy's order is named.
    const DNDarray wild = split_along(Array::of<i64>({1, 2, 0, 3, 9, 8}), 0, comm);
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)x[dist::DistIndex(wild)]; }),
              "index 9 is out of bounds for axis 0 with size 7");
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)x[dist::DistIndex(Slice{}, wild)]; }),
              "index 9 is out of bounds for axis 1 with size 5");
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)x[dist::DistIndex(wild, Array::of<i64>({6}))]; }),
              "index 9 is out of bounds for axis 0 with size 7");
    // Also where all ranks remember the least and the largest of them.
    const DNDarray known =
        dist::array(Array::of<i64>({1, 7, 0, -9, 9, 8}), {.split = 0, .comm = comm});
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)x[dist::DistIndex(Slice{}, known)]; }),
              "index 7 is out of bounds for axis 1 with size 5");
    const DNDarray whole = DNDarray::replicated(counted({7, 5}), comm);
    EXPECT_EQ(thrown_text<IndexError>([&] { (void)whole[dist::DistIndex(known)]; }),
              "index 7 is out of bounds for axis 0 with size 7");
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DistIndexingRules, testing::Values(1, 2, 3, 4, 7),
                         [](const auto& info) { return cat("p", info.param); });

}  // namespace
}  // namespace tessera
