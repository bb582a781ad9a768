// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/fetched.hpp"

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"

namespace tessera {
namespace {

TEST(Fetched, ComputesThereWithArraysThatStayHere) {
  const Array w = Random(1).normal({5, 7}, DType::c64), x = Random(2).normal({7}, DType::c64);
  const NamedLinop plain = Dense(w, dims("MN"), dims("N"), dims("M"));
  const NamedLinop there = Fetched{plain, sim0};
  EXPECT_EQ(there.device(), sim0);
  EXPECT_LT(relative(there(x.to(sim0)).to(cpu), plain(x)), 1e-6);
  EXPECT_LT(relative(there.N()(x.to(sim0)).to(cpu), plain.N()(x)), 1e-6);
  const Plan p = there.plan({.shape = {7}, .dtype = DType::c64, .device = sim0});
  EXPECT_EQ(p.transferred_bytes(), w.size() * 8);
  EXPECT_THROW(there(x), DeviceError);
}

TEST(Fetched, ARepeatedWeightIsSentOnce) {
  const Array w = Random(1).normal({6}, DType::f32).reshape({6, 1}).broadcast_to({6, 50});
  const NamedLinop d = Fetched{Diagonal(w, dims("MN")), sim0};
  EXPECT_EQ(d.plan({.shape = {6, 50}, .dtype = DType::f32, .device = sim0}).transferred_bytes(),
            6 * 4);
}

// Tiles on one device that read the same input get it once, however many they are.
TEST(Resident, OneInputIsSentOnce) {
  const Array w = Random(3).normal({8, 6}, DType::f32), x = Random(4).normal({6}, DType::f32);
  std::vector<NamedLinop> tiles;
  for (i64 k = 0; k < 4; ++k)
    tiles.push_back(ToDevice(sim0, cpu, dims("M")) *
                    Dense(w.slice(0, 2 * k, 2 * k + 2).to(sim0), dims("MN"), dims("N"), dims("M")) *
                    ToDevice(cpu, sim0, dims("N")));
  const NamedLinop A = concat(tiles, {.odim = ND("M")});
  const Plan p = A.plan({.shape = {6}, .dtype = DType::f32});
  EXPECT_EQ(p.transferred_bytes(), (6 + 8) * 4);
  const NamedLinop whole = Dense(w, dims("MN"), dims("N"), dims("M"));
  EXPECT_LT(relative(A(x), whole(x)), 1e-6);
}

}  // namespace
}  // namespace tessera
