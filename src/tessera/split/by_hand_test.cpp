// SPDX-License-Identifier: Apache-2.0
// Containers whose parts are on several devices, written out by hand: the same as on one device,
// whatever the base device, and as cheap as what create_batched_linop makes.
#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/distances.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

NamedLinop seeded_matrix(std::uint64_t seed) {
  return Dense(Random(seed).normal({6, 8}, DType::f64), dims("PQ"), dims("Q"), dims("P"));
}

// The operator on a device, between transfers from and to the base.
NamedLinop on(Device device, const NamedLinop& a, Device base) {
  if (device == base) return a.to(base);
  return ToDevice(device, base, a.oshape()) * a.to(device) * ToDevice(base, device, a.ishape());
}

void expect_alike(const NamedLinop& one, const NamedLinop& several, const Array& x, Device base) {
  const Array y = several(x.to(base));
  EXPECT_EQ(y.device(), base);
  EXPECT_LT(distance(y, one(x)), 1e-11) << several.tree();
  EXPECT_LT(distance(several.H()(y), one.H()(one(x))), 1e-10) << several.tree();
  EXPECT_LT(distance(several.N()(x.to(base)), one.N()(x)), 1e-10) << several.tree();
}

TEST(ByHand, SumsAndStacksOverDevices) {  // acceptance case 85
  const std::vector<NamedLinop> parts{seeded_matrix(1), seeded_matrix(2), seeded_matrix(3)};
  const Array x = Random(4).normal({8}, DType::f64), wide = Random(5).normal({24}, DType::f64),
              tall = Random(6).normal({3, 8}, DType::f64);
  for (const Device base : {cpu, sim_at(0)}) {
    std::vector<NamedLinop> there;
    for (int i = 0; i < 3; ++i)
      there.push_back(on(sim_at(i), parts[static_cast<std::size_t>(i)], base));
    expect_alike(sum(parts), sum(there), x, base);
    expect_alike(concat(parts, {.odim = "P"}), concat(there, {.odim = "P"}), x, base);
    expect_alike(concat(parts, {.idim = "Q"}), concat(there, {.idim = "Q"}), wide, base);
    expect_alike(concat(parts, {.idim = "Q", .odim = "P"}),
                 concat(there, {.idim = "Q", .odim = "P"}), wide, base);
    const StackDim n0{"N", 0}, m1{"M", 1};
    expect_alike(stack(parts, {}, m1), stack(there, {}, m1), x, base);
    expect_alike(stack(parts, n0, {}), stack(there, n0, {}), tall, base);
    expect_alike(stack(parts, n0, m1), stack(there, n0, m1), tall, base);
  }
}

i64 transfers_of(const NamedLinop& a, const Shape& shape) {
  i64 n = 0;
  const Plan plan = a.plan({.shape = shape, .dtype = DType::f64});
  for (const Step& s : plan.steps()) n += s.kind == Step::Kind::transfer;
  return n;
}

// Sums inside sums: each device sends its share once, and gets the input once.
TEST(ByHand, NestedSumsTravelOncePerDevice) {
  const NamedLinop a = on(sim_at(0), seeded_matrix(1), cpu),
                   b = on(sim_at(1), seeded_matrix(2), cpu),
                   c = on(sim_at(0), seeded_matrix(3), cpu), here = seeded_matrix(4);
  const NamedLinop nested = Add{{NamedLinop(Add{{a, b}}), NamedLinop(Add{{c, here}})}};
  EXPECT_EQ(transfers_of(nested, {8}), 4);
  const Array x = Random(5).normal({8}, DType::f64);
  const NamedLinop plain = seeded_matrix(1) + seeded_matrix(2) + seeded_matrix(3) + here;
  expect_alike(plain, nested, x, cpu);
}

// Rows and a whole in one sum: places overlap without being the same, and the order counts.
TEST(ByHand, PartsOfDifferentShapesInOneSum) {
  const NamedLinop top = Dense(Random(6).normal({2, 8}, DType::f64), dims("PQ"), dims("Q"),
                               dims("P")),
                   bottom = Dense(Random(7).normal({4, 8}, DType::f64), dims("PQ"), dims("Q"),
                                  dims("P"));
  const NamedLinop whole = seeded_matrix(8);
  const Array x = Random(9).normal({8}, DType::f64);
  for (const bool rows_first : {true, false}) {
    const NamedLinop rows =
        concat({on(sim_at(0), top, cpu), on(sim_at(0), bottom, cpu)}, {.odim = "P"});
    const NamedLinop twice = on(sim_at(0), whole, cpu);
    const NamedLinop mixed =
        rows_first ? NamedLinop(Add{{rows, twice, twice}}) : NamedLinop(Add{{twice, rows, twice}});
    const NamedLinop plain = concat({top, bottom}, {.odim = "P"}) + whole + whole;
    expect_alike(plain, mixed, x, cpu);
  }
}

}  // namespace
}  // namespace tessera
