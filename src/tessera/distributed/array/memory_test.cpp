// SPDX-License-Identifier: Apache-2.0
// What functions of distributed arrays hold beside their operands and results, by the counters of
// the devices: little, whether elements only change hands or are put in order or transformed. Ranks
// are threads here and share the counters, so that all numbers are of all ranks.
#include "tessera/device/memory.hpp"

#include "support/distributions.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/distributed/fft/fft.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/distributed/sorting/quantile.hpp"
#include "tessera/distributed/sorting/sort.hpp"
#include "tessera/distributed/sorting/topk.hpp"
#include "tessera/distributed/sorting/unique.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera::dist {
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
DNDarray numbers_over(const Shape& shape, const Communicator& comm) {
  const Partition part = Partition::even(shape[0], comm.size());
  Shape local = shape;
  local[0] = part.count(comm.rank());
  const Array mine = Random(5 + static_cast<std::uint64_t>(comm.rank())).normal(local, DType::f64);
  return DNDarray(mine, shape, {0, part}, comm);
}

TEST(DistMemory, ElementsThatChangeHandsTakeLittle) {
  if (over_mpi()) GTEST_SKIP() << "counts the memory of all ranks together";
  run_ranks(ranks, [](Communicator comm) {
    const DNDarray x = numbers_over({8192, 1024}, comm);
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

// Of arrays of which a copy would be more than this, on both ranks together.
constexpr i64 bounded = ranks * 48 * mib;

TEST(DistMemory, OrderTakesLittle) {
  if (over_mpi()) GTEST_SKIP() << "counts the memory of all ranks together";
  const OneThread one;
  run_ranks(ranks, [](Communicator comm) {
    const OneThread here;
    const i64 n = 16 * mib, little = 24 * mib;
    const DNDarray line = numbers_over({n}, comm), lines = numbers_over({8192, 2048}, comm);
    EXPECT_LE(extra_of(comm, [&] { return dist::sort(line, 0); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::argsort(line, 0); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::sort(lines, 0); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::median(line); }), little);
    EXPECT_LE(extra_of(comm, [&] { return dist::median(lines, Axes{0}); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::topk(line, 10, 0, true).values; }), little);
    const dist::UniqueParts values{false, false, false};
    EXPECT_LE(extra_of(comm, [&] { return dist::unique(line, values).values; }), bounded);
  });
}

TEST(DistMemory, TransformsAlongTheSplitTakeLittle) {
  if (over_mpi()) GTEST_SKIP() << "counts the memory of all ranks together";
  const OneThread one;
  run_ranks(ranks, [](Communicator comm) {
    const OneThread here;
    const DNDarray x = numbers_over({8192, 1024}, comm);  // results are twice as large
    EXPECT_LE(extra_of(comm, [&] { return dist::fftn(x, {0}); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::fftn(x, {0, 1}); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::rfftn(x, {1, 0}); }), bounded);
    const DNDarray line = numbers_over({i64{1} << 23}, comm),
                   cut = numbers_over({(i64{1} << 23) + 20}, comm);
    EXPECT_LE(extra_of(comm, [&] { return dist::fftn(line, {0}); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::rfftn(line, {0}); }), bounded);
    EXPECT_LE(extra_of(comm, [&] { return dist::fftn(cut, {0}); }), bounded);
    const DNDarray half = dist::rfftn(line, {0});
    EXPECT_LE(extra_of(comm, [&] { return dist::irfftn(half, {0}); }), bounded);
  });
}

}  // namespace
}  // namespace tessera::dist
