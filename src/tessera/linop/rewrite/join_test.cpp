// SPDX-License-Identifier: Apache-2.0
// Tiles that are joined when they are recorded, and sums that are accumulated in place.
#include "tessera/linop/rewrite/join.hpp"

#include <gtest/gtest.h>

#include "support/distances.hpp"
#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

NamedLinop matrix(i64 rows, i64 columns, DType t = DType::c128, std::uint64_t seed = 1) {
  return Dense(Random(seed).normal({rows, columns}, t), dims("MN"), dims("N"), dims("M"));
}

std::vector<NamedLinop> tiles(const NamedLinop& a, NamedDimension d, i64 size) {
  std::vector<NamedLinop> all;
  const i64 n = *a.size(d);
  for (i64 i = 0; i < n; i += size) all.push_back(a.split({{d, i, std::min(n, i + size)}}));
  return all;
}

NamedLinop rows(const NamedLinop& a, i64 size) {
  return concat(tiles(a, "M", size), {.odim = ND("M")});
}
NamedLinop columns(const NamedLinop& a, i64 size) {
  return concat(tiles(a, "N", size), {.idim = ND("N")});
}
NamedLinop grid(const NamedLinop& a, i64 down, i64 across) {
  std::vector<NamedLinop> all;
  for (const NamedLinop& row : tiles(a, "M", down)) all.push_back(columns(row, across));
  return concat(all, {.odim = ND("M")});
}

Plan plan_of(const NamedLinop& a, const Shape& input, DType t = DType::c128) {
  return a.plan({.shape = input, .dtype = t, .device = cpu});
}

bool said(const Plan& p, const std::string& what) {
  return p.explain().find(what) != std::string::npos;
}

TEST(Join, TilesOfAMatrixAreOneProduct) {
  const NamedLinop A = matrix(12, 10);
  const Array x = Random(2).normal({10}, DType::c128), y = Random(3).normal({12}, DType::c128);
  for (const NamedLinop& B :
       {rows(A, 5), columns(A, 3), grid(A, 4, 3), rows(A, 1), columns(A, 1)}) {
    const Plan p = plan_of(B, {10});
    EXPECT_EQ(p.steps().size(), 1u) << p.explain();
    EXPECT_TRUE(said(p, "tiles of Dense joined")) << p.explain();
    EXPECT_EQ(plan_of(B.H(), {12}).steps().size(), 1u) << B.H().tree();
    EXPECT_LT(relative(B(x), A(x)), 1e-14);
    EXPECT_LT(relative(B.H()(y), A.H()(y)), 1e-14);
    const Using apart(config().rewrite_tiles, false);
    EXPECT_GE(plan_of(B, {10}).steps().size(), 3u);
    EXPECT_LT(relative(B.copy()(x), A(x)), 1e-14);
  }
  EXPECT_TRUE(said(plan_of(grid(A, 4, 3), {10}), "12 tiles of Dense joined"));
}

TEST(Join, TilesThatWerePlacedAreJoinedAgain) {
  const Device sim = Device::parse("sim:0");
  const NamedLinop A = matrix(12, 10);
  for (const bool down : {true, false}) {
    // Every other tile is on the device: there they are neighbours, in the array they were not.
    MemoryMap map(sim);
    std::vector<NamedLinop> mine = tiles(A, down ? "M" : "N", 2), placed;
    for (std::size_t i = 0; i < mine.size(); i += 2) map.add(mine[i]);
    for (std::size_t i = 0; i < mine.size(); i += 2) placed.push_back(map.place(mine[i]));
    const NamedLinop B =
        concat(placed, down ? ConcatDims{.odim = ND("M")} : ConcatDims{.idim = ND("N")});
    const i64 n = *B.size("N");
    const Plan p = B.plan({.shape = {n}, .dtype = DType::c128, .device = sim});
    EXPECT_EQ(p.steps().size(), 1u) << p.explain();
    const Array x = Random(4).normal({n}, DType::c128, sim);
    const Array joined = B(x);
    const Using apart(config().rewrite_tiles, false);
    EXPECT_LT(relative(joined.to(cpu), B.copy()(x).to(cpu)), 1e-14);
  }
}

TEST(Join, BatchesDiagonalsScalarsAndIdentities) {
  const Array w = Random(5).normal({6, 4, 5}, DType::f64), d = Random(6).normal({6, 5}, DType::f64);
  const NamedLinop A = Dense(w, dims("BMN"), dims("BN"), dims("BM"));
  const NamedLinop D = Diagonal(d, dims("BN")), E = Diagonal(d.select(0, 1), dims("BN"));
  const Array x = Random(7).normal({6, 5}, DType::f64);
  const ConcatDims along{.idim = ND("B"), .odim = ND("B")};
  for (const NamedLinop& whole : {A, D, D * Scalar(2.0, dims("BN")) * D}) {
    const NamedLinop B = concat(tiles(whole, "B", 2), along);
    EXPECT_EQ(plan_of(B, {6, 5}, DType::f64).steps().size(), 1u) << B.tree();
    EXPECT_LT(relative(B(x), whole(x)), 1e-14);
  }
  // Parts of no known size: the same for all, given with their places.
  for (const NamedLinop& part :
       {NamedLinop(Scalar(3.0, dims("BN"))), NamedLinop(Identity(dims("BN"))), E}) {
    Concat c{{}, ND("B"), ND("B"), 6, 6, part.shape()};
    for (i64 i = 0; i < 3; ++i) c.blocks.push_back({part, 2 * i, 2, 2 * i, 2});
    const NamedLinop B(c);
    EXPECT_EQ(plan_of(B, {6, 5}, DType::f64).steps().size(), 1u) << B.tree();
    EXPECT_LT(relative(B(x), part(x)), 1e-14);
  }
}

TEST(Join, NormalsOfTilesAreThoseOfTheWhole) {
  const NamedLinop A = matrix(12, 5);
  const Array x = Random(2).normal({5}, DType::c128);
  for (const NamedLinop& B : {rows(A, 5), columns(A, 2), grid(A, 4, 3)}) {
    EXPECT_EQ(B.N().kind(), "Dense") << B.N().tree();
    EXPECT_TRUE(B.N().shape() == A.N().shape());
    EXPECT_LT(relative(B.N()(x), A.N()(x)), 1e-14);
  }
}

TEST(Join, StacksOfSlices) {
  const Array w = Random(8).normal({3, 4, 5}, DType::f64);
  std::vector<NamedLinop> parts;
  for (i64 i = 0; i < 3; ++i)
    parts.push_back(Dense(w.select(0, i), dims("MN"), dims("N"), dims("M")));
  const NamedLinop down = stack(parts, {}, StackDim{ND("S"), 0}),
                   side = stack(parts, StackDim{ND("S"), 0}, StackDim{ND("S"), 0});
  const Array x = Random(9).normal({5}, DType::f64), z = Random(10).normal({3, 5}, DType::f64);
  EXPECT_EQ(plan_of(down, {5}, DType::f64).steps().size(), 1u);
  EXPECT_EQ(plan_of(side, {3, 5}, DType::f64).steps().size(), 1u);
  for (i64 i = 0; i < 3; ++i) {
    const NamedLinop& part = parts[static_cast<std::size_t>(i)];
    EXPECT_LT(relative(down(x).select(0, i), part(x)), 1e-14);
    EXPECT_LT(relative(side(z).select(0, i), part(z.select(0, i))), 1e-14);
  }
  // Summed over a stack: the rows of the matrices are not neighbours, a copy would be needed.
  const NamedLinop sum = stack(parts, StackDim{ND("S"), 0}, {});
  EXPECT_EQ(plan_of(sum, {3, 5}, DType::f64).workspace(cpu), 0);
}

TEST(Join, WhatDoesNotLieSideBySideStaysApart) {
  const NamedLinop A = matrix(6, 5), B = matrix(6, 5, DType::c128, 2);
  const NamedLinop other = concat({A, B}, {.odim = ND("M")}),
                   swapped =
                       concat({A.split({{"M", 3, 6}}), A.split({{"M", 0, 3}})}, {.odim = ND("M")}),
                   conjugated = concat(
                       {A.split({{"M", 0, 3}}), Dense(A.arrays().front().slice(0, 3, 6), dims("MN"),
                                                      dims("N"), dims("M"), {}, true)},
                       {.odim = ND("M")});
  for (const NamedLinop& c : {other, swapped, conjugated}) {
    EXPECT_EQ(plan_of(c, {5}).steps().size(), 2u) << c.tree();
    EXPECT_FALSE(said(plan_of(c, {5}), "joined"));
  }
  // A weight of one element for all rows of a block is no tile of a longer one.
  const Array two = Random(12).normal({2}, DType::f64);
  Concat broadcast{{}, ND("N"), ND("N"), 6, 6, NamedShape(dims("N"))};
  for (i64 i = 0; i < 2; ++i)
    broadcast.blocks.push_back({Diagonal(two.slice(0, i, i + 1), dims("N")), 3 * i, 3, 3 * i, 3});
  const Array x = ones({6}, DType::f64), y = NamedLinop(broadcast)(x);
  EXPECT_EQ(y.slice(0, 4, 5).item().as<double>(), two.slice(0, 1, 2).item().as<double>());
}

TEST(Accumulate, SumsOfProductsTakeNoTemporary) {
  const NamedLinop A = matrix(6, 5), B = matrix(6, 5, DType::c128, 2),
                   D = Diagonal(Random(13).normal({6}, DType::c128), dims("M"));
  const Array x = Random(14).normal({5}, DType::c128), z = Random(15).normal({6}, DType::c128);
  const NamedLinop sum = A + B, chains = A + D * B;
  EXPECT_EQ(plan_of(sum, {5}).workspace(cpu), 0) << plan_of(sum, {5}).explain();
  EXPECT_EQ(plan_of(sum, {5}).steps().size(), 2u);
  EXPECT_LT(relative(sum(x), ops::add(A(x), B(x))), 1e-14);
  EXPECT_EQ(plan_of(chains, {5}).workspace(cpu), 6 * 16);
  EXPECT_LT(relative(chains(x), ops::add(A(x), D(B(x)))), 1e-14);
  const NamedLinop shifted = D + Scalar(c128(0, 2), dims("M")) + Identity(dims("M")) + D;
  EXPECT_EQ(plan_of(shifted, {6}).workspace(cpu), 0);
  EXPECT_EQ(plan_of(shifted, {6}).steps().size(), 4u);
  const Array twice = ops::multiply(D(z), 2.0);
  EXPECT_LT(relative(shifted(z), ops::add(twice, ops::multiply(z, Value(c128(1, 2))))), 1e-14);
  // Conjugated weights have no kernel that adds: a temporary, and the same values.
  EXPECT_LT(relative(shifted.H()(z),
                     ops::add(ops::multiply(D.H()(z), 2.0), ops::multiply(z, Value(c128(1, -2))))),
            1e-14);
}

TEST(Accumulate, PartialSumsOfTiles) {
  const Using apart(config().rewrite_tiles, false);
  const NamedLinop A = matrix(6, 9);
  const NamedLinop B = columns(A, 3), H = rows(A, 2).H();
  const Array x = Random(16).normal({9}, DType::c128), z = Random(17).normal({6}, DType::c128);
  EXPECT_EQ(plan_of(B, {9}).steps().size(), 3u);
  EXPECT_EQ(plan_of(B, {9}).workspace(cpu), 0);
  EXPECT_EQ(plan_of(H, {6}).workspace(cpu), 0);
  EXPECT_LT(relative(B(x), A(x)), 1e-14);
  EXPECT_LT(relative(H(z), A.H()(z)), 1e-14);
  // Sums within sums add to the same output; another dtype goes through a temporary.
  const NamedLinop nested = A + (B + A);
  EXPECT_LT(relative(nested(x), ops::multiply(A(x), 3.0)), 1e-14);
  const NamedLinop mixed = A + matrix(6, 9, DType::f64);
  const Array r = Random(18).normal({9}, DType::f64);
  EXPECT_LT(relative(mixed(r), ops::add(A(r), matrix(6, 9, DType::f64)(r))), 1e-14);
}

}  // namespace
}  // namespace tessera
