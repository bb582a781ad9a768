// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/scan.hpp"

#include "support/cases.hpp"
#include "tessera/base/config.hpp"

namespace tessera::dist {
namespace {

TEST(DistScan, EveryAxisAndDistribution) {
  for (const DType dtype : {DType::f64, DType::i8, DType::c64, DType::f16, DType::b1}) {
    const Array x = sample({5, 3, 4}, dtype);
    for_each_distribution({5, 3, 4}, [&](const Case& c) {
      const DNDarray d = c.of(x);
      for (const ScanOp op : {ScanOp::sum, ScanOp::prod})
        for (i64 a = -3; a < 3; ++a) {
          const DNDarray y = dist::scan(op, d, a);
          expect_same(y, scan(op, x, a), 100);
          EXPECT_EQ(y.distribution(), d.distribution());
        }
      if (dtype != DType::f16) expect_same(dist::cumsum(d), scan(ScanOp::sum, x, {}), 100);
      expect_same(dist::cumsum(d, 0, DType::i64), scan(ScanOp::sum, x, 0, DType::i64));
    });
  }
}

TEST(DistScan, OnlyTheSplitAxisSends) {
  const Array x = sample({5, 6});
  for_each_distribution({5, 6}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (i64 a = 0; a < 2; ++a)
      if (c.distribution.split != a) silent(c.comm, [&] { return dist::cumprod(d, a); });
  });
}

TEST(DistScan, FlattenedRowsSendTheirTotalsOnly) {
  run_ranks(3, [](const Communicator& comm) {
    const Array x = sample({7, 100}, DType::i64);
    const DNDarray d = distribute(x, {0, partitions_of(7, 3)[2]}, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = dist::cumsum(d);
    EXPECT_LE((comm.traffic() - before).bytes, 2 * 8);
    expect_split(y, 0);
    expect_same(y, scan(ScanOp::sum, x, {}));
  });
}

TEST(DistScan, LongRows) {
  const Using<i64> segments(config().staging_bytes, 20000);
  const Array x = sample({6, 4000}, DType::i64);
  for_each_distribution({6, 4000}, [&](const Case& c) {
    if (c.distribution.split == 0) expect_same(dist::cumsum(c.of(x), 0), scan(ScanOp::sum, x, 0));
  });
}

TEST(DistScan, NothingAndErrors) {
  const Array x = Array::empty({0, 3}, DType::f32);
  for_each_distribution({0, 3}, [&](const Case& c) {
    for (i64 a = 0; a < 2; ++a) expect_same(dist::cumsum(c.of(x), a), scan(ScanOp::sum, x, a));
    expect_same(dist::cumprod(c.of(x)), scan(ScanOp::prod, x, {}));
    expect_same_error<IndexError>([&] { scan(ScanOp::sum, x, 2); },
                                  [&] { dist::cumsum(c.of(x), 2); });
  });
}

}  // namespace
}  // namespace tessera::dist
