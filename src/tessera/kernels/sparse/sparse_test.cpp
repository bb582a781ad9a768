// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sparse/sparse.hpp"

#include "support/arrays.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

// Sparse-looking numbers: small integers, exact in every dtype, many zeros, some empty rows.
std::vector<double> entries_of(i64 rows, i64 columns, std::uint64_t seed) {
  const Array u = Random(seed).uniform({rows, columns}, DType::f64, cpu, -4, 4).contiguous();
  std::vector<double> v;
  for (i64 i = 0; i < u.size(); ++i) {
    const double x = std::round(u.host<double>()[i]);
    v.push_back(i / columns % 4 == 1 || std::abs(x) < 2 ? 0 : x);
  }
  return v;
}

std::vector<std::complex<double>> dense_product(const std::vector<double>& m, i64 rows, i64 columns,
                                                const Array& x) {
  const auto xs = numbers_of(x);
  std::vector<std::complex<double>> y;
  for (i64 b = 0; b * columns < x.size(); ++b)
    for (i64 r = 0; r < rows; ++r) {
      y.emplace_back();
      for (i64 c = 0; c < columns; ++c)
        y.back() += m[static_cast<std::size_t>(r * columns + c)] *
                    xs[static_cast<std::size_t>(b * columns + c)];
    }
  return y;
}

TEST(SparseKernel, ProductsOfEveryDtypeAndLayout) {
  for (const Shape& shape : {Shape{7, 5}, Shape{1, 1}, Shape{40, 300}, Shape{3, 1}}) {
    const i64 rows = shape[0], columns = shape[1];
    const std::vector<double> m = entries_of(rows, columns, 5);
    for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (DType v : {t, real_of(t)})
        for (Lay lay : all_lays) {
          const CsrMatrix a = csr_from_dense(laid_out(v, shape, m, lay));
          std::vector<double> xs;
          for (i64 i = 0; i < 9 * columns; ++i) xs.push_back(static_cast<double>(i % 7 - 3));
          const Array x = laid_out(t, {9, columns}, xs, lay);
          EXPECT_EQ(numbers_of(multiply(a, x)), dense_product(m, rows, columns, x));
          const Array one = laid_out(t, {columns}, {xs.begin(), xs.begin() + columns}, lay);
          EXPECT_EQ(numbers_of(multiply(a, one)), dense_product(m, rows, columns, one));
        }
  }
}

TEST(SparseKernel, TransposedAndParts) {
  const std::vector<double> m = entries_of(6, 4, 2);
  const CsrMatrix a = csr_from_dense(laid_out(DType::f64, {6, 4}, m)), t = a.transposed();
  std::vector<double> turned(24);
  for (std::size_t i = 0; i < 24; ++i) turned[i % 4 * 6 + i / 4] = m[i];
  const Array y = laid_out(DType::f64, {6}, {1, -2, 3, 5, -7, 11});
  EXPECT_EQ(t.rows, 4);
  EXPECT_EQ(numbers_of(multiply(t, y)), dense_product(turned, 4, 6, y));
  const i64 rows[] = {5, 0}, columns[] = {-1, 0, -1, 1};
  const CsrMatrix p = a.part(rows, columns, 2);
  const std::vector<double> kept{m[21], m[23], m[1], m[3]};
  const Array x = laid_out(DType::f64, {2}, {2, 3});
  EXPECT_EQ(numbers_of(multiply(p, x)), dense_product(kept, 2, 2, x));
}

TEST(SparseKernel, EntriesInAnyOrderAddUp) {
  const Array v = laid_out(DType::f64, {4}, {1, 2, 4, 8});
  const CsrMatrix a = csr_from_coo(v, laid_out(DType::i32, {4}, {2, 0, 2, 2}),
                                   laid_out(DType::i64, {4}, {1, 0, 0, 1}), 3, 2);
  const Array y = multiply(a, laid_out(DType::f64, {2}, {1, 10}));
  EXPECT_EQ(values_of<double>(y), (std::vector<double>{2, 0, 94}));
}

TEST(SparseKernel, EmptyMatrices) {
  const CsrMatrix none = csr_from_dense(laid_out(DType::f32, {2, 3}, std::vector<double>(6, 0)));
  EXPECT_EQ(none.entries(), 0);
  const Array x = laid_out(DType::f32, {3}, {1, 2, 3});
  EXPECT_EQ(values_of<float>(multiply(none, x)), (std::vector<float>{0, 0}));
  EXPECT_EQ(multiply(none, Array::empty({0, 3}, DType::f32, test_device())).shape(), (Shape{0, 2}));
}

TEST(SparseKernel, RefusesWhatIsNoMatrix) {
  const Array v = laid_out(DType::f64, {2}, {1, 2});
  const auto ints = [](const std::vector<double>& n) {
    return laid_out(DType::i64, {static_cast<i64>(n.size())}, n);
  };
  EXPECT_THROW((void)make_csr(v, ints({0, 5}), ints({0, 1, 2}), 2, 5), IndexError);
  EXPECT_THROW((void)make_csr(v, ints({0, -1}), ints({0, 1, 2}), 2, 5), IndexError);
  EXPECT_THROW((void)make_csr(v, ints({0}), ints({0, 1, 2}), 2, 5), ShapeError);
  EXPECT_THROW((void)make_csr(v, ints({0, 1}), ints({0, 2}), 2, 5), ShapeError);
  EXPECT_THROW((void)make_csr(v, ints({0, 1}), ints({0, 1, 1}), 2, 5), ShapeError);
  EXPECT_THROW((void)make_csr(v, ints({0, 1}), ints({0, 3, 2}), 2, 5), ShapeError);
  EXPECT_THROW((void)make_csr(v, v, ints({0, 1, 2}), 2, 5), DTypeError);
  EXPECT_THROW((void)csr_from_coo(v, ints({0, 2}), ints({0, 1}), 2, 5), IndexError);
  EXPECT_THROW((void)csr_from_coo(v, ints({0}), ints({0, 1}), 2, 5), ShapeError);
  EXPECT_THROW((void)csr_from_dense(v), ShapeError);
  const CsrMatrix a = make_csr(v, ints({0, 4}), ints({0, 1, 2}), 2, 5);
  EXPECT_THROW((void)multiply(a, v), ShapeError);
}

}  // namespace
}  // namespace tessera
