// SPDX-License-Identifier: Apache-2.0
// Tiles of an operator whose normal is a convolution: moved, copied and cut again they have the
// normal of the whole, and nothing of the operator that they came from.
#include "tessera/split/tiled.hpp"

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

// Coefficients "A" are mixed into frames "T", each of which is seen at points "K".
NamedLinop mixed_nufft() {
  const Array points = ops::multiply(random_on_host({40, 2}, DType::f64, 1), Value(2.0));
  const NamedLinop f = NUFFT(points, {8, 6}, dims("K"), dims("XY"), {}, dims("T"),
                             NufftOptions{.toeplitz = true, .wrap = true});
  return f * NamedLinop(Dense(random_on_host({5, 3}, DType::c128, 2), dims("AT"), dims("AXY"),
                              dims("TXY")));
}

// Along a dim whose tiles are summed, one of the output, one inside, and two of them.
const std::vector<DimSizes> cuts{
    {{"A", 2}}, {{"K", 15}}, {{"T", 2}}, {{"A", 3}, {"K", 16}}, {{"A", 1}, {"T", 1}}};

Array image(Device d) { return random_on_host({5, 8, 6}, DType::c128, 3).to(d); }

TEST(Tiled, MovesWithTheWholeThatItWasCutFrom) {
  const Device s0 = sim_at(0), s1 = sim_at(1);
  for (const DimSizes& sizes : cuts) {
    const NamedLinop a = mixed_nufft().to(s0);
    const Array expected = a.N()(image(s0)), once = a(image(s0));
    const NamedLinop b = create_batched_linop(a, BatchSpec{.batch_sizes = sizes}), moved = b.to(s1),
                     back = moved.to(cpu).to(s1);
    for (const NamedLinop& m : {moved, back, b.H().to(s1).H(), (2.0 * b).to(s1) * Value(0.5)}) {
      EXPECT_LT(distance(m(image(s1)), once), 1e-10) << to_text(sizes);
      EXPECT_LT(distance(m.N()(image(s1)), expected), 1e-10) << to_text(sizes);
    }
    for (const Array& array : moved.as<Tiled>()->from.whole.arrays())
      EXPECT_EQ(array.device(), s1) << to_text(sizes);
    EXPECT_EQ(moved.bytes(), b.bytes());
    EXPECT_EQ(b.to(s0), b);
  }
}

TEST(Tiled, LeavesAWholeThatLiesElsewhereThanItsTiles) {
  const Device s0 = sim_at(0), s1 = sim_at(1);
  const NamedLinop a = mixed_nufft();
  for (const bool resident : {true, false}) {
    const NamedLinop b = create_batched_linop(
        a,
        BatchSpec{.batch_sizes = {{"A", 2}}, .base_device = RankDevice(s0), .resident = resident});
    const NamedLinop moved = b.to(s1);
    EXPECT_EQ(moved.as<Tiled>()->from.whole.device(), cpu);
    EXPECT_LT(distance(moved.N()(image(s1)), a.N()(image(cpu))), 1e-10);
  }
}

TEST(Tiled, ACopyKeepsItsNormalWhenTheOriginalIsWrittenOver) {
  for (const Device d : {cpu, sim_at(0)}) {
    const NamedLinop a = mixed_nufft().to(d);
    const Array expected = a.copy().N()(image(d));
    const NamedLinop b = create_batched_linop(a, BatchSpec{.batch_sizes = {{"A", 2}}}),
                     copy = b.deep_copy();
    for (const Array& array : a.arrays()) array.fill(Value(0));
    EXPECT_LT(distance(copy.N()(image(d)), expected), 1e-10);
    for (const Array& own : copy.as<Tiled>()->from.whole.arrays())
      for (const Array& array : a.arrays()) EXPECT_FALSE(may_share_memory(own, array));
  }
}

// A part of the grid is the grid of the part.
TEST(Tiled, ItsPartsHaveTheNormalsOfThePartsOfTheWhole) {
  const NamedLinop a = mixed_nufft();
  for (const DimSizes& sizes : cuts)
    for (const Tile& tile : {Tile{{"A", 1, 4, 5}}, Tile{{"A", 0, 2, 5}}, Tile{{"A", 4, 5, 5}},
                             Tile{{"K", 5, 33, 40}}, Tile{{"A", 0, 3, 5}, {"K", 0, 16, 40}}}) {
      const NamedLinop b = create_batched_linop(a, BatchSpec{.batch_sizes = sizes}, Shape{5, 8, 6}),
                       part = b.split(tile), right = a.split(tile);
      const Array x = random_on_host(
          part_of(Layout::contiguous({5, 8, 6}), dims("AXY"), tile).shape, DType::c128, 4);
      EXPECT_LT(distance(part(x), right(x)), 1e-10) << to_text(sizes);
      EXPECT_LT(distance(part.N()(x), right.N()(x)), 1e-10) << to_text(sizes);
      EXPECT_LT(distance(b.H().split(tile).H().N()(x), right.N()(x)), 1e-10) << to_text(sizes);
      EXPECT_EQ(part.N().tree().find("NUFFT"), std::string::npos) << part.N().tree();
    }
}

}  // namespace
}  // namespace tessera
