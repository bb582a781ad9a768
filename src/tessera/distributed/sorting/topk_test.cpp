// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/topk.hpp"

#include <algorithm>
#include <numeric>

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Positions of the k best along an axis by sorting numbers that stand for the values.
Array best(const Array& whole, i64 k, i64 axis, bool largest) {
  const Array ranks = unique(whole).inverse.swap_axes(axis, -1).to(cpu).contiguous();
  const i64 n = whole.shape(axis), lines = n ? ranks.size() / n : 0;
  Shape shape = ranks.shape();
  shape.back() = k;
  const Array out = empty_dense(shape, DType::i64);
  for (i64 j = 0; j < lines; ++j) {
    const i64* const line = ranks.host<i64>() + j * n;
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](i64 a, i64 b) { return largest ? line[a] > line[b] : line[a] < line[b]; });
    std::copy_n(order.begin(), k, out.host<i64>() + j * k);
  }
  return out.swap_axes(axis, -1).to(whole.device());
}

void check_topk(const Array& whole, const Distribution& s, i64 k, i64 axis, bool largest,
                const Communicator& comm) {
  const DNDarray x = distribute(whole, s, comm, Lay::gaps);
  const dist::TopK got = dist::topk(x, k, axis, largest);
  const i64 along = axis < 0 ? axis + whole.ndim() : axis;
  Distribution to = s;
  if (s.split == along) to.part = Partition::even(k, comm.size());
  const Array positions = best(whole, k, along, largest);
  expect_distributed(got.indices, positions, to);
  expect_distributed(got.values, take_along_axis(whole, positions, along), to);
}

TEST(DistTopK, Lines) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {0, 1, 6, 50, 900})
      for (const DType dtype : {DType::f32, DType::u8})
        for (const Data data : {Data::mixed, Data::equal}) {
          const Array whole = awkward(dtype, {n}, static_cast<unsigned>(n + 3), data);
          for (const Distribution& s : distributions_of({n}, comm.size()))
            for (const i64 k : {i64{0}, i64{1}, n / 2, n})
              if (k <= n)
                for (const bool largest : {true, false}) check_topk(whole, s, k, -1, largest, comm);
        }
  });
}

TEST(DistTopK, EveryAxisOfEverySplit) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{9, 5, 4}, Shape{12, 2}, Shape{3, 0}}) {
      const Array whole = awkward(DType::f64, shape, 8);
      for (const Distribution& s : distributions_of(shape, comm.size()))
        for (i64 axis = 0; axis < shape.size(); ++axis)
          for (const i64 k : {i64{1}, shape[axis] / 2 + 1, shape[axis]})
            if (k <= shape[axis]) check_topk(whole, s, k, axis, k != 1, comm);
    }
  });
}

TEST(DistTopK, OnlyCandidatesTravel) {
  on_ranks([](Communicator comm) {
    const i64 n = 20000, k = 50;
    const Array whole = arange(Value(0), Value(n), Value(1), DType::f64);
    const DNDarray x = distribute(whole, {0, Partition::even(n, comm.size())}, comm);
    Traffic before = comm.traffic();
    const dist::TopK got = dist::topk(x, k);
    i64 bytes = (comm.traffic() - before).bytes;
    comm.allreduce(&bytes, 1, DType::i64, Combine::sum);
    // Few candidates: to one rank, and the best of them back.
    const i64 p = comm.size();
    EXPECT_LE(bytes, (p - 1) * k * (8 + 4) + k * (8 + 2));
    EXPECT_EQ(got.values.gathered().select(0, 0).item().as<double>(), n - 1);
    const DNDarray rows =
        distribute(whole.reshape({200, 100}), {0, Partition::even(200, comm.size())}, comm);
    before = comm.traffic();
    (void)dist::topk(rows, 3, 1);
    (void)dist::topk(DNDarray::replicated(whole, comm), 3);
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(DistTopK, Errors) {
  on_ranks([](Communicator comm) {
    const DNDarray x = distribute(counted({4, 3}), {0, Partition::even(4, comm.size())}, comm);
    EXPECT_THROW(dist::topk(x, 4, 1), ArgumentError);
    EXPECT_THROW(dist::topk(x, -1, 0), ArgumentError);
    EXPECT_THROW(dist::topk(x, 1, 2), IndexError);
    EXPECT_THROW(dist::topk(DNDarray::replicated(counted({}), comm), 1), IndexError);
  });
}

}  // namespace
}  // namespace tessera::dist
