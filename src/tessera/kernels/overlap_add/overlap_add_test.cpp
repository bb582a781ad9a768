// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/overlap_add/overlap_add.hpp"

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

struct Case {
  Shape batch, grid, block, stride;
  std::vector<i64> places;  // empty: all
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{}, {5}, {3}, {1}, {}},
      {{2}, {6}, {3}, {2}, {}},
      {{}, {1}, {1}, {1}, {}},
      {{}, {23}, {3}, {5}, {}},
      {{}, {9000}, {7}, {3}, {}},
      {{3}, {7, 10}, {3, 4}, {2, 3}, {}},
      {{}, {300, 11}, {9, 2}, {4, 5}, {}},
      {{2, 2}, {6, 5, 7}, {3, 2, 4}, {1, 2, 2}, {}},
      {{}, {17, 19, 40}, {8, 8, 8}, {4, 4, 4}, {}},
      {{}, {4, 5, 3, 6}, {2, 2, 1, 3}, {1, 2, 1, 2}, {}},
      {{}, {5}, {3}, {1}, {1}},
      {{2}, {8, 9}, {3, 4}, {2, 2}, {0, 1, 3, 6, 7, 11}},
      {{}, {7, 6, 8}, {3, 3, 3}, {1, 2, 1}, {4, 10, 12, 13, 14, 16, 22}},
  };
  return all;
}

Shape joined(Shape a, const Shape& b) {
  a.append(b);
  return a;
}

// Sums by definition, over the blocks.
std::vector<double> by_definition(const Case& c, const Shape& counts,
                                  const std::vector<double>& blocks) {
  const i64 batch = count_of(c.batch), points = count_of(c.grid), per = count_of(c.block),
            kept = c.places.empty() ? per : static_cast<i64>(c.places.size());
  std::vector<double> sum(static_cast<std::size_t>(batch * points), 0);
  for (i64 i = 0; i < batch * count_of(counts) * kept; ++i) {
    const i64 place = c.places.empty() ? i % kept : c.places[static_cast<std::size_t>(i % kept)];
    i64 k = i / kept, j = place, g = 0, scale = 1;
    for (i64 a = c.grid.size() - 1; a >= 0; --a) {
      g += (k % counts[a] * c.stride[a] + j % c.block[a]) * scale;
      scale *= c.grid[a];
      k /= counts[a];
      j /= c.block[a];
    }
    sum[static_cast<std::size_t>(k * points + g)] += blocks[static_cast<std::size_t>(i)];
  }
  return sum;
}

TEST(OverlapAdd, EveryCaseTypeAndLayoutIsTheSumOfItsBlocks) {
  std::size_t turn = 0;
  for (const Case& c : cases())
    for (DType t : {DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64,
                    DType::c64, DType::c128})
      for (Lay lay : all_lays) {
        const Shape counts = block_counts("test", c.grid, c.block, c.stride);
        Shape shape = joined(c.batch, counts);
        if (c.places.empty())
          shape.append(c.block);
        else
          shape.push_back(static_cast<i64>(c.places.size()));
        std::vector<double> v;  // small integers: every sum is exact, in bfloat16 too
        for (i64 i = 0; i < count_of(shape); ++i) v.push_back(static_cast<double>(i * 7 % 5) - 2);
        const Array in = laid_out(t, shape, v, lay);
        const Shape out_shape = joined(c.batch, c.grid);
        const std::vector<double> nothing(static_cast<std::size_t>(count_of(out_shape)), 99);
        const Array out = laid_out(t, out_shape, nothing, all_lays[turn++ % 4]);
        const OverlapAddSpec spec{.in = operand_of(in),
                                  .out = operand_of(out),
                                  .block = c.block,
                                  .stride = c.stride,
                                  .masked = !c.places.empty(),
                                  .places = c.places};
        launch_now(&KernelTable::overlap_add, "overlap_add", spec, out.device(), {&in, &out});
        const auto got = numbers_of(out);
        const auto expected = by_definition(c, counts, v);
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(got[i], expected[i])
              << name(t) << " " << to_text(c.grid) << " block " << to_text(c.block) << " at " << i;
      }
}

TEST(OverlapAdd, CountsOfBlocks) {
  EXPECT_EQ(block_counts("t", {5, 5}, {3, 3}, {1, 1}), (Shape{3, 3}));
  EXPECT_EQ(block_counts("t", {5, 5}, {3, 3}, {2, 2}), (Shape{2, 2}));
  EXPECT_EQ(block_counts("t", {6, 6}, {3, 3}, {2, 2}), (Shape{2, 2}));
  EXPECT_EQ(block_counts("t", {7, 7}, {3, 3}, {2, 2}), (Shape{3, 3}));
  EXPECT_EQ(block_counts("t", {10, 10}, {8, 8}, {4, 4}), (Shape{1, 1}));
  EXPECT_THROW(block_counts("t", {5}, {6}, {1}), ShapeError);
  EXPECT_THROW(block_counts("t", {5}, {0}, {1}), ShapeError);
  EXPECT_THROW(block_counts("t", {5}, {2}, {0}), ShapeError);
  EXPECT_THROW(block_counts("t", {5, 5}, {2}, {1}), ShapeError);
  EXPECT_THROW(block_counts("t", {}, {}, {}), ShapeError);
}

TEST(OverlapAdd, TheViewOfBlocksReadsEveryBlock) {
  const Array x = laid_out<float>({5}, {0, 1, 2, 3, 4}, Lay::reversed);
  const Array blocks = x.view(unfold_layout(x.layout(), {3}, {2})).copy();
  EXPECT_EQ(values_of<float>(blocks), (std::vector<float>{0, 1, 2, 2, 3, 4}));
}

TEST(OverlapAdd, OtherTypesAreRefused) {
  const Array a = zeros({3, 3}, DType::u8, test_device()), b = zeros({5}, DType::u8, test_device());
  const OverlapAddSpec spec{.in = operand_of(a),
                            .out = operand_of(b),
                            .block = {3},
                            .stride = {1},
                            .masked = false,
                            .places = {}};
  EXPECT_THROW(launch_now(&KernelTable::overlap_add, "overlap_add", spec, b.device(), {&a, &b}),
               DTypeError);
}

}  // namespace
}  // namespace tessera
