// SPDX-License-Identifier: Apache-2.0
// What functions of distributed arrays hold beside their operands and results, by the counters of
// the devices: little where elements only change hands, some copies of the operand where they are
// put in order. Ranks are threads here and share the counters, so that all numbers are of all
// ranks.
#include "tessera/device/memory.hpp"

#include "support/spreads.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/dist/index_key.hpp"
#include "tessera/dist/quantile.hpp"
#include "tessera/dist/sort.hpp"
#include "tessera/dist/topk.hpp"
#include "tessera/dist/unique.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

constexpr i64 mib = i64{1} << 20;
constexpr int ranks = 2;

// Bytes at the worst moment beside what was there and the result.
template <class F>
i64 extra_of(const Communicator& comm, F&& f) {
  comm.barrier();
  if (comm.rank() == 0) reset_peak(cpu);
  comm.barrier();
  const i64 before = memory_stats(cpu).in_use;
  comm.barrier();
  const DNDarray y = f();
  i64 result = count_of(y.lshape()) * size_of(y.dtype());
  comm.allreduce(&result, 1, DType::i64, Combine::sum);
  const i64 extra = memory_stats(cpu).peak - before - result;
  comm.barrier();
  return extra;
}

// 64 MiB of doubles, no two alike nearby.
DNDarray numbers(const Shape& shape, const Communicator& comm) {
  const Partition part = Partition::even(shape[0], comm.size());
  Shape local = shape;
  local[0] = part.count(comm.rank());
  const Array mine = Random(5 + static_cast<std::uint64_t>(comm.rank())).normal(local, DType::f64);
  return DNDarray(mine, shape, {0, part}, comm);
}

TEST(DistMemory, ElementsThatChangeHandsTakeLittle) {
  if (over_mpi()) GTEST_SKIP() << "counts the memory of all ranks together";
  run_ranks(ranks, [](Communicator comm) {
    const DNDarray x = numbers({8192, 1024}, comm);
    const std::vector<i64> uneven{8000, 192};
    EXPECT_LE(extra_of(comm, [&] { return x.resplit(1); }), mib);
    EXPECT_LE(extra_of(comm, [&] { return x.redistribute(uneven); }), mib);
    EXPECT_LE(extra_of(comm, [&] { return x.resplit(std::nullopt); }), mib);
    const Slice backwards{std::nullopt, std::nullopt, -1};
    EXPECT_LE(extra_of(comm, [&] { return x[{backwards}]; }), 64 * mib);
    const Array order =
        ops::subtract(Value(i64{8191}), arange(Value(0), Value(8192), Value(1), DType::i64, cpu));
    EXPECT_LE(extra_of(comm, [&] { return x[{order}]; }), 64 * mib);
  });
}

TEST(DistMemory, OrderTakesCopiesOfTheOperand) {
  if (over_mpi()) GTEST_SKIP() << "counts the memory of all ranks together";
  const OneThread one;
  run_ranks(ranks, [](Communicator comm) {
    const OneThread here;
    const i64 n = 8 * mib;
    const DNDarray line = numbers({n}, comm), lines = numbers({8192, 1024}, comm);
    const i64 copy = n * 8, little = 8 * mib;
    EXPECT_LE(extra_of(comm, [&] { return dist::sort(line, 0); }), copy + little);
    EXPECT_LE(extra_of(comm, [&] { return dist::sort(lines, 0); }), copy + little);
    EXPECT_LE(extra_of(comm, [&] { return dist::median(line); }), 2 * copy + little);
    EXPECT_LE(extra_of(comm, [&] { return dist::topk(line, 10, 0, true).values; }), copy / 2);
    EXPECT_LE(extra_of(comm,
                       [&] {
                         return dist::unique(line, {false, false, false}).values;
                       }),
              4 * copy + little);
  });
}

}  // namespace
}  // namespace tessera
