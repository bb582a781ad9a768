// SPDX-License-Identifier: Apache-2.0
// Products of every dtype and layout against three plain loops.
#include "tessera/kernels/matmul/matmul.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "support/arrays.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

template <class T>
std::vector<T> random_values(i64 n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> whole(-120, 120);
  std::vector<T> v;
  for (i64 i = 0; i < n; ++i) {
    if constexpr (is_complex_v<T>)
      v.push_back(T(Complex<double>(real(engine), real(engine))));
    else if constexpr (std::is_same_v<T, bool>)
      v.push_back(whole(engine) > 40);
    else if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(whole(engine)));
    else
      v.push_back(T(static_cast<float>(real(engine))));
  }
  return v;
}

struct Case {
  i64 batch, m, n, k;
  bool conj_a = false, conj_b = false;
  c128 alpha{1, 0}, beta{0, 0};
};

// conj(alpha) and the like do not matter for real types: the kernel takes their real parts.
Z factor(DType t, const c128& v) { return is_complex(t) ? Z(v.re, v.im) : Z(v.re); }

template <class T>
void check(const Case& c, Lay lay_a, Lay lay_b, Lay lay_c) {
  constexpr DType dtype = dtype_of<T>;
  const auto va = random_values<T>(c.batch * c.m * c.k, 1),
             vb = random_values<T>(c.batch * c.k * c.n, 2),
             vc = random_values<T>(c.batch * c.m * c.n, 3);
  const Array a = laid_out<T>({c.batch, c.m, c.k}, va, lay_a),
              b = laid_out<T>({c.batch, c.k, c.n}, vb, lay_b);
  Array out = laid_out<T>({c.batch, c.m, c.n}, vc, lay_c);
  if (c.beta == c128(0)) {  // then the output must not be read
    i64 size = 0;
    const Layout l = layout_of({c.batch, c.m, c.n}, lay_c, &size);
    out = Array::empty({size}, dtype, test_device()).view(l);
    if (config().noncontiguous) out = laid_out<T>({c.batch, c.m, c.n}, vc, lay_c);
  }
  MatmulSpec spec{operand_of(a), operand_of(b), operand_of(out), c.conj_a,
                  c.conj_b,      c.alpha,       c.beta};
  launch_now(&KernelTable::matmul, "matmul", spec, out.device(), {&a, &b, &out});
  const auto na = numbers_of(a), nb = numbers_of(b), got = numbers_of(out);
  auto at = [](const std::vector<Z>& v, i64 i) { return v[static_cast<std::size_t>(i)]; };
  for (i64 i = 0; i < c.batch * c.m * c.n; ++i) {
    const i64 batch = i / (c.m * c.n), row = i / c.n % c.m, column = i % c.n;
    Z sum = 0;
    for (i64 p = 0; p < c.k; ++p) {
      const Z x = at(na, (batch * c.m + row) * c.k + p),
              y = at(nb, (batch * c.k + p) * c.n + column);
      sum += (c.conj_a ? std::conj(x) : x) * (c.conj_b ? std::conj(y) : y);
    }
    const T old = vc[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, bool>) {
      const bool want = (c.alpha.re != 0 && sum != 0.0) || (c.beta.re != 0 && old);
      ASSERT_EQ(at(got, i) != 0.0, want) << i;
    } else if constexpr (std::is_integral_v<T>) {
      const i64 want = static_cast<i64>(sum.real()) * static_cast<i64>(c.alpha.re) +
                       static_cast<i64>(c.beta.re) * static_cast<i64>(old);
      ASSERT_EQ(static_cast<T>(static_cast<i64>(at(got, i).real())), static_cast<T>(want)) << i;
    } else {
      Z want = factor(dtype, c.alpha) * sum;
      if (c.beta != c128(0)) {
        if constexpr (is_complex_v<T>)
          want += factor(dtype, c.beta) * Z(old.re, old.im);
        else
          want += factor(dtype, c.beta) * Z(static_cast<double>(static_cast<float>(old)));
      }
      const double work = dtype == DType::f16 || dtype == DType::bf16 ? 0x1p-24 : epsilon_of(dtype);
      const double bound = 8 * work * std::sqrt(double(c.k) + 1) * (std::sqrt(double(c.k)) + 2) +
                           2 * epsilon_of(dtype) * std::abs(want);
      ASSERT_TRUE(std::abs(at(got, i) - want) < bound + 1e-300)
          << name(dtype) << " element " << i << ": " << at(got, i) << " for " << want;
    }
  }
}

const Case cases[] = {{1, 1, 1, 1},   {1, 3, 5, 7},   {2, 17, 13, 19}, {1, 33, 1, 40},
                      {3, 1, 21, 30}, {1, 1, 1, 300}, {2, 9, 70, 1},   {2, 4, 3, 0},
                      {0, 3, 4, 5},   {1, 0, 4, 5},   {5, 2, 3, 4},    {1, 70, 66, 67}};

template <class T>
void check_layouts() {
  for (Case c : cases)
    for (Lay a : all_lays)
      for (Lay b : all_lays)
        for (Lay out : all_lays) {
          check<T>(c, a, b, out);
          if (testing::Test::HasFatalFailure()) {
            ADD_FAILURE() << name(dtype_of<T>) << " batch " << c.batch << " m " << c.m << " n "
                          << c.n << " k " << c.k << " layouts " << int(a) << int(b) << int(out);
            return;
          }
        }
}

TEST(MatmulKernel, FloatsInEveryLayout) {
  check_layouts<float>();
  check_layouts<double>();
}
TEST(MatmulKernel, ComplexInEveryLayout) {
  check_layouts<c64>();
  check_layouts<c128>();
}
TEST(MatmulKernel, OtherTypesInEveryLayout) {
  check_layouts<Half>();
  check_layouts<BFloat16>();
  check_layouts<std::int8_t>();
  check_layouts<std::uint16_t>();
  check_layouts<i64>();
  check_layouts<bool>();
}

TEST(MatmulKernel, ConjugatesAndFactors) {
  const c128 factors[][2] = {
      {{1, 0}, {0, 0}}, {{2, 0}, {3, 0}}, {{2, -1}, {0.5, 1}}, {{0, 0}, {1, 0}}};
  const Case sizes[] = {
      {2, 3, 4, 5}, {1, 40, 1, 33}, {1, 1, 31, 40}, {2, 1, 1, 400}, {1, 37, 29, 31}};
  for (Case c : sizes)
    for (auto [alpha, beta] : factors)
      for (int conj = 0; conj < 4; ++conj)
        for (Lay a : {Lay::dense, Lay::exchanged, Lay::gaps})
          for (Lay b : {Lay::dense, Lay::exchanged, Lay::reversed}) {
            c.conj_a = conj & 1;
            c.conj_b = conj & 2;
            c.alpha = alpha;
            c.beta = beta;
            check<c64>(c, a, b, Lay::dense);
            check<c128>(c, a, b, Lay::exchanged);
            if (conj == 0) {
              check<float>(c, a, b, Lay::gaps);
              check<Half>(c, a, b, Lay::reversed);
            }
            if (conj == 0 && alpha.im == 0) check<std::int16_t>(c, a, b, Lay::dense);
            if (conj == 0 && alpha.im == 0) check<bool>(c, a, b, Lay::dense);
            if (HasFatalFailure()) return;
          }
}

// A matrix by a few columns, or a few rows by a matrix, that lie in one piece each.
TEST(MatmulKernel, FewColumns) {
  const c128 factors[][2] = {{{1, 0}, {0, 0}}, {{2, 0}, {3, 0}}};
  for (const i64 few : {2, 3, 4, 5, 8})
    for (auto [alpha, beta] : factors)
      for (Lay out : {Lay::dense, Lay::exchanged, Lay::gaps}) {
        for (Case c : {Case{1, 131, few, 517}, Case{1, few, 67, 1103}, Case{3, 64, few, 1025}}) {
          c.alpha = alpha;
          c.beta = beta;
          check<float>(c, Lay::dense, Lay::exchanged, out);
          check<double>(c, Lay::dense, Lay::exchanged, out);
          if (HasFatalFailure()) return;
        }
      }
}

// Batches that are spread over the threads, with and without a workspace.
TEST(MatmulKernel, LargeBatches) {
  for (Lay lay : {Lay::dense, Lay::gaps}) {
    check<float>({40, 24, 20, 28}, lay, Lay::dense, lay);
    check<c128>({33, 12, 17, 11}, Lay::dense, lay, Lay::dense);
    check<BFloat16>({19, 12, 17, 11}, lay, lay, Lay::dense);
    check<float>({3, 131, 129, 137}, lay, Lay::dense, lay);  // a product for each of two threads
  }
}

// Broadcast batch axes: one matrix for all, folded into one product where the strides allow it.
TEST(MatmulKernel, SharedOperands) {
  const Array a = laid_out<double>({4, 3, 6, 5}, random_values<double>(360, 1));
  const Array b = laid_out<double>({5, 7}, random_values<double>(35, 2));
  const Array left = laid_out<double>({7, 6}, random_values<double>(42, 3));
  const Array one = matmul(a, b), two = matmul(left, a);
  ASSERT_EQ(one.shape(), (Shape{4, 3, 6, 7}));
  ASSERT_EQ(two.shape(), (Shape{4, 3, 7, 5}));
  const auto na = values_of<double>(a), nb = values_of<double>(b), nl = values_of<double>(left),
             got = values_of<double>(one), turned = values_of<double>(two);
  for (i64 s = 0; s < 12; ++s)
    for (i64 i = 0; i < 6; ++i)
      for (i64 j = 0; j < 7; ++j) {
        double want = 0;
        for (i64 p = 0; p < 5; ++p) want += na[size_t((s * 6 + i) * 5 + p)] * nb[size_t(p * 7 + j)];
        ASSERT_NEAR(got[size_t((s * 6 + i) * 7 + j)], want, 1e-14);
      }
  for (i64 s = 0; s < 12; ++s)
    for (i64 i = 0; i < 7; ++i)
      for (i64 j = 0; j < 5; ++j) {
        double want = 0;
        for (i64 p = 0; p < 6; ++p) want += nl[size_t(i * 6 + p)] * na[size_t((s * 6 + p) * 5 + j)];
        ASSERT_NEAR(turned[size_t((s * 7 + i) * 5 + j)], want, 1e-14);
      }
}

// Half of the work where the kernel sees one matrix twice: as the product with a copy, and exactly
// symmetric where the matrix is dense; others are packed, and then it is up to the BLAS.
template <class T>
void check_own_transpose(i64 rows, i64 columns, Lay lay) {
  const Array a = laid_out<T>({3, rows, columns}, random_values<T>(3 * rows * columns, 1), lay);
  const auto got = values_of<T>(matmul(a, a.swap_axes(-2, -1)));
  const auto want = values_of<T>(matmul(a, a.swap_axes(-2, -1).copy()));
  const double tolerance = 4 * static_cast<double>(columns) * std::numeric_limits<T>::epsilon();
  for (i64 s = 0; s < 3; ++s)
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < rows; ++j) {
        const std::size_t at = size_t((s * rows + i) * rows + j);
        ASSERT_FALSE(!(std::abs(got[at] - want[at]) < tolerance)) << i << ", " << j;
        if (lay == Lay::dense)
          ASSERT_EQ(got[at], got[size_t((s * rows + j) * rows + i)]) << i << ", " << j;
      }
}
TEST(MatmulKernel, OfAMatrixAndItsOwnTranspose) {
  for (const Lay lay : {Lay::dense, Lay::exchanged, Lay::gaps, Lay::reversed}) {
    check_own_transpose<float>(71, 45, lay);
    check_own_transpose<double>(33, 129, lay);
    check_own_transpose<double>(131, 7, lay);
  }
  // Twice the same matrix is no such product.
  const Array a = laid_out<double>({40, 40}, random_values<double>(1600, 1));
  const auto got = values_of<double>(matmul(a, a)), want = values_of<double>(matmul(a, a.copy()));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-13);
}

TEST(MatmulKernel, RunsWithoutPoolOrBlasThreadsLeftBehind) {
  if (test_device() != cpu) GTEST_SKIP() << "looks at the threads of the host";
  check<float>({64, 90, 80, 70}, Lay::gaps, Lay::dense, Lay::dense);
  const Array a = laid_out<float>({64, 90, 80}, random_values<float>(64 * 90 * 80, 1), Lay::gaps);
  const Array b = laid_out<float>({64, 80, 70}, random_values<float>(64 * 80 * 70, 2));
  const Array out = Array::empty({64, 90, 70}, DType::f32);
  const Prepared p =
      cpu_kernels().matmul.prepare({operand_of(a), operand_of(b), operand_of(out)}, cpu);
  EXPECT_GT(p.workspace, 0);
  const Storage workspace = Storage::allocate(cpu, p.workspace);
  Launch launch;
  launch.operand = {a.data(), b.data(), out.data()};
  launch.workspace = workspace.data();
  const NoAllocation guard;
  p.task.run(p.task.state.get(), launch);
}

TEST(Matmul, RanksAsNumpy) {
  const Array v3 = laid_out<float>({3}, {1, 2, 3}),
              m34 = laid_out<float>({3, 4}, random_values<float>(12, 1)),
              v4 = laid_out<float>({4}, {1, 1, 2, 3}),
              b = laid_out<float>({2, 3, 4}, random_values<float>(24, 1));
  EXPECT_EQ(matmul(v3, v3).shape(), (Shape{}));
  EXPECT_EQ(matmul(v3, v3).item().as<double>(), 14.0);
  EXPECT_EQ(matmul(v3, m34).shape(), (Shape{4}));
  EXPECT_EQ(matmul(m34, v4).shape(), (Shape{3}));
  EXPECT_EQ(matmul(b, v4).shape(), (Shape{2, 3}));
  EXPECT_EQ(matmul(v3, b).shape(), (Shape{2, 4}));
  const auto one = values_of<float>(matmul(v3, b)), m = values_of<float>(b);
  for (i64 s = 0; s < 2; ++s)
    for (i64 j = 0; j < 4; ++j)
      EXPECT_NEAR(
          one[size_t(s * 4 + j)],
          m[size_t(s * 12 + j)] + 2 * m[size_t(s * 12 + 4 + j)] + 3 * m[size_t(s * 12 + 8 + j)],
          1e-5);
}

TEST(Matmul, PromotesAndWritesIntoOut) {
  const Array a = laid_out<std::int32_t>({2, 2}, {1, 2, 3, 4}),
              b = laid_out<float>({2, 2}, {0.5f, 1, 2, 3});
  const Array c = matmul(a, b);
  EXPECT_EQ(c.dtype(), DType::f64);
  EXPECT_EQ(values_of<double>(c), (std::vector<double>{4.5, 7, 9.5, 15}));
  const Array out = laid_out<float>({2, 2}, {9, 9, 9, 9}, Lay::gaps);
  matmul(a, b, out);
  EXPECT_EQ(values_of<float>(out), (std::vector<float>{4.5f, 7, 9.5f, 15}));
  const Array self = laid_out<float>({2, 2}, {1, 2, 3, 4});
  matmul(self, self, self);  // overlap: as if the operands had been copied first
  EXPECT_EQ(values_of<float>(self), (std::vector<float>{7, 10, 15, 22}));
  const Array turned = laid_out<float>({2, 2}, {1, 2, 3, 4});
  matmul(turned, turned, turned.transpose());
  EXPECT_EQ(values_of<float>(turned), (std::vector<float>{7, 15, 10, 22}));
}

TEST(Matmul, ErrorsInNumpysWords) {
  const Array a = laid_out<float>({2, 3}, random_values<float>(6, 1)),
              b = laid_out<float>({4, 2}, random_values<float>(8, 1));
  EXPECT_EQ(thrown_text<ShapeError>([&] { matmul(a, b); }),
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            "(n?,k),(k,m?)->(n?,m?) (size 4 is different from 3)");
  EXPECT_NE(thrown_text<ShapeError>([&] {
              matmul(a, Array::scalar(Value(1.0), DType::f32).to(test_device()));
            }).find("operand 1 does not have enough dimensions (has 0"),
            std::string::npos);
  const Array p = Array::empty({2, 3, 4}, DType::f32, test_device()),
              q = Array::empty({3, 4, 5}, DType::f32, test_device());
  EXPECT_NE(thrown_text<ShapeError>([&] { matmul(p, q); }).find("could not be broadcast"),
            std::string::npos);
  const Array out = Array::empty({2, 4}, DType::f32, test_device());
  EXPECT_NE(thrown_text<ShapeError>([&] { matmul(a, a.transpose(), out); })
                .find("core dimension 1, with gufunc signature (n?,k),(k,m?)->(n?,m?) (size 4 is "
                      "different from 2)"),
            std::string::npos);
  const Array whole = Array::empty({2, 2}, DType::i64, test_device());
  EXPECT_NE(thrown_text<DTypeError>([&] { matmul(a, a.transpose(), whole); }).find("'same_kind'"),
            std::string::npos);
}

// Elements that are not stored count as zero, whatever they meet.
template <class T>
void check_stored(MatmulSpec::Stored stored, i64 diagonal, i64 m, i64 n, i64 k, double beta,
                  double special) {
  constexpr DType dtype = dtype_of<T>;
  auto va = random_values<T>(m * k, 4), vb = random_values<T>(k * n, 5);
  const auto vc = random_values<T>(m * n, 6);
  for (i64 j = 0; j < n; ++j) vb[static_cast<std::size_t>(k / 2 * n + j)] = T(special);
  const auto is_stored = [&](i64 i, i64 p) {
    return stored == MatmulSpec::Stored::upper ? p - i >= diagonal : p - i <= diagonal;
  };
  for (i64 i = 0; i < m; ++i)
    for (i64 p = 0; p < k; ++p)
      if (!is_stored(i, p)) va[static_cast<std::size_t>(i * k + p)] = T(0);
  for (const Lay lay : all_lays) {
    const Array a = laid_out<T>({m, k}, va, lay), b = laid_out<T>({k, n}, vb, lay),
                out = laid_out<T>({m, n}, vc, lay);
    const auto na = numbers_of(a), nb = numbers_of(b), before = numbers_of(out);
    const MatmulSpec spec{operand_of(a), operand_of(b), operand_of(out), false,   false,
                          {2, 0},        {beta, 0},     stored,          diagonal};
    launch_now(&KernelTable::matmul, "matmul", spec, out.device(), {&a, &b, &out});
    const auto got = numbers_of(out);
    for (std::size_t at = 0; at < got.size(); ++at) {
      const i64 i = static_cast<i64>(at) / n, j = static_cast<i64>(at) % n;
      Z want = beta * before[at];
      bool meets = false;
      for (i64 p = 0; p < k; ++p) {
        if (!is_stored(i, p)) continue;
        meets = meets || p == k / 2;
        want +=
            2.0 * na[static_cast<std::size_t>(i * k + p)] * nb[static_cast<std::size_t>(p * n + j)];
      }
      const std::string where =
          cat(name(dtype), " ", m, " x ", k, " x ", n, ", diagonal ", diagonal, ", element ", i,
              ", ", j, " of ", static_cast<int>(lay));
      if (meets && !std::isfinite(special))
        ASSERT_FALSE(std::isfinite(std::abs(got[at]))) << where;
      else
        ASSERT_TRUE(std::abs(got[at] - want) < 32 * epsilon_of(dtype) * (double(k) + 2)) << where;
    }
  }
}

TEST(Matmul, OfATriangleReadsWhatIsStored) {
  using Stored = MatmulSpec::Stored;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Size {
    i64 m, n, k;
  };
  for (const Stored stored : {Stored::upper, Stored::lower})
    for (const Size& s : {Size{1, 1, 1}, Size{40, 1, 33}, Size{33, 2, 70}, Size{130, 5, 61}})
      for (const i64 diagonal : {-s.m - 1, -s.m / 2, i64{0}, i64{1}, s.k / 2, s.k + 1})
        for (const double beta : {0.0, 1.0, -0.5})
          for (const double special : {0.5, infinity, std::nan("")}) {
            check_stored<float>(stored, diagonal, s.m, s.n, s.k, beta, special);
            check_stored<c128>(stored, diagonal, s.m, s.n, s.k, beta, special);
          }
}

}  // namespace
}  // namespace tessera
