// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/memory_map.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/support.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

const Device there = Device::parse("sim:1");

Array counted(const Shape& shape, DType t = DType::f32) {
  const Array a(Storage::allocate(cpu, count_of(shape) * 8), Layout::contiguous(shape), DType::f64);
  for (i64 i = 0; i < a.size(); ++i) a.host<double>()[i] = static_cast<double>(i + 1);
  return a.astype(t).contiguous();
}

NamedLinop dense_of(const Array& w) { return Dense(w, dims("MN"), dims("N"), dims("M")); }

// Values of an array on any device, in row-major order.
std::vector<c128> values(const Array& a) {
  const Array host = a.to(cpu).astype(DType::c128).contiguous();
  const c128* p = host.host<c128>();
  return {p, p + host.size()};
}

bool equal(const Array& a, const Array& b) { return values(a) == values(b); }

TEST(MemoryMap, ATileOfColumnsTakesItsColumns) {
  // Acceptance case 129.
  const NamedLinop A = dense_of(counted({7, 1000}));
  MemoryMap map(there);
  const NamedLinop tile = map.place(A.split({{"N", 2, 4}}));
  EXPECT_EQ(map.bytes(), 7 * 2 * 4);
  EXPECT_EQ(tile.bytes(), 7 * 2 * 4);
  EXPECT_EQ(tile.device(), there);
  EXPECT_EQ(tile.arrays().front().storage().bytes(), 7 * 2 * 4);
  EXPECT_TRUE(equal(tile.arrays().front(), A.arrays().front().slice(1, 2, 4)));
}

TEST(MemoryMap, DevicesHoldTheirTilesAndTogetherTheWhole) {
  const NamedLinop A = dense_of(counted({8, 12}));
  i64 all = 0;
  for (i64 device = 0; device < 2; ++device) {
    MemoryMap map(Device::parse(cat("sim:", device)));
    std::vector<NamedLinop> tiles;
    for (i64 j = device; j < 6; j += 2) tiles.push_back(A.split({{"N", 2 * j, 2 * j + 2}}));
    for (const NamedLinop& t : tiles) map.add(t);
    for (const NamedLinop& t : tiles) {
      const NamedLinop placed = map.place(t);
      EXPECT_TRUE(equal(placed.arrays().front(), t.arrays().front()));
      // Side by side, without what is between them in the matrix.
      EXPECT_EQ(placed.arrays().front().layout().strides, (Strides{6, 1}));
    }
    EXPECT_EQ(map.bytes(), 8 * 6 * 4);
    all += map.bytes();
  }
  EXPECT_EQ(all, A.bytes());
}

TEST(MemoryMap, SharingIsKept) {
  // Acceptance case 131: a matrix, its transpose, a slice; parts of a stack; empty arrays.
  const Array w = counted({4, 6}, DType::c64);
  const NamedLinop A = dense_of(w), B = dense_of(w.slice(0, 1, 3).slice(1, 0, 4));
  const NamedLinop T(Dense(w.transpose(), dims("NM"), dims("N"), dims("M")));
  const NamedLinop re(Diagonal(w.real(), dims("MN"))), im(Diagonal(w.imag(), dims("MN")));
  MemoryMap map(there);
  for (const NamedLinop& a : {A, B, T, re, im}) map.add(a);
  std::vector<Array> placed;
  for (const NamedLinop& a : {A, B, T, re, im}) placed.push_back(map.place(a).arrays().front());
  EXPECT_EQ(map.bytes(), 4 * 6 * 8);
  for (const Array& a : placed) EXPECT_EQ(a.storage(), placed.front().storage());
  EXPECT_EQ(placed[1].data(), static_cast<std::byte*>(placed[0].data()) + 6 * 8);
  EXPECT_FALSE(placed[2].is_contiguous());
  EXPECT_EQ(static_cast<std::byte*>(placed[4].data()) - static_cast<std::byte*>(placed[3].data()),
            4);
  EXPECT_TRUE(equal(placed[1], w.slice(0, 1, 3).slice(1, 0, 4)));
  EXPECT_TRUE(equal(placed[4], w.imag()));

  const NamedLinop S = stack({A, A, A}, {}, StackDim{ND("S"), 0}).to(there);
  for (const NamedLinop& p : S.parts()) EXPECT_EQ(p, S.parts().front());
  EXPECT_EQ(S.bytes(), 4 * 6 * 8);
  const NamedLinop none = Dense(Array::empty({0, 3}, DType::f32), dims("MN"), dims("N"), dims("M"));
  EXPECT_EQ(none.to(there).device(), there);
  EXPECT_EQ(none.to(there).bytes(), 0);
}

TEST(MemoryMap, BroadcastAxesStayBroadcastAndWhatIsThereStays) {
  const Array row = counted({5});
  const NamedLinop A(Diagonal(row.reshape({1, 5}).broadcast_to({1000, 5}), dims("MN")));
  const NamedLinop moved = A.to(there);
  EXPECT_EQ(moved.bytes(), 5 * 4);
  EXPECT_EQ(moved.arrays().front().layout().strides, (Strides{0, 1}));
  MemoryMap map(there);
  EXPECT_EQ(map.place(moved), moved);
  EXPECT_EQ(map.bytes(), 0);
  // Windows over one row share their elements.
  const Array windows = row.view(Layout{{3, 3}, {1, 1}, 0});
  const NamedLinop W = dense_of(windows).to(there);
  EXPECT_EQ(W.bytes(), 5 * 4);
  EXPECT_TRUE(equal(W.arrays().front(), windows));
}

TEST(MemoryMap, ASpanRebuildsASlice) {
  // Acceptance case 133.
  const Array x = counted({3, 4, 5}).slice(0, 1, 2).slice(1, 0, 4, 2).slice(2, 1, 4);
  const auto [low, high] = x.layout().span();
  EXPECT_EQ(low, 21);
  EXPECT_EQ(high, 20 + 10 + 3);
  EXPECT_EQ(counted({7}).layout().span(), (std::pair<i64, i64>(0, 6)));
  EXPECT_EQ(counted({}).layout().span(), (std::pair<i64, i64>(0, 0)));
  const NamedLinop A(Diagonal(x, dims("ABC")));
  EXPECT_EQ(A.to(there).bytes(), 1 * 2 * 3 * 4);
  EXPECT_TRUE(equal(A.to(there).arrays().front(), x));
}

TEST(MemoryMap, ReportsBytesOnce) {
  // Acceptance case 134.
  EXPECT_EQ(NamedLinop(Diagonal(counted({3, 4}))).bytes(), 48);
  EXPECT_EQ(NamedLinop(Diagonal(counted({3, 4}, DType::c64))).bytes(), 96);
  EXPECT_EQ(memory_report(Diagonal(counted({512}))), "cpu: 2.00 KiB in 1 array");
  const Array w = counted({6, 8});
  const NamedLinop both = dense_of(w.slice(0, 0, 2)) * dense_of(w).H().rename({{"M", "K"}});
  EXPECT_EQ(both.bytes(), 6 * 8 * 4);
  const NamedLinop away = dense_of(w).to(there) * ToDevice(cpu, there, dims("N"));
  const NamedLinop two = ToDevice(there, cpu, dims("M")) * away + dense_of(w);
  EXPECT_EQ(bytes_by_device(two), (std::vector<std::pair<Device, i64>>{{cpu, 192}, {there, 192}}));
  EXPECT_EQ(memory_report(Identity()), "no arrays");
}

TEST(MemoryMap, TilesOfANufftShareWhatDoesNotDependOnThePoints) {
  const Array locs = Random(6).uniform({10, 2}, DType::f64, cpu, -3, 3);
  const NamedLinop A = NUFFT(locs, {8, 6}, dims("K"));
  MemoryMap map(there);
  i64 apart = 0;
  std::vector<NamedLinop> tiles{A.split({{"K", 0, 4}}), A.split({{"K", 4, 10}})};
  for (const NamedLinop& t : tiles) {
    map.add(t);
    apart += t.bytes();
  }
  for (const NamedLinop& t : tiles) (void)map.place(t);
  EXPECT_EQ(apart - map.bytes(), (8 + 6) * 8);  // the apodisation along each axis
}

TEST(MemoryMap, RandomViewsKeepTheirValues) {
  std::mt19937 gen(5);
  auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(gen); };
  for (int trial = 0; trial < 60; ++trial) {
    const Array base = counted({pick(2, 6), pick(2, 7), pick(1, 5)}, DType::c64);
    std::vector<NamedLinop> ops;
    for (i64 n = pick(1, 4); n > 0; --n) {
      Array v = base;
      for (i64 a = 0; a < 3; ++a) {
        const i64 start = pick(0, v.shape(a) - 1);
        v = v.slice(a, start, pick(start + 1, v.shape(a)), pick(1, 2));
      }
      if (pick(0, 2) == 0) v = v.real();
      if (pick(0, 1) == 0) v = v.transpose();
      ops.push_back(Diagonal(v, dims("ABC")));
    }
    MemoryMap map(there);
    for (const NamedLinop& a : ops) map.add(a);
    for (const NamedLinop& a : ops) {
      const NamedLinop placed = map.place(a);
      EXPECT_TRUE(equal(placed.arrays().front(), a.arrays().front())) << "trial " << trial;
    }
    EXPECT_LE(map.bytes(), base.bytes()) << "trial " << trial;
    const NamedLinop copy = ops.front().deep_copy();
    EXPECT_TRUE(equal(copy.arrays().front(), ops.front().arrays().front()));
    EXPECT_FALSE(may_share_memory(copy.arrays().front(), base));
    EXPECT_EQ(copy.bytes(), copy.arrays().front().storage().bytes());
  }
}

}  // namespace
}  // namespace tessera
