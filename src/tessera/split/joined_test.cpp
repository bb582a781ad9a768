// SPDX-License-Identifier: Apache-2.0
// What batching costs where there is nothing to gain: tiles of one device that lie side by side.
#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "tessera/base/config.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

std::size_t steps(const NamedLinop& a, const Shape& input, Device device) {
  return a.plan({.shape = input, .dtype = DType::f64, .device = device}).steps().size();
}

// Rows, columns, grids in both orders, ragged and of one element.
const std::vector<DimSizes> sizes{
    {{"M", 4}}, {{"N", 5}}, {{"M", 5}, {"N", 4}}, {{"N", 7}, {"M", 3}}, {{"M", 1}, {"N", 6}}};

TEST(JoinedTiles, OnTheBaseDeviceTheyAreOneProduct) {
  for (const Device device : {cpu, Device::parse("sim:0")}) {
    const NamedLinop A =
        Dense(Random(1).normal({12, 14}, DType::f64, device), dims("MN"), dims("N"), dims("M"));
    const Array x = Random(2).normal({14}, DType::f64, device),
                y = Random(3).normal({12}, DType::f64, device);
    for (const DimSizes& batch : sizes) {
      const NamedLinop B = create_batched_linop(
          A, BatchSpec{.batch_sizes = batch, .device_matrix = {}, .base_device = device});
      EXPECT_EQ(steps(B, {14}, device), 1u) << to_text(batch) << "\n" << B.tree();
      EXPECT_EQ(steps(B.H(), {12}, device), 1u) << to_text(batch);
      EXPECT_LT(relative(B(x).to(cpu), A(x).to(cpu)), 1e-14);
      EXPECT_LT(relative(B.H()(y).to(cpu), A.H()(y).to(cpu)), 1e-14);
      EXPECT_LT(relative(B.N()(x).to(cpu), A.N()(x).to(cpu)), 1e-13);
      EXPECT_EQ(B.bytes(), A.bytes());
    }
  }
}

TEST(JoinedTiles, DevicesHoldTheirTilesOnce) {
  const Array w = Random(4).normal({12, 14}, DType::f64);
  const NamedLinop A = Dense(w, dims("MN"), dims("N"), dims("M"));
  for (const DimSizes& batch : sizes) {
    const BatchSpec spec{.batch_sizes = batch, .device_matrix = {"sim:0", "sim:1"}};
    const auto held = bytes_by_device(create_batched_linop(A, spec));
    ASSERT_EQ(held.size(), 2u);
    EXPECT_EQ(held[0].second + held[1].second, w.bytes()) << to_text(batch);
  }
}

}  // namespace
}  // namespace tessera
