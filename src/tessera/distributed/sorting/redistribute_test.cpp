// SPDX-License-Identifier: Apache-2.0
// Order with budget memory, which is a matter of the host, on few items and with little room, so
// that every step is taken: against the local functions on all items, bit by bit.
#include "tessera/distributed/sorting/redistribute.hpp"

#include <cmath>
#include <random>

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/distributed/exchange/panels.hpp"
#include "tessera/distributed/sorting/bounded_argsort.hpp"
#include "tessera/distributed/sorting/quantile.hpp"
#include "tessera/distributed/sorting/sort.hpp"
#include "tessera/distributed/sorting/unique.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr DType all_types[] = {DType::b1,  DType::i8,  DType::u8,   DType::i16, DType::u16,
                               DType::i32, DType::u32, DType::i64,  DType::u64, DType::f16,
                               DType::f32, DType::f64, DType::bf16, DType::c64, DType::c128};
constexpr dist::MemoryBudget little{
    .from = 0, .piece = 300, .sample = 9, .gathered = 160, .room = 900};

TEST(DistSortBounded, EveryDtypeAndKindOfData) {
  on_ranks({2, 5}, [](Communicator comm) {
    for (const DType dtype : all_types)
      for (const Data data : all_data) {
        const Array whole = awkward(dtype, {901}, 7, data).to(cpu);
        for (const Distribution& s : distributions_of({901}, comm.size())) {
          if (!s.split) continue;
          const DNDarray x = distribute(whole, s, comm, Lay::gaps);
          const Partition even = Partition::even(901, comm.size());
          const Array mine = dist::bounded_sort(x.local(), s.part.counts(), even, comm, little);
          expect_distributed(DNDarray(mine, {901}, {0, even}, comm), tessera::sort(whole),
                             {0, even});
          const Array positions =
              dist::bounded_argsort(x.local(), s.part.counts(), even, comm, little);
          expect_distributed(DNDarray(positions, {901}, {0, even}, comm), tessera::argsort(whole),
                             {0, even});
        }
      }
  });
}

TEST(DistSortBounded, ItemsAtPlaces) {
  on_ranks([](Communicator comm) {
    const std::vector<i64> positions{0, 1, 7, 449, 450, 451, 452, 700, 898, 900};
    const Array index = laid_out<i64>({10}, positions).to(cpu);
    for (const DType dtype : {DType::f32, DType::i32, DType::c64})
      for (const Data data : all_data) {
        const Array whole = awkward(dtype, {901}, 3, data).to(cpu);
        const Array expected = take(tessera::sort(whole), index, 0);
        for (const Distribution& s : distributions_of({901}, comm.size())) {
          if (!s.split) continue;
          const DNDarray x = distribute(whole, s, comm);
          dist::Selection all(x.local(), s.part.counts(), comm, little);
          expect_distributed(DNDarray::replicated(all.items_at(positions), comm), expected, {});
        }
      }
  });
}

TEST(DistSortBounded, CutsAtTheEnds) {
  on_ranks([](Communicator comm) {
    const Array whole = awkward(DType::f64, {50}, 3).to(cpu);
    const DNDarray x = distribute(whole, {0, Partition::even(50, comm.size())}, comm);
    dist::Selection all(x.local(), x.part().counts(), comm, little);
    const std::vector<i64> targets{0, 25, 50};
    const dist::LocalSplitters splitters = all.splitters(targets);
    EXPECT_EQ(splitters.at[0].before, 0);
    EXPECT_EQ(splitters.at[2].before, x.local().size());
    i64 half = splitters.at[1].before;
    comm.allreduce(&half, 1, DType::i64, Combine::sum);
    EXPECT_EQ(half, 25);
  });
}

// More than the functions copy, with ties and NaNs: the budget ways that they choose by
// themselves.
TEST(DistSortBounded, MuchIsOrderedAsLittle) {
  if (over_mpi()) GTEST_SKIP() << "the whole array is made once for all ranks";
  const i64 n = 6600007;
  for (const i64 kinds : {i64{1000}, i64{1} << 40}) {
    std::mt19937_64 engine(3);
    const Array whole = empty_dense({n}, DType::f64);
    for (i64 i = 0; i < n; ++i)
      whole.host<double>()[i] =
          i % 5000 == 7 ? std::nan("")
                        : static_cast<double>(static_cast<i64>(engine() >> 20) % kinds - kinds / 2);
    const Array sorted = tessera::sort(whole), positions = tessera::argsort(whole),
                values = tessera::unique(whole).values;
    const double middle = sorted.host<double>()[n / 2 - n / 5000 / 2];
    run_ranks(2, [&](Communicator comm) {
      const Distribution s{0, Partition::even(n, 2)};
      const DNDarray x(whole.slice(0, s.part.begin(comm.rank()), s.part.end(comm.rank())), {n}, s,
                       comm);
      expect_distributed(dist::sort(x), sorted, s);
      expect_distributed(dist::argsort(x), positions, s);
      const DNDarray found = dist::unique(x, {false, false, false}).values;
      expect_distributed(found, values, found.distribution());
      const Array q = full({}, Value(0.25), DType::f64);
      const DNDarray quarter = dist::quantile(x, q, std::nullopt, false);
      EXPECT_TRUE(std::isnan(quarter.gathered().item().as<double>()));
      dist::Selection all(x.local(), s.part.counts(), comm);
      const i64 position[] = {n / 2 - n / 5000 / 2};
      EXPECT_EQ(all.items_at(position).select(0, 0).item().as<double>(), middle);
    });
  }
}

TEST(DistPanels, SmallPanelsOfManyShapes) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{9, 31}, Shape{11, 3, 17}, Shape{5, 40, 2}, Shape{7, 0, 3}})
      for (const Distribution& s : distributions_of(shape, comm.size())) {
        if (!s.split) continue;
        const Array whole = awkward(DType::f64, shape, 5);
        const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
        const DNDarray out = distribute(whole, s, comm);
        dist::by_panels(
            x, out, [&](const Array& lines, i64) { return tessera::sort(lines, *s.split); }, 64);
        expect_distributed(out, tessera::sort(whole, *s.split), s);
        expect_distributed(x, whole, s);
      }
  });
}

}  // namespace
}  // namespace tessera::dist
