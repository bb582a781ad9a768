// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/operators/batched_ranks.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "support/ranks.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {
namespace {

NamedLinop stack_of_matrices() {
  return Dense(random_on_host({3, 5, 4}, DType::c64, 1), dims("BMN"), dims("BN"), dims("BM"));
}

const RankDevice last(const Communicator& comm, Device d) { return {comm.size() - 1, d}; }

// Rows, columns, both, and blocks on a diagonal; fewer tiles than ranks and more.
std::vector<std::vector<BatchSpec>> specs_over(const Communicator& comm) {
  const Device s0 = Device::parse("sim:0"), s1 = Device::parse("sim:1");
  std::vector<RankDevice> all;
  for (int r = comm.size() - 1; r >= 0; --r) all.emplace_back(r, r % 2 ? s0 : cpu);
  const RankDevice end = last(comm, s1), middle{comm.size() / 2, cpu};
  return {{{.batch_sizes = {{"M", 2}}, .device_matrix = DeviceMatrix(all)}},
          {{.batch_sizes = {{"N", 3}}, .device_matrix = {end, middle}}},
          {{.batch_sizes = {{"B", 1}, {"M", 3}}, .device_matrix = {RankDevice(cpu), end}}},
          {{.batch_sizes = {{"B", 2}}, .device_matrix = {end}, .base_device = RankDevice(cpu)}},
          {{.batch_sizes = {{"M", 2}}, .device_matrix = {end, middle}, .resident = false}},
          {{.batch_sizes = {{"B", 2}}, .device_matrix = DeviceMatrix(all)},
           {.batch_sizes = {{"M", 2}, {"N", 1}}, .device_matrix = {s0, s1}}}};
}

TEST(BatchedOverRanks, EqualsTheOperatorWhateverIsCut) {
  const NamedLinop a = stack_of_matrices();
  const Array x = random_on_host({3, 4}, DType::f32, 2), y = random_on_host({3, 5}, DType::c64, 3);
  on_ranks([&](Communicator comm) {
    for (const std::vector<BatchSpec>& specs : specs_over(comm)) {
      const NamedLinop b = dist::create_batched_linop(a, specs, {}, comm);
      const std::string text = specs.front().str();
      EXPECT_EQ(b.output_dtype(DType::f32), DType::c64) << text;
      EXPECT_LT(relative(b(x), a(x)), 1e-6) << text;
      EXPECT_LT(relative(b.H()(y), a.H()(y)), 1e-6) << text;
      EXPECT_LT(relative(b.N()(x), a.N()(x)), 1e-6) << text;
      EXPECT_LT(relative((b * Scalar(2.0) + a)(x), (a * Scalar(3.0))(x)), 1e-6) << text;
      EXPECT_LT(relative(b.rename({{"M", "Q"}})(x), a(x)), 1e-6) << text;
      for (const std::optional<i64> split : {std::optional<i64>{}, {0}, {1}}) {
        const DNDarray in = DNDarray::replicated(x, comm).resplit(split);
        EXPECT_LT(relative(b(in).gathered(), a(x)), 1e-6) << text;
      }
    }
  });
}

TEST(BatchedOverRanks, TakesOperatorsWithoutArraysAndOpenDims) {
  const NamedLinop f = FFT(1, dims("C"));
  const NamedLinop open(
      Dense(random_on_host({5, 4}, DType::f64, 1), dims("MN"), Dims{"...", "N"}, Dims{"...", "M"}));
  const Array x = random_on_host({6, 8}, DType::c64, 2),
              z = random_on_host({2, 3, 4}, DType::f64, 3);
  on_ranks([&](Communicator comm) {
    const std::vector<RankDevice> places{{0, cpu}, {comm.size() - 1, Device::parse("sim:0")}};
    const NamedLinop b = dist::create_batched_linop(
        f, {{.batch_sizes = {{"C", 2}}, .device_matrix = places}}, x.shape(), comm);
    EXPECT_LT(relative(b(x), f(x)), 1e-6);
    EXPECT_LT(relative(b.H()(x), f.H()(x)), 1e-6);
    const NamedLinop o = dist::create_batched_linop(
        open, {{.batch_sizes = {{"M", 3}}, .device_matrix = places}}, {}, comm);
    EXPECT_LT(relative(o(z), open(z)), 1e-12);
    for (i64 split = 0; split < 3; ++split)
      EXPECT_LT(relative(o(DNDarray::replicated(z, comm).resplit(split)).gathered(), open(z)),
                1e-12);
  });
}

TEST(BatchedOverRanks, EachRankHoldsItsOwnTilesOnly) {
  on_ranks({1, 2, 4}, [&](Communicator comm) {
    const i64 p = comm.size();
    const NamedLinop a(
        Dense(random_on_host({2 * p, 4}, DType::f64, 1), dims("MN"), dims("N"), dims("M")));
    std::vector<RankDevice> places;
    for (int r = 0; r < p; ++r) places.emplace_back(r, Device::parse(cat("sim:", r % 2)));
    const NamedLinop b = dist::create_batched_linop(
        a, {{.batch_sizes = {{"M", 2}}, .device_matrix = places}}, {}, comm);
    EXPECT_EQ(b.bytes(), a.bytes() / p);
    EXPECT_EQ(b.H().bytes(), a.bytes() / p);
  });
}

// Rows go to each rank once, and nothing else but a byte that says that all is well.
TEST(BatchedOverRanks, SendsEachRowOnce) {
  on_ranks({2, 3, 4}, [&](Communicator comm) {
    const i64 p = comm.size(), n = 10 * p;
    const NamedLinop a(
        Dense(random_on_host({n, 4}, DType::f64, 1), dims("MN"), dims("N"), dims("M")));
    std::vector<RankDevice> places;
    for (int r = 0; r < p; ++r) places.emplace_back(r, cpu);
    const NamedLinop b = dist::create_batched_linop(
        a, {{.batch_sizes = {{"M", 5}}, .device_matrix = places}}, {}, comm);
    const Array x = random_on_host({4}, DType::f64, 2);
    const Traffic before = comm.traffic();
    const Array y = b(x);
    EXPECT_EQ((comm.traffic() - before).bytes, (p - 1) * (10 * 8 + 1));
    EXPECT_LT(relative(y, a(x)), 1e-14);
  });
}

TEST(BatchedOverRanks, RefusesPlacesThatAreNotThereOnAllRanksAlike) {
  const NamedLinop a(
      Dense(random_on_host({8, 4}, DType::f64, 1), dims("MN"), dims("N"), dims("M")));
  on_ranks({2, 3}, [&](Communicator comm) {
    const BatchSpec good{.batch_sizes = {{"M", 4}}, .device_matrix = {"rank0/cpu", "rank1/cpu"}};
    auto with = [&](const char* place) {
      return dist::create_batched_linop(
          a, {{.batch_sizes = {{"M", 4}}, .device_matrix = {"rank0/cpu", place}}}, {}, comm);
    };
    EXPECT_THROW((void)with("rank3/cpu"), CommError);
    EXPECT_THROW((void)with("rank1/sim:99"), DeviceError);  // only rank 1 can tell
    EXPECT_THROW((void)dist::create_batched_linop(a, {}, {}, comm), ArgumentError);
    EXPECT_THROW((void)dist::create_batched_linop(a, {good, good}, {}, comm), CommError);
    const NamedLinop b = dist::create_batched_linop(a, {good}, {}, comm);
    EXPECT_THROW((void)b.split({{"M", 0, 4}}), SplitError);
    EXPECT_THROW((void)b.to(Device::parse("sim:0")), DeviceError);
    comm.barrier();
  });
}

// One rank cannot make its normal around another.
struct FailsOnOne : Diagonal {
  bool here;
  FailsOnOne(Array w, bool fails) : Diagonal(std::move(w), dims("CX")), here(fails) {}
  NamedLinop normal(const NamedLinop& inner) const {
    require<IoError>(!here, "only here");
    const Renames out{{"X", inner.oshape().back()}};
    return NamedLinop(adjoint()).rename(out) * inner * Diagonal(*this);
  }
};

TEST(BatchedOverRanks, RaiseOnAllRanksWhatOneMeetsWhenItMakesTheNormal) {
  const Array w = random_on_host({4, 8}, DType::f64, 1), x = random_on_host({4, 8}, DType::f64, 2),
              locs = random_on_host({5, 1}, DType::f64, 3);
  const NUFFT f(locs, {8}, dims("K"), dims("X"), {}, dims("C"), NufftOptions{.toeplitz = true});
  on_ranks({2, 3}, [&](Communicator comm) {
    for (int failing = -1; failing < comm.size(); ++failing) {
      const NamedLinop a = NamedLinop(f) * FailsOnOne(w, comm.rank() == failing);
      const NamedLinop b = dist::create_batched_linop(
          a, {{.batch_sizes = {{"C", 1}}, .device_matrix = {"rank0/cpu", "rank1/cpu"}}}, {}, comm);
      EXPECT_LT(relative(b(x), a(x)), 1e-14);
      const NamedLinop n = b.N();
      if (failing < 0)
        EXPECT_LT(relative(n(x), a.N()(x)), 1e-13);
      else
        EXPECT_ANY_THROW((void)n(x));
      comm.barrier();
    }
  });
}

}  // namespace
}  // namespace tessera::dist
