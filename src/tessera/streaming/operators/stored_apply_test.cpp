// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/operators/stored_apply.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "support/files.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/streaming/plan/job.hpp"

namespace tessera::streaming {
namespace {

Array counted(const Shape& shape) {
  const Array a = Array::empty(shape, DType::f64);
  for (i64 i = 0; i < a.size(); ++i) a.host<double>()[i] = static_cast<double>(i % 17) - 5;
  return a;
}
bool same_numbers(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && same_bits(a, b);
}

// Integers in floating point: sums are exact in any order.
TEST(StoredApply, ProductsWithEverythingOnDisk) {
  const Array w = counted({30, 40}), x = counted({7, 40});
  const NamedLinop A = Dense(w, dims("MN"), dims("TN"), dims("TM"));
  const NamedLinop B = dense_on_disk(StoredArray::from(w), dims("MN"), dims("TN"), dims("TM"));
  for (const i64 budget : {2000, 5000, 20000, 200000}) {
    const StoredArray y = apply_operator(B, StoredArray::from(x), {.budget = budget});
    EXPECT_PRED2(same_numbers, y.array(), A(x)) << budget;
    const StoredArray back = apply_operator(B.H(), y, {.budget = budget});
    EXPECT_PRED2(same_numbers, back.array(), A.H()(A(x))) << budget;
  }
}

TEST(StoredApply, APartOfTheInputIsReadOnceForAllRowsThatNeedIt) {
  const Array w = counted({1024, 50}), x = counted({50});
  const NamedLinop A = Dense(w, dims("MN"), dims("N"), dims("M"));
  const StoredArray in = StoredArray::from(x), out = StoredArray::create({1024}, DType::f64);
  const StreamPlan plan = plan_apply(A, in.store(), out.store(), {.budget = 4000});
  EXPECT_GT(plan.steps(), 1);
  EXPECT_EQ(plan.bytes_read(), x.bytes());
  EXPECT_EQ(plan.bytes_written(), i64{1024} * 8);
  EXPECT_LE(plan.bytes_held(), 4000);
}

TEST(StoredApply, CutsOfAnOperatorOnDiskAreThoseOfMemory) {
  const Array w = counted({4, 1, 6});
  const NamedLinop A = Diagonal(w, dims("CXY"));
  const NamedLinop B = diagonal_on_disk(StoredArray::from(w), dims("CXY"));
  const Tile tile{{"C", 1, 3}, {"X", 2, 4}, {"Y", 3, 6}};
  const Array x = counted({2, 2, 3});
  EXPECT_PRED2(same_numbers, B.split(tile)(x), A.split(tile)(x));
  const std::vector<WeightBox> boxes = weights_on_disk(B.split(tile).H());
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].box, (Box{{1, 0, 3}, {2, 1, 3}}));
  EXPECT_EQ(boxes[0].bytes(), i64{2} * 3 * 8);
}

TEST(StoredApply, TheSmallestBudgetOfARefusalDoes) {
  const NamedLinop F = FFT(1, dims("T"), FFT::Grids(dims("X"), dims("K")));
  i64 least = 0;
  try {
    (void)choose_tiles(F, {9, 64}, DType::c64, {.budget = 1});
    FAIL() << "a byte is enough";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what(), before = "would do is ";
    EXPECT_NE(text.find("not along 'X'"), std::string::npos) << text;
    least = std::stoll(text.substr(text.find(before) + before.size()));
  }
  EXPECT_THROW(choose_tiles(F, {9, 64}, DType::c64, {.budget = least - 1}), OutOfMemory);
  const TileChoice c = choose_tiles(F, {9, 64}, DType::c64, {.budget = least});
  EXPECT_EQ(c.held, least);
  EXPECT_EQ(to_text(c.sizes), "{T: 1}");
}

struct Ended {};
i64 polls_left = 0;
struct EndAfter {
  explicit EndAfter(i64 steps) {
    polls_left = steps;
    set_mark_interval(0);
    set_stream_poll([] {
      if (polls_left-- == 0) throw Ended();
    });
  }
  ~EndAfter() {
    set_stream_poll(nullptr);
    set_mark_interval(1);
  }
};

// Parts of the input stay in memory from tile to tile, and sums take several: both are found again.
TEST(StoredApply, AsAJobGoesOnFromEveryStep) {
  const Array w = counted({60, 40}), x = counted({7, 40});
  StoredArray::from(w, path_of("apply_w"));
  StoredArray::from(x, path_of("apply_x"));
  const StoredArray in = StoredArray::open(path_of("apply_x"));
  const std::string to = path_of("apply_y");
  const Array wanted = NamedLinop(Dense(w, dims("MN"), dims("TN"), dims("TM")))(x);
  for (const i64 budget : {3000, 6000, 12000}) {
    const auto apply = [&](double scale) {
      const NamedLinop B = scale * dense_on_disk(StoredArray::open(path_of("apply_w")), dims("MN"),
                                                 dims("TN"), dims("TM"));
      return apply_operator(B, in, {.budget = budget}, to);
    };
    i64 ends = 0;
    for (bool ended = true; ended; ends += 1 + ends / 2) {
      try {
        const EndAfter end(ends);
        apply(1);
        ended = false;
      } catch (const Ended&) {
        EXPECT_FALSE(std::filesystem::exists(to));
        if (std::filesystem::exists(to + ".job") && ends > 3) {
          EXPECT_THROW(apply(2), ArgumentError) << ends;  // another operator
        }
        apply(1);
      }
      EXPECT_PRED2(same_numbers, StoredArray::open(to).array(), wanted) << budget << " " << ends;
      EXPECT_FALSE(std::filesystem::exists(to + ".job"));
      EXPECT_FALSE(std::filesystem::exists(to + ".partial"));
      std::filesystem::remove(to);
    }
    EXPECT_GT(ends, 3);
  }
}

}  // namespace
}  // namespace tessera::streaming
