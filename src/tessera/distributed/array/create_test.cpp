// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/create.hpp"

#include <cmath>
#include <limits>

#include "support/distributions.hpp"

namespace tessera {
namespace {

// f(options, distribution) for no split and every axis, on the host and on a sim device; nothing may
// be sent.
template <class F>
void for_options(const Shape& shape, const Communicator& comm, F&& f) {
  const Traffic before = comm.traffic();
  for (const Device device : {test_device(), Device::parse("sim:0")}) {
    f(dist::Options{.device = device, .comm = comm}, dist::Distribution{});
    for (i64 a = 0; a < shape.size(); ++a)
      f(dist::Options{.split = a % 2 ? a - shape.size() : a, .device = device, .comm = comm},
        dist::Distribution{a, Partition::even(shape[a], comm.size())});
  }
  EXPECT_EQ(comm.traffic(), before);
}

TEST(Create, ArrayKeepsACopyOfItsPart) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{0, 3}, Shape{4, 3, 2}}) {
      const Array whole = counted(shape, DType::i32);
      for_options(shape, comm,
                  [&](const dist::Options& options, const dist::Distribution& distribution) {
                    const DNDarray x = dist::array(whole, options);
                    expect_distributed(x, whole, distribution);
                    EXPECT_EQ(x.device(), options.device);
                    EXPECT_FALSE(may_share_memory(x.local(), whole));
                  });
    }
  });
}

TEST(Create, ConstantsAndLikes) {
  on_ranks([](Communicator comm) {
    const Shape shape{5, 3};
    for_options(shape, comm, [&](const dist::Options& o, const dist::Distribution& distribution) {
      expect_distributed(dist::zeros(shape, DType::f32, o), zeros(shape, DType::f32), distribution);
      expect_distributed(dist::ones(shape, DType::c64, o), ones(shape, DType::c64), distribution);
      expect_distributed(dist::full(shape, Value(7), DType::i8, o),
                         full(shape, Value(7), DType::i8), distribution);
      EXPECT_TRUE(dist::empty(shape, DType::b1, o).distribution() == distribution);
    });
    for (const dist::Distribution& s : distributions_of(shape, comm.size())) {
      const DNDarray x = distribute(counted(shape), s, comm);
      expect_distributed(dist::zeros_like(x), zeros(shape, DType::i64), s);
      expect_distributed(dist::ones_like(x, DType::f16), ones(shape, DType::f16), s);
      expect_distributed(dist::full_like(x, Value(3)), full(shape, Value(3), DType::i64), s);
      EXPECT_TRUE(dist::empty_like(x).distribution() == s);
    }
  });
}

TEST(Create, RangesBitForBit) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {0, 1, 2, 11}) {
      for_options({n}, comm, [&](const dist::Options& o, const dist::Distribution& distribution) {
        expect_distributed(dist::arange(n, o), arange(Value(0), Value(n), Value(1), DType::i64),
                           distribution);
        for (const DType t : {DType::f16, DType::f32, DType::f64, DType::c64, DType::i16})
          expect_distributed(
              dist::arange(Value(0.3), Value(0.3 + 0.1 * double(n) - 0.05), Value(0.1), t, o),
              arange(Value(0.3), Value(0.3 + 0.1 * double(n) - 0.05), Value(0.1), t), distribution);
        for (const DType t : {DType::f32, DType::f64, DType::i32})
          expect_distributed(dist::linspace(-0.7, 5.1, n, t, o), linspace(-0.7, 5.1, n, t),
                             distribution);
      });
    }
    const dist::Options split{.split = 0, .comm = comm};
    expect_distributed(dist::arange(Value(0), Value(2), Value(1), DType::b1, split),
                       arange(Value(0), Value(2), Value(1), DType::b1),
                       {0, Partition::even(2, comm.size())});
    EXPECT_THROW(dist::arange(Value(0), Value(3), Value(1), DType::b1, split), DTypeError);
    EXPECT_THROW(dist::arange(Value(0), Value(3), Value(0), DType::i64, split), ArgumentError);
    EXPECT_THROW(dist::linspace(0, 1, -1, DType::f32, split), ArgumentError);
    EXPECT_THROW(dist::zeros({3}, DType::f32, {.split = 1, .comm = comm}), IndexError);
    EXPECT_THROW(dist::zeros({3, -1}, DType::f32, split), ShapeError);
  });
}

TEST(Create, EyeOnEveryDiagonal) {
  on_ranks([](Communicator comm) {
    const i64 far = std::numeric_limits<i64>::max();
    for (const Shape& shape : {Shape{5, 7}, Shape{6, 2}, Shape{0, 3}})
      for (const i64 k : {i64{0}, i64{1}, i64{-2}, i64{4}, i64{-5}, far, -far})
        for_options(shape, comm,
                    [&](const dist::Options& o, const dist::Distribution& distribution) {
                      expect_distributed(dist::eye(shape[0], shape[1], k, DType::f32, o),
                                         eye(shape[0], shape[1], k, DType::f32), distribution);
                    });
    EXPECT_THROW(dist::eye(-1, 2, 0, DType::f32, {.comm = comm}), ShapeError);
  });
}

TEST(Create, RandomNumbersDoNotDependOnTheRanks) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{}, Shape{13}, Shape{5, 7, 3}, Shape{4, 0}, Shape{2, 300}})
      for_options(shape, comm, [&](const dist::Options& o, const dist::Distribution& distribution) {
        Random mine(42), whole(42);
        expect_distributed(dist::uniform(mine, shape, DType::f32, o, -1, 3),
                           whole.uniform(shape, DType::f32, o.device, -1, 3), distribution);
        expect_distributed(dist::normal(mine, shape, DType::c128, o, 1, 2),
                           whole.normal(shape, DType::c128, o.device, 1, 2), distribution);
        expect_distributed(dist::integers(mine, -9, 9, shape, DType::i16, o),
                           whole.integers(-9, 9, shape, DType::i16), distribution);
      });
    for (const i64 n : {0, 1, 20})
      for_options({n}, comm, [&](const dist::Options& o, const dist::Distribution& distribution) {
        Random mine(7), whole(7);
        expect_distributed(dist::permutation(mine, n, o), whole.permutation(n), distribution);
      });
    Random r(1);
    EXPECT_THROW(dist::uniform(r, {3}, DType::i32, {.comm = comm}), DTypeError);
    EXPECT_THROW(dist::integers(r, 3, 3, {3}, DType::i64, {.comm = comm}), ArgumentError);
  });
}

TEST(Assemble, BlocksOfAnyLength) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{8}, Shape{5, 6}, Shape{3, 0}})
      for (const dist::Distribution& s : distributions_of(shape, comm.size())) {
        if (!s.split) continue;
        const Array whole = counted(shape, DType::f32, test_device());
        const Array mine = part_of(whole, s, comm.rank(), Lay::gaps);
        const Traffic before = comm.traffic();
        const DNDarray x = dist::assemble(mine, *s.split - shape.size(), comm);
        EXPECT_EQ((comm.traffic() - before).bytes, 24 * (comm.size() - 1));
        expect_distributed(x, whole, s);
        EXPECT_TRUE(x.local().storage() == mine.storage()) << "the block itself";
      }
  });
}

// Every rank gets the same error, and the next collective works.
template <class E>
void expect_refused(const Communicator& comm, const Array& mine, i64 axis, std::string_view part) {
  std::string text = thrown_text<E>([&] { (void)dist::assemble(mine, axis, comm); });
  EXPECT_NE(text.find(part), std::string::npos) << text;
  char lengths[16] = {};
  const char length = static_cast<char>(text.size());
  comm.allgather(&length, 1, lengths);
  for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(lengths[r], length);
}

TEST(Assemble, WhatDoesNotFitIsRefusedByAll) {
  for (const int p : {2, 3, 7})
    run_ranks(p, [](Communicator comm) {
      const bool odd = comm.rank() == comm.size() - 1;
      const Array good = counted({3, 4});
      expect_refused<ShapeError>(comm, odd ? counted({3, 5}) : good, 0, "(3, 5)");
      expect_refused<ShapeError>(comm, odd ? counted({3, 4, 1}) : good, 0, "(3, 4, 1)");
      expect_refused<DTypeError>(comm, odd ? counted({3, 4}, DType::i8) : good, 0, "int8");
      expect_refused<DeviceError>(comm, odd ? good.to(Device::parse("sim:0")) : good, 0, "sim:0");
      expect_refused<IndexError>(comm, odd ? counted({3}) : good, 1, "no axis 1");
      expect_refused<IndexError>(comm, odd ? Array() : good, 0, "handed no array");
      expect_refused<IndexError>(comm, good, 2, "no axis 2");
      expect_refused<IndexError>(comm, counted({}), 0, "no axis 0");
    });
}

}  // namespace
}  // namespace tessera
