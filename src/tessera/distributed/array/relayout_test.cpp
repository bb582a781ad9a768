// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/relayout.hpp"

#include <random>

#include "support/distributions.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"

namespace tessera::dist {
namespace {

// Bytes and messages by counting elements one by one: an element that a rank wants and lacks costs
// one transfer, each pair of ranks that has any one message. Nothing can be less.
Movement least(const Shape& shape, i64 item, const Distribution& from, const Distribution& to,
               int p) {
  Movement m;
  auto holds = [&](const Distribution& s, int r, const std::vector<i64>& at) {
    if (!s.split) return true;
    const i64 i = at[static_cast<std::size_t>(*s.split)];
    return s.part.begin(r) <= i && i < s.part.end(r);
  };
  for (int r = 0; r < p; ++r) {
    i64 sent = 0;
    for (int q = 0; q < p; ++q) {
      i64 n = 0;
      for (i64 k = 0; k < count_of(shape); ++k) {
        std::vector<i64> at(static_cast<std::size_t>(shape.size()));
        for (i64 a = shape.size() - 1, rest = k; a >= 0; rest /= shape[a--])
          at[static_cast<std::size_t>(a)] = rest % shape[a];
        n += holds(to, q, at) && !holds(from, q, at) && holds(from, r, at);
      }
      sent += n * item;
      m.messages += n > 0;
    }
    m.sent.push_back(sent);
  }
  return m;
}

void check_pair(const Array& whole, const Distribution& from, const Distribution& to, Lay lay,
                const Communicator& comm) {
  const int p = comm.size();
  const Shape& shape = whole.shape();
  const Relayout move(shape, boxes_of(shape, from, p), boxes_of(shape, to, p));
  const i64 item = size_of(whole.dtype());
  const Movement m = move.movement(item);
  if (comm.rank() == 0) {
    const Movement bound = least(shape, item, from, to, p);
    EXPECT_EQ(m.messages, bound.messages);
    EXPECT_EQ(m.sent, bound.sent);
  }
  const Array mine = part_of(whole, from, comm.rank(), lay),
              wanted = part_of(whole, to, comm.rank());
  const Traffic before = comm.traffic();
  const Array found = move.run(mine, whole.dtype(), comm);
  const Traffic used = comm.traffic() - before;
  EXPECT_TRUE(same_bits(found, wanted)) << to_text(shape);
  EXPECT_TRUE(found.is_contiguous());
  EXPECT_EQ(found.device(), whole.device());
  EXPECT_EQ(used.bytes, m.sent[static_cast<std::size_t>(comm.rank())]);
  i64 messages = used.messages;
  comm.allreduce(&messages, 1, DType::i64, Combine::sum);
  EXPECT_EQ(messages, m.messages);
  // Into memory with gaps, which stay as they are.
  i64 size = 0;
  const Layout layout = layout_of(wanted.shape(), Lay::gaps, &size);
  const Array room = full({size}, Value(77), whole.dtype(), whole.device());
  move.run_into(mine, room.view(layout), comm);
  EXPECT_TRUE(same_bits(room.view(layout), wanted));
  if (wanted.size() > 0) {
    EXPECT_EQ(room.select(0, 0).item().as<i64>(), 77);
    EXPECT_EQ(room.select(0, size - 1).item().as<i64>(), 77);
  }
}

TEST(Relayout, EveryPairOfDistributionsMovesTheLeast) {
  for (const Shape& shape : {Shape{7}, Shape{2}, Shape{0}, Shape{5, 4}, Shape{3, 0}, Shape{0, 4},
                             Shape{4, 3, 5}, Shape{1, 8, 2}})
    on_ranks([&](Communicator comm) {
      const Array whole = counted(shape, DType::i16, test_device());
      int turn = 0;
      for (const Distribution& from : distributions_of(shape, comm.size()))
        for (const Distribution& to : distributions_of(shape, comm.size()))
          check_pair(whole, from, to, all_lays[turn++ % 4], comm);
    });
}

TEST(Relayout, RandomShapesAndCounts) {
  on_ranks([](Communicator comm) {
    std::mt19937 random(11);
    auto below = [&](i64 n) { return static_cast<i64>(random() % static_cast<std::uint64_t>(n)); };
    for (int trial = 0; trial < 60; ++trial) {
      Shape shape;
      for (i64 k = 1 + below(4); k > 0; --k) shape.push_back(below(8) == 0 ? 0 : 1 + below(7));
      auto distribution = [&]() -> Distribution {
        const i64 axis = below(shape.size() + 1) - 1;
        if (axis < 0) return {};
        std::vector<i64> counts(static_cast<std::size_t>(comm.size()));
        for (i64 left = shape[axis]; left > 0; --left)
          ++counts[static_cast<std::size_t>(below(comm.size()))];
        return {axis, Partition::of(counts)};
      };
      const Distribution from = distribution(), to = distribution();
      const DType dtype = trial % 3 == 0 ? DType::c128 : trial % 3 == 1 ? DType::u8 : DType::f32;
      check_pair(counted(shape, dtype, test_device()), from, to, all_lays[trial % 4], comm);
    }
  });
}

TEST(Relayout, OtherDevicesAreStaged) {
  const Using<bool> staged(config().device_lanes, false);
  const Device sim = Device::parse("sim:0");
  for (const Shape& shape : {Shape{6}, Shape{5, 4}, Shape{2, 3, 4}})
    for (const int p : {1, 2, 3})
      run_ranks(p, [&](Communicator comm) {
        const Array whole = counted(shape, DType::i32, sim);
        int turn = 0;
        for (const Distribution& from : distributions_of(shape, comm.size()))
          for (const Distribution& to : distributions_of(shape, comm.size()))
            check_pair(whole, from, to, all_lays[turn++ % 4], comm);
      });
}

// What some pairs of distributions, and a broadcast, send from each rank; the results are as they
// should be.
std::vector<Traffic> moved_on_devices(const Communicator& comm, const Shape& shape, bool direct) {
  const Device device{Kind::sim, static_cast<std::int16_t>(comm.rank())};
  const int p = comm.size(), owner = p - 1;
  const Array whole = counted(shape, DType::i32, device),
              none = empty_dense({0}, DType::i32, device);
  std::vector<Traffic> all;
  int turn = 0;
  const auto move = [&](const Array& mine, const Boxes& from, const Boxes& to,
                        const Array& wanted) {
    i64 size = 0;
    const Layout gaps = layout_of(wanted.shape(), Lay::gaps, &size);
    const Array room = full({size}, Value(77), DType::i32, device);
    Stream::home(device).sync();
    comm.barrier();
    const i64 up = counter(Counter::bytes_host_to_device),
              down = counter(Counter::bytes_device_to_host);
    const Traffic before = comm.traffic();
    const Relayout relayout(shape, from, to);
    const Array found = relayout.run(mine, DType::i32, comm);
    relayout.run_into(mine, room.view(gaps), comm);
    all.push_back(comm.traffic() - before);
    Stream::home(device).sync();
    comm.barrier();
    if (direct) {
      EXPECT_EQ(counter(Counter::bytes_host_to_device), up);
      EXPECT_EQ(counter(Counter::bytes_device_to_host), down);
    }
    comm.barrier();
    EXPECT_TRUE(same_bits(found, wanted));
    EXPECT_TRUE(same_bits(room.view(gaps), wanted));
    if (wanted.size() > 0) {
      EXPECT_EQ(room.select(0, 0).item().as<i64>(), 77);
      EXPECT_EQ(room.select(0, size - 1).item().as<i64>(), 77);
    }
  };
  for (const Distribution& from : distributions_of(shape, p))
    for (const Distribution& to : distributions_of(shape, p))
      if (++turn % (p > 3 ? 7 : 3) == 0)
        move(part_of(whole, from, comm.rank(), all_lays[turn / 3 % 4]), boxes_of(shape, from, p),
             boxes_of(shape, to, p), part_of(whole, to, comm.rank()));
  move(comm.rank() == owner ? part_of(whole, {}, owner, Lay::exchanged) : none, boxes_on(owner, p),
       boxes_of(shape, {}, p), whole);
  return all;
}

TEST(Relayout, DevicesMeetWithoutTheHost) {
  for (const Shape& shape : {Shape{6}, Shape{5, 4}, Shape{2, 3, 4}})
    for (const int p : {1, 2, 3, 4, 7}) {
      std::vector<std::vector<Traffic>> traffic[2];
      for (const bool direct : {false, true}) {
        const Using<bool> lanes(config().device_lanes, direct);
        traffic[direct].resize(static_cast<std::size_t>(p));
        run_ranks(p, [&](Communicator comm) {
          traffic[direct][static_cast<std::size_t>(comm.rank())] =
              moved_on_devices(comm, shape, direct);
        });
      }
      EXPECT_EQ(traffic[0], traffic[1]) << p << " ranks, " << to_text(shape);
    }
}

void large_blocks_go_in_pieces() {
  run_ranks(2, [&](Communicator comm) {
    const Device sim = Device::parse(cat("sim:", comm.rank()));
    const Shape shape{3, 2200000, 2};
    const Array whole = counted(shape, DType::i32, sim);
    const Distribution rows{0, Partition::even(3, 2)}, columns{1, Partition::even(2200000, 2)};
    const Relayout move(shape, boxes_of(shape, rows, 2), boxes_of(shape, columns, 2));
    const Traffic before = comm.traffic();
    const Array found =
        move.run(part_of(whole, rows, comm.rank(), Lay::exchanged), DType::i32, comm);
    const Traffic used = comm.traffic() - before;
    EXPECT_TRUE(same_bits(found, part_of(whole, columns, comm.rank())));
    EXPECT_EQ(used.bytes, move.movement(4).sent[static_cast<std::size_t>(comm.rank())]);
    EXPECT_EQ(used.messages, comm.rank() == 0 ? 2 : 1) << "two rows of 8.4 MiB from rank 0";
  });
}

TEST(Relayout, LargeBlocksOfDevicesGoInPieces) {
  for (const bool direct : {true, false}) {
    const Using<bool> lanes(config().device_lanes, direct);
    large_blocks_go_in_pieces();
  }
}

TEST(Relayout, FromAndToOneRank) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), owner = p - 1;
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}, Shape{0, 2}}) {
      const Array whole = counted(shape, DType::f64, test_device());
      const bool mine = comm.rank() == owner;
      const Array nothing = empty_dense({0}, DType::f64, test_device());
      const Boxes there = boxes_on(owner, p), everywhere = boxes_of(shape, {}, p);
      for (const Distribution& s : distributions_of(shape, p)) {
        const Boxes boxes = boxes_of(shape, s, p);
        const Traffic before = comm.traffic();
        const Relayout move(shape, there, boxes);
        const Array out = move.run(mine ? whole : nothing, DType::f64, comm);
        const Traffic used = comm.traffic() - before;
        EXPECT_TRUE(same_bits(out, part_of(whole, s, comm.rank())));
        EXPECT_EQ(used.bytes, move.movement(8).sent[static_cast<std::size_t>(comm.rank())]);
        EXPECT_TRUE(mine || used.messages == 0);
        const Array back = Relayout(shape, boxes, there).run(out, DType::f64, comm);
        EXPECT_TRUE(mine ? same_bits(back, whole) : back.size() == 0);
      }
      EXPECT_EQ(Relayout(shape, there, everywhere).movement(8).bytes(), whole.bytes() * (p - 1));
      const Traffic before = comm.traffic();
      (void)Relayout(shape, everywhere, there).run(whole, DType::f64, comm);
      EXPECT_EQ(comm.traffic(), before) << "who has everything needs nothing";
    }
  });
}

TEST(Relayout, RefusesBlocksOfAnotherShape) {
  const Communicator comm = Communicator::self();
  const Boxes boxes = boxes_of({4, 3}, {}, 1);
  const Relayout move({4, 3}, boxes, boxes);
  EXPECT_THROW(move.run(counted({3, 4}), DType::i64, comm), ShapeError);
  EXPECT_THROW(move.run_into(counted({4, 3}), counted({4, 2}), comm), ShapeError);
  EXPECT_THROW(boxes_of({4, 3}, {1, Partition::even(4, 1)}, 1), ShapeError);
  EXPECT_THROW(boxes_of({4, 3}, {2, Partition::even(4, 1)}, 1), ShapeError);
  EXPECT_THROW(boxes_of({4, 3}, {0, Partition::even(4, 1)}, 2), ShapeError);
}

}  // namespace
}  // namespace tessera::dist
