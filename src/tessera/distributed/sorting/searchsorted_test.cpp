// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/searchsorted.hpp"

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

TEST(DistSearchSorted, EveryDistributionOfBoth) {
  on_ranks([](Communicator comm) {
    const std::pair<DType, DType> types[] = {{DType::f32, DType::f32},
                                             {DType::i32, DType::f64},
                                             {DType::c64, DType::c64},
                                             {DType::u8, DType::i64}};
    for (const auto& [a, b] : types)
      for (const i64 n : {0, 1, 40}) {
        const Array sorted = tessera::sort(awkward(a, {n}, 4));
        for (const Shape& shape : {Shape{31}, Shape{4, 5}, Shape{}, Shape{0}}) {
          const Array values = awkward(b, shape, 9);
          for (const Distribution& s : distributions_of({n}, comm.size()))
            for (const Distribution& v : distributions_of(shape, comm.size()))
              for (const bool right : {false, true}) {
                const DNDarray got = dist::searchsorted(distribute(sorted, s, comm, Lay::gaps),
                                                        distribute(values, v, comm), right);
                expect_distributed(got, tessera::searchsorted(sorted, values, right), v);
              }
        }
      }
  });
}

// Nobody checks that the array is sorted: any answer will do, but all ranks must come back.
TEST(DistSearchSorted, UnsortedIsNoHang) {
  on_ranks([](Communicator comm) {
    const Array whole = awkward(DType::f64, {50}, 1);
    const DNDarray x = distribute(whole, {0, Partition::even(50, comm.size())}, comm);
    EXPECT_EQ(dist::searchsorted(x, x).shape(), Shape{50});
  });
}

TEST(DistSearchSorted, SendsLittle) {
  on_ranks([](Communicator comm) {
    const i64 p = comm.size();
    const Array sorted = arange(Value(0), Value(1000), Value(1), DType::f64);
    std::vector<double> numbers;
    for (i64 i = 0; i < 10000; ++i) numbers.push_back(static_cast<double>(i % 7) * 130);
    const Array values = laid_out<double>({10000}, numbers, Lay::dense, cpu);
    const Distribution s{0, Partition::even(1000, comm.size())};
    const Distribution v{0, Partition::even(10000, comm.size())};
    const DNDarray x = distribute(values, v, comm);
    Traffic before = comm.traffic();
    (void)dist::searchsorted(DNDarray::replicated(sorted, comm), x);
    EXPECT_EQ(comm.traffic(), before);
    before = comm.traffic();
    (void)dist::searchsorted(distribute(sorted, s, comm), x);
    i64 bytes = (comm.traffic() - before).bytes;
    comm.allreduce(&bytes, 1, DType::i64, Combine::sum);
    // A last value and a count to each other rank; seven distinct values there, two bytes each
    // back.
    EXPECT_LE(bytes, p * (p - 1) * 16 + p * 7 * 10);
  });
}

TEST(DistSearchSorted, Errors) {
  on_ranks([](Communicator comm) {
    const DNDarray m = distribute(counted({4, 3}), {0, Partition::even(4, comm.size())}, comm);
    EXPECT_THROW(dist::searchsorted(m, m), ShapeError);
  });
}

}  // namespace
}  // namespace tessera::dist
