// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/scan/scan.hpp"

#include <cmath>
#include <limits>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

TEST(Scan, EveryTypeAxisAndLayout) {
  for (const Shape& shape : {Shape{1}, Shape{5}, Shape{3000}, Shape{4, 7}, Shape{3, 2, 5},
                             Shape{20, 300}, Shape{300, 3}})
    for (i64 axis = 0; axis < shape.size(); ++axis)
      for (int t = 0; t < dtype_count; ++t)
        for (ScanOp op : {ScanOp::sum, ScanOp::prod}) {
          const DType dtype = static_cast<DType>(t);
          std::vector<double> v;
          const bool long_sum = count_of(shape) > 200;
          for (i64 i = 0; i < count_of(shape);
               ++i)  // exact in every dtype: few ones, or a single two
            v.push_back(op == ScanOp::sum ? static_cast<double>(long_sum ? i % 97 == 0 : i % 3 == 0)
                                          : (i % 1000 == 2 && dtype != DType::b1 ? 2 : 1));
          const Array x = laid_out(dtype, shape, v, all_lays[(t + axis) % 4]);
          const Array y = scan(op, x, axis);
          const auto got = numbers_of(y);
          i64 inner = 1;
          for (i64 a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
          std::vector<double> expected = v;
          for (std::size_t i = 0; i < v.size(); ++i)
            if (static_cast<i64>(i) / inner % shape[axis] > 0) {
              const double before = expected[i - static_cast<std::size_t>(inner)];
              expected[i] = op == ScanOp::sum ? before + v[i] : before * v[i];
            }
          for (std::size_t i = 0; i < v.size(); ++i)
            ASSERT_EQ(got[i], expected[i])
                << to_text(dtype) << " " << to_text(shape) << " axis " << axis;
        }
}

TEST(Scan, TypesFlatteningAndErrors) {
  const Device d = test_device();
  const Array x = laid_out<std::int8_t>({2, 2}, {100, 100, 1, 2}, Lay::exchanged);
  EXPECT_EQ(values_of<i64>(scan(ScanOp::sum, x, {})), (std::vector<i64>{100, 200, 201, 203}));
  EXPECT_EQ(values_of<std::int8_t>(scan(ScanOp::sum, x, 1, DType::i8)),
            (std::vector<std::int8_t>{100, -56, 1, 3}));
  EXPECT_EQ(scan(ScanOp::sum, ones({2}, DType::u16, d), 0).dtype(), DType::u64);
  EXPECT_EQ(scan(ScanOp::prod, zeros({0, 3}, DType::f32, d), 0).shape(), (Shape{0, 3}));
  EXPECT_THROW(scan(ScanOp::sum, x, 2), IndexError);
}

TEST(Scan, StartsFromTheFirstElementItself) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Shape& shape : {Shape{1, 1}, Shape{2, 8}}) {  // line by line, and lines side by side
    const Array x = Array::empty(shape, DType::c128), y = Array::empty(shape, DType::f64);
    std::fill_n(x.host<c128>(), x.size(), c128(inf, 0));
    std::fill_n(y.host<double>(), y.size(), -0.0);
    const Array products = scan(ScanOp::prod, x, 0), sums = scan(ScanOp::sum, y, 0);
    for (i64 j = 0; j < shape[1]; ++j) {
      EXPECT_EQ(products.host<c128>()[j].re, inf);
      EXPECT_EQ(products.host<c128>()[j].im, 0);  // 1 * inf would be inf + nan i
      EXPECT_TRUE(std::signbit(sums.host<double>()[j]));
    }
  }
}

}  // namespace
}  // namespace tessera
