// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/unique.hpp"

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// A line of the result: split along 0 where x has a split, and the same values.
void expect_line(const DNDarray& got, const Array& expected, bool split) {
  EXPECT_EQ(got.split(), split ? std::optional<i64>(0) : std::nullopt);
  EXPECT_EQ(got.local().shape(), got.lshape());
  EXPECT_TRUE(same_bits(got.gathered(), expected));
}

void check(const DNDarray& x, const Array& whole) {
  const tessera::Unique expected = tessera::unique(whole);
  const bool split = x.split().has_value();
  const dist::Unique got = dist::unique(x);
  expect_line(got.values, expected.values, split);
  expect_line(got.index, expected.index, split);
  expect_line(got.counts, expected.counts, split);
  expect_distributed(got.inverse, expected.inverse, x.distribution());
  const dist::Unique values = dist::unique(x, {false, false, false});
  expect_line(values.values, expected.values, split);
  EXPECT_FALSE(values.index || values.inverse || values.counts);
}

TEST(DistUnique, Lines) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {0, 1, 2, 6, 200})
      for (const DType dtype : {DType::b1, DType::u8, DType::i64, DType::f32, DType::c64}) {
        const Array whole = awkward(dtype, {n}, static_cast<unsigned>(n + 2));
        for (const Distribution& s : distributions_of({n}, comm.size()))
          check(distribute(whole, s, comm, Lay::gaps), whole);
      }
  });
}

TEST(DistUnique, KindsOfData) {
  on_ranks([](Communicator comm) {
    for (const Data data : all_data)
      for (const DType dtype : {DType::f64, DType::i32}) {
        const Array whole = awkward(dtype, {350}, 2, data);
        for (const Distribution& s : distributions_of({350}, comm.size()))
          check(distribute(whole, s, comm), whole);
      }
    const Array nans = full({40}, Value(std::numeric_limits<double>::quiet_NaN()), DType::f64);
    for (const Distribution& s : distributions_of({40}, comm.size()))
      check(distribute(nans, s, comm), nans);
  });
}

// Equal values that differ in their bits are interleaved over the ranks: the first of all is kept.
TEST(DistUnique, EverySplit) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{5, 9, 4}, Shape{2, 30}, Shape{1, 20}, Shape{0, 3}})
      for (const DType dtype : {DType::f32, DType::c128, DType::i16}) {
        const Array whole = awkward(dtype, shape, 6);
        for (const Distribution& s : distributions_of(shape, comm.size()))
          check(distribute(whole, s, comm, Lay::exchanged), whole);
      }
    check(DNDarray::replicated(Array::scalar(Value(2.0), DType::f32), comm),
          Array::scalar(Value(2.0), DType::f32));
  });
}

TEST(DistUnique, EachDistinctValueTravelsOnce) {
  on_ranks([](Communicator comm) {
    const i64 n = 50000, p = comm.size();
    std::mt19937_64 engine(3);
    std::vector<i64> all, few;
    for (i64 i = 0; i < n; ++i) {
      all.push_back(static_cast<i64>(engine()));
      few.push_back(static_cast<i64>(engine() % 10));
    }
    const Distribution s{0, Partition::even(n, comm.size())};
    const DNDarray distinct = distribute(laid_out<i64>({n}, all), s, comm);
    const DNDarray repeated = distribute(laid_out<i64>({n}, few), s, comm);
    Traffic before = comm.traffic();
    (void)dist::unique(distinct, {false, false, false});
    EXPECT_LE(bytes_of_all(comm, before), n * 8 * 11 / 10 * (p - 1) / p + p * (p - 1) * 100);
    before = comm.traffic();
    (void)dist::unique(repeated);
    EXPECT_LE(bytes_of_all(comm, before), p * (p - 1) * 1000);
    before = comm.traffic();
    (void)dist::unique(DNDarray::replicated(laid_out<i64>({n}, few), comm));
    EXPECT_EQ(comm.traffic(), before);
  });
}

}  // namespace
}  // namespace tessera::dist
