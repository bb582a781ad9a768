// SPDX-License-Identifier: Apache-2.0
// Sorting over ranks against the local functions on the whole array, bit by bit.
#include "tessera/distributed/sorting/sort.hpp"

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr DType some_types[] = {DType::b1,  DType::u8,  DType::i64, DType::f16,
                                DType::f32, DType::f64, DType::c64};

// Where a flattened array lies: the rows stay, or it is balanced.
Distribution flat(const DNDarray& x) {
  if (!x.split()) return {};
  if (*x.split() != 0) return {0, Partition::even(x.size(), x.comm().size())};
  std::vector<i64> counts;
  for (int r = 0; r < x.comm().size(); ++r) counts.push_back(count_of(x.lshape(r)));
  return {0, Partition::of(counts)};
}

TEST(DistSort, LinesOfEveryLength) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {0, 1, 2, 5, 6, 97, 1000})
      for (const DType dtype : {DType::f32, DType::i64, DType::c64}) {
        const Array whole = awkward(dtype, {n}, static_cast<unsigned>(n + 1));
        for (const Distribution& s : distributions_of({n}, comm.size())) {
          const DNDarray x = distribute(whole, s, comm, Lay::gaps);
          expect_distributed(dist::sort(x), tessera::sort(whole), s);
          expect_distributed(dist::argsort(x), tessera::argsort(whole), s);
          expect_distributed(dist::sort(x, std::nullopt), tessera::sort(whole), s);
          expect_distributed(x, whole, s);
        }
      }
  });
}

TEST(DistSort, EveryDtypeAndKindOfData) {
  on_ranks({3, 7}, [](Communicator comm) {
    for (const DType dtype : some_types)
      for (const Data data : all_data) {
        const Array whole = awkward(dtype, {901}, 7, data);
        for (const Distribution& s : distributions_of({901}, comm.size())) {
          const DNDarray x = distribute(whole, s, comm);
          expect_distributed(dist::sort(x), tessera::sort(whole), s);
          expect_distributed(dist::argsort(x), tessera::argsort(whole), s);
        }
      }
  });
}

TEST(DistSort, EveryAxisOfEverySplit) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape :
         {Shape{9, 5, 4}, Shape{2, 11}, Shape{13, 2}, Shape{1, 12}, Shape{0, 3}, Shape{4, 1, 1}}) {
      const Array whole = awkward(DType::f64, shape, 3);
      for (const Distribution& s : distributions_of(shape, comm.size())) {
        const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
        for (i64 axis = -1; axis < shape.size(); ++axis) {
          expect_distributed(dist::sort(x, axis), tessera::sort(whole, axis), s);
          expect_distributed(dist::argsort(x, axis), tessera::argsort(whole, axis), s);
        }
      }
    }
  });
}

TEST(DistSort, Flattened) {
  on_ranks([](Communicator comm) {
    const Shape shape{9, 5, 4};
    std::vector<Array> arrays;
    for (const DType dtype : {DType::f32, DType::c64, DType::i32})
      arrays.push_back(awkward(dtype, shape, 4));
    arrays.push_back(awkward(DType::f32, shape, 4, Data::falling));  // no NaN, no negative zero
    for (const Array& whole : arrays)
      for (const Distribution& s : distributions_of(shape, comm.size())) {
        const DNDarray x = distribute(whole, s, comm);
        expect_distributed(dist::sort(x, std::nullopt), tessera::sort(whole, std::nullopt),
                           flat(x));
        expect_distributed(dist::argsort(x, std::nullopt), tessera::argsort(whole, std::nullopt),
                           flat(x));
      }
    const DNDarray one = DNDarray::replicated(Array::scalar(Value(2.0), DType::f64), comm);
    EXPECT_EQ(dist::sort(one, std::nullopt).shape(), Shape{1});
  });
}

TEST(DistSort, SendsNothingWhereNothingIsNeeded) {
  on_ranks([](Communicator comm) {
    const Array whole = awkward(DType::f32, {6, 10}, 5);
    const DNDarray rows = distribute(whole, {0, Partition::even(6, comm.size())}, comm);
    const DNDarray all = DNDarray::replicated(whole, comm);
    const Traffic before = comm.traffic();
    expect_distributed(dist::sort(rows, 1), tessera::sort(whole, 1), rows.distribution());
    expect_distributed(dist::argsort(rows, -1), tessera::argsort(whole, -1), rows.distribution());
    expect_distributed(dist::sort(all, std::nullopt), tessera::sort(whole, std::nullopt), {});
    expect_distributed(dist::argsort(all, 0), tessera::argsort(whole, 0), {});
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(DistSort, MovesEachElementOnce) {
  on_ranks([](Communicator comm) {
    const i64 n = 100000;
    const double p = comm.size(), data = 8.0 * n * (p - 1) / p;
    std::mt19937_64 engine(11);
    std::vector<double> numbers;
    for (i64 i = 0; i < n; ++i) numbers.push_back(static_cast<double>(engine() % 1000000007));
    const Array whole = laid_out<double>({n}, numbers);
    const DNDarray x = distribute(whole, {0, Partition::even(n, comm.size())}, comm);

    Traffic before = comm.traffic();
    const DNDarray sorted = dist::sort(x);
    EXPECT_LE(static_cast<double>(bytes_of_all(comm, before)), 1.05 * data);
    expect_distributed(sorted, tessera::sort(whole), x.distribution());

    before = comm.traffic();
    const DNDarray positions = dist::argsort(x);
    EXPECT_LE(static_cast<double>(bytes_of_all(comm, before)), 1.05 * data * 12 / 8);
    expect_distributed(positions, tessera::argsort(whole), x.distribution());

    before = comm.traffic();  // what is sorted stays: only samples and counts travel
    const DNDarray again = dist::sort(sorted);
    EXPECT_LE(static_cast<double>(bytes_of_all(comm, before)), 0.05 * data);
    expect_distributed(again, tessera::sort(whole), x.distribution());
  });
}

TEST(DistSort, Errors) {
  on_ranks([](Communicator comm) {
    const DNDarray x = distribute(counted({4, 3}), {0, Partition::even(4, comm.size())}, comm);
    const Traffic before = comm.traffic();
    EXPECT_THROW(dist::sort(x, 2), IndexError);
    EXPECT_THROW(dist::argsort(x, -3), IndexError);
    EXPECT_THROW(dist::sort(DNDarray::replicated(counted({}), comm)), IndexError);
    EXPECT_EQ(comm.traffic(), before);
  });
}

}  // namespace
}  // namespace tessera::dist
