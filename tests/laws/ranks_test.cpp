// SPDX-License-Identifier: Apache-2.0
// Every sample over ranks as threads: A(x) of a distributed x, along every axis, equals A of the
// whole, lies where the rules say whatever the number of ranks, and sends nothing along a dim that
// A does not mix. And cut into tiles whose places name ranks, along every dim that can be cut: the
// same values on every rank, forwards and back.
#include <gtest/gtest.h>

#include <map>

#include "samples.hpp"
#include "support/support.hpp"
#include "tessera/comm/thread.hpp"
#include "tessera/distributed/operators/apply.hpp"
#include "tessera/distributed/operators/batched_ranks.hpp"
#include "tessera/split/split_linop.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

struct RanksCase {
  DType dtype;
  std::size_t index;
};
class Ranks : public ::testing::TestWithParam<RanksCase> {};

// Uneven: the last rank has one entry, or none.
Partition uneven(i64 n, int ranks) {
  if (ranks == 1) return Partition::even(n, 1);
  std::vector<i64> counts(static_cast<std::size_t>(ranks), 0);
  counts.back() = n > 1 ? 1 : 0;
  counts.front() = n - counts.back();
  return Partition::of(counts);
}

DNDarray part_of(const Array& whole, i64 axis, const Partition& part, const Communicator& comm) {
  const Array mine = whole.slice(axis, part.begin(comm.rank()), part.end(comm.rank()));
  return DNDarray(mine, whole.shape(), {axis, part}, comm);
}

// Point by point along the dim of this axis, by its name.
bool unmixed(const NamedLinop& a, const Sample& s, i64 axis, i64 ndim) {
  for (const ND d : a.ishape())
    if (!d.is_wildcard() && axis_of(a.ishape(), d, ndim) == axis)
      return contains(a.oshape(), d) && !contains(s.unsplittable, d);
  return false;
}

void check_axis(const NamedLinop& a, const Sample& s, const Array& x, const Array& expected,
                double tolerance, i64 axis, std::map<int, std::optional<i64>>& splits) {
  for (const int ranks : {1, 3})
    for (const bool even : {true, false}) {
      if (ranks == 1 && !even) continue;
      run_ranks(ranks, [&](const Communicator& comm) {
        const Partition part =
            even ? Partition::even(x.shape(axis), ranks) : uneven(x.shape(axis), ranks);
        const DNDarray mine = part_of(x, axis, part, comm);
        const std::string what = cat("split ", axis, " over ", ranks, " ranks\n", a.tree());
        const Traffic before = comm.traffic();
        const DNDarray y = a(mine);
        if (unmixed(a, s, axis, x.ndim())) {
          EXPECT_EQ(comm.traffic(), before) << what;
          EXPECT_EQ(y.part(), part) << what;
        }
        EXPECT_EQ(y.shape(), expected.shape()) << what;
        EXPECT_EQ(y.dtype(), expected.dtype()) << what;
        const double d = difference(y.gathered(), expected);
        if (!(d < tolerance)) ADD_FAILURE() << what << "difference " << d;
        if (comm.rank() == 0 && even) {
          splits[ranks] = y.split();
          EXPECT_EQ(splits[ranks], splits[1]) << what;
        }
      });
    }
}

TEST_P(Ranks, EqualTheWhole) {
  const RanksCase& c = GetParam();
  const Sample& s = all_samples(c.dtype, test_device())[c.index];
  const Subject subject(s, c.dtype, test_device());
  for (const bool adjoint : {false, true}) {
    const NamedLinop a = adjoint ? s.op.H() : s.op;
    const Shape in = adjoint ? s.op.output_shape(s.input) : s.input;
    const Array x = Random(14).normal(in, adjoint ? s.op.output_dtype(c.dtype) : c.dtype,
                                      adjoint ? s.op.output_device(test_device()) : test_device());
    const Array expected = a(x);
    for (i64 axis = 0; axis < in.size(); ++axis) {
      std::map<int, std::optional<i64>> splits;
      check_axis(a, s, x, expected, 4 * subject.tolerance(), axis, splits);
    }
  }
}

TEST_P(Ranks, TilesOverRanksMakeTheWhole) {
  const RanksCase& c = GetParam();
  const Sample& s = all_samples(c.dtype, test_device())[c.index];
  const Subject subject(s, c.dtype, test_device());
  const Array x = Random(15).normal(s.input, c.dtype, test_device()), expected = s.op(x),
              back = s.op.H()(expected);
  for (const ND d : s.op.dims()) {
    const std::optional<i64> n = d.is_wildcard() ? std::nullopt : size_of_dim(s.op, d, s.input);
    if (!n || *n < 2 || contains(s.unsplittable, d)) continue;
    const BatchSpec spec{
        .batch_sizes = {{d, (*n + 2) / 3}},
        .device_matrix = {RankDevice(2, test_device()), RankDevice(0, test_device())},
        .base_device = test_device()};
    run_ranks(3, [&](const Communicator& comm) {
      const NamedLinop b = dist::create_batched_linop(s.op, {spec}, s.input, comm);
      const std::string what = cat("along ", d, "\n", b.tree());
      EXPECT_TRUE(comm.rank() != 1 || b.bytes() == 0) << what;
      const Array y = b(x), z = b.H()(y);
      EXPECT_EQ(y.dtype(), expected.dtype()) << what;
      const double there = difference(y.to(expected.device()), expected),
                   again = difference(z, back);
      if (!(there < 4 * subject.tolerance())) ADD_FAILURE() << what << "difference " << there;
      if (!(again < 16 * subject.tolerance())) ADD_FAILURE() << what << "adjoint: " << again;
    });
  }
}

std::vector<RanksCase> ranks_cases() {
  std::vector<RanksCase> all;
  for (const DType t : {DType::c64, DType::f64})
    for (std::size_t i = 0; i < all_samples(t, cpu).size(); ++i) all.push_back({t, i});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Ranks, ::testing::ValuesIn(ranks_cases()),
                         [](const ::testing::TestParamInfo<RanksCase>& info) {
                           std::string text =
                               cat(all_samples(info.param.dtype, cpu)[info.param.index].label, "_",
                                   name(info.param.dtype));
                           for (char& letter : text)
                             if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           return text;
                         });

}  // namespace
}  // namespace tessera::laws
