// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/print.hpp"

#include "support/distributions.hpp"
#include "tessera/array/print.hpp"

namespace tessera::dist {
namespace {

TEST(DistPrint, TheTextOfTheWholeOnEveryRank) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{0, 2}, Shape{4, 5}, Shape{2000}, Shape{3, 600}, Shape{40, 5, 9}})
      for (const Device device : {test_device(), Device::parse("sim:0")}) {
        const Array whole = counted(shape, DType::f64, device);
        const std::string text = to_text(whole);
        for (const Distribution& s : distributions_of(shape, comm.size())) {
          const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
          const Traffic before = comm.traffic();
          EXPECT_EQ(dist::to_text(x), text);
          EXPECT_LE((comm.traffic() - before).bytes, s.split ? 8000 * (comm.size() - 1) : 0)
              << "a thousand elements at most are shown";
          expect_distributed(x, whole, s);
        }
      }
  });
}

TEST(DistPrint, RowsShowTheirEndsOnly) {
  on_ranks([](Communicator comm) {
    const bool here = comm.rank() == comm.size() - 1;
    const Array whole = counted({5000}, DType::f32);
    const DNDarray row = DNDarray::owned_by_one_rank(here ? whole : Array(), {5000}, DType::f32,
                                                     cpu, comm.size() - 1, comm);
    const Traffic before = comm.traffic();
    EXPECT_EQ(dist::to_text(row), to_text(whole));
    EXPECT_EQ((comm.traffic() - before).bytes, here ? 24 * (comm.size() - 1) : 0);
  });
}

TEST(DistPrint, ReprAsksNobody) {
  run_ranks(3, [](Communicator comm) {
    const DNDarray x = distribute(counted({7, 2}, DType::f32), {0, Partition::even(7, 3)}, comm);
    if (comm.rank() != 1) return;  // alone: it would hang if it asked
    EXPECT_EQ(dist::repr(x),
              "DNDarray(shape=(7, 2), split=0, counts=[3, 2, 2], dtype=float32, device='cpu', "
              "comm='rank 1 of 3 (threads)')");
    EXPECT_EQ(dist::repr(DNDarray::replicated(counted({}), comm)),
              "DNDarray(shape=(), split=None, dtype=int64, device='cpu', comm='rank 1 of 3 "
              "(threads)')");
    EXPECT_EQ(dist::repr(DNDarray()), "DNDarray()");
    const DNDarray row = DNDarray::owned_by_one_rank(Array(), {2}, DType::b1, cpu, 2, comm);
    EXPECT_NE(dist::repr(row).find("split=None, owner=2, dtype=bool"), std::string::npos);
  });
  run_ranks(17, [](Communicator comm) {
    const DNDarray x = distribute(counted({17}), {0, Partition::even(17, 17)}, comm);
    EXPECT_NE(dist::repr(x).find("counts=[1, 1, 1, 1, 1, 1, 1, 1, ..., 1, 1, 1, 1, 1, 1, 1, 1]"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace tessera::dist
