// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/halo.hpp"

#include "support/distributions.hpp"

namespace tessera::dist {
namespace {

// The entries beside an interval, by slicing the whole.
void check_halo(const Array& whole, const Distribution& s, i64 width, const Communicator& comm) {
  const DNDarray x = distribute(whole, s, comm, Lay::reversed);
  const i64 axis = *s.split, begin = s.part.begin(comm.rank()), end = s.part.end(comm.rank());
  const bool populated = begin < end;
  const Array previous = whole.slice(axis, populated ? std::max<i64>(0, begin - width) : 0,
                                     populated ? begin : 0),
              next = whole.slice(axis, populated ? end : 0,
                                 populated ? std::min(end + width, s.part.size()) : 0);
  const Traffic before = comm.traffic();
  const dist::Halo h = dist::halo(x, width);
  EXPECT_TRUE(same_bits(h.previous, previous));
  EXPECT_TRUE(same_bits(h.next, next));
  EXPECT_EQ((comm.traffic() - before).bytes, previous.bytes() + next.bytes())
      << "as much goes out as comes in";
  EXPECT_LE((comm.traffic() - before).messages, 2);
  EXPECT_TRUE(same_bits(dist::halo(x, width, true, false).previous, previous));
  EXPECT_EQ(dist::halo(x, width, true, false).next.size(), 0);
  EXPECT_TRUE(same_bits(dist::halo(x, width, false, true).next, next));
  const Array parts[] = {previous, part_of(whole, s, comm.rank()), next};
  EXPECT_TRUE(same_bits(dist::with_halo(x, width), concatenate(parts, axis)));
  expect_distributed(x, whole, s);
}

TEST(Halo, NearestPopulatedNeighbours) {
  on_ranks([](Communicator comm) {
    for (const Device device : {test_device(), Device::parse("sim:0")}) {
      for (const Shape& shape : {Shape{15, 2}, Shape{2, 9}, Shape{14, 0}}) {
        const Array whole = counted(shape, DType::f32, device);
        for (const Distribution& s : distributions_of(shape, comm.size())) {
          if (!s.split) continue;
          i64 most = s.part.size();
          for (const i64 n : s.part.counts()) most = n > 0 ? std::min(most, n) : most;
          for (const i64 width : {i64{0}, i64{1}, most})
            if (width <= most) check_halo(whole, s, width, comm);
        }
      }
      std::vector<i64> counts(static_cast<std::size_t>(comm.size()), 0);
      counts.front() += 3;
      counts.back() += 2;  // nobody lives in between
      const i64 n = comm.size() == 1 ? 5 : 2;
      const Distribution far{0, Partition::of(counts)};
      for (const i64 width : {i64{1}, n})
        check_halo(counted({5, 3}, DType::i64, device), far, width, comm);
    }
  });
}

TEST(Halo, RefusedByAllBeforeAnythingIsSent) {
  on_ranks([](Communicator comm) {
    const DNDarray x = distribute(counted({9}), {0, Partition::even(9, comm.size())}, comm);
    const Traffic before = comm.traffic();
    EXPECT_THROW(dist::halo(x, -1), ArgumentError);
    EXPECT_THROW(dist::halo(x, 9 / comm.size() + 1), ArgumentError);
    EXPECT_THROW(dist::halo(DNDarray::replicated(counted({9}), comm), 1), SplitError);
    EXPECT_EQ(comm.traffic(), before);
  });
}

}  // namespace
}  // namespace tessera::dist
