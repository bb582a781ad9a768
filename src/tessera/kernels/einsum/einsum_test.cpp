// SPDX-License-Identifier: Apache-2.0
// Subscripts of many forms against one loop over all labels.
#include "tessera/kernels/einsum/einsum.hpp"

#include <map>
#include <random>

#include "support/arrays.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

Array random_array(const Shape& shape, DType dtype, Lay lay, unsigned seed) {
  std::mt19937 engine(seed);
  Array x;
  dispatch<TESSERA_ALL_TYPES>(dtype, "test", [&]<class T>() {
    std::vector<T> v;
    for (i64 i = 0; i < count_of(shape); ++i) {
      const float a = static_cast<float>(engine() % 7) - 3,
                  b = static_cast<float>(engine() % 5) - 2;
      if constexpr (is_complex_v<T>)
        v.push_back(T(c64(a, b)));
      else if constexpr (std::is_same_v<T, bool>)
        v.push_back(a > 0);
      else if constexpr (std::is_unsigned_v<T>)
        v.push_back(static_cast<T>(a + 3));
      else
        v.push_back(T(a));
    }
    x = laid_out<T>(shape, v, lay);
  });
  return x;
}

// Explicit letters only: inputs, output, one loop over every assignment of the letters.
std::vector<Z> brute(const std::vector<std::string>& inputs, const std::string& output,
                     const std::vector<Array>& x) {
  std::map<char, i64> size, at;
  for (std::size_t t = 0; t < inputs.size(); ++t)
    for (std::size_t d = 0; d < inputs[t].size(); ++d)
      size[inputs[t][d]] = std::max(size[inputs[t][d]], x[t].shape(static_cast<i64>(d)));
  std::vector<std::vector<Z>> values;
  for (const Array& a : x) values.push_back(numbers_of(a));
  i64 total = 1, results = 1;
  for (auto [c, n] : size) total *= n;
  for (char c : output) results *= size[c];
  std::vector<Z> sum(static_cast<std::size_t>(results));
  for (i64 i = 0; i < total; ++i) {
    i64 rest = i;
    for (auto [c, n] : size) {
      at[c] = rest % n;
      rest /= n;
    }
    Z product = 1;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      i64 k = 0;
      for (std::size_t d = 0; d < inputs[t].size(); ++d) {
        const i64 n = x[t].shape(static_cast<i64>(d));
        k = k * n + (n == 1 ? 0 : at[inputs[t][d]]);
      }
      product *= values[t][static_cast<std::size_t>(k)];
    }
    i64 k = 0;
    for (char c : output) k = k * size[c] + at[c];
    sum[static_cast<std::size_t>(k)] += product;
  }
  return sum;
}

struct Case {
  std::vector<std::string> inputs;
  std::string output;
  std::vector<Shape> shapes;
};
const Case cases[] = {{{"ij", "jk"}, "ik", {{3, 4}, {4, 5}}},
                      {{"ij", "jk"}, "ki", {{3, 4}, {4, 5}}},
                      {{"bij", "bjk"}, "bik", {{2, 3, 4}, {2, 4, 5}}},
                      {{"ij", "kj"}, "", {{3, 4}, {5, 4}}},
                      {{"ii"}, "", {{4, 4}}},
                      {{"ii"}, "i", {{4, 4}}},
                      {{"iji"}, "j", {{3, 2, 3}}},
                      {{"ij"}, "ji", {{3, 4}}},
                      {{"ijk"}, "k", {{3, 4, 2}}},
                      {{"i", "j"}, "ij", {{3}, {4}}},
                      {{"i", "j"}, "ji", {{3}, {4}}},
                      {{"i", "i"}, "i", {{5}, {5}}},
                      {{"i", "i"}, "", {{5}, {5}}},
                      {{"ij", "ij"}, "i", {{3, 4}, {3, 4}}},
                      {{"cxy", "xy"}, "cxy", {{2, 3, 4}, {3, 4}}},
                      {{"abcd", "dcef"}, "bafe", {{2, 3, 2, 4}, {4, 2, 3, 2}}},
                      {{"abcd", "cdab"}, "", {{2, 3, 2, 4}, {2, 4, 2, 3}}},
                      {{"ij", "jk", "kl"}, "il", {{2, 3}, {3, 4}, {4, 5}}},
                      {{"ij", "jk", "ki"}, "", {{2, 3}, {3, 4}, {4, 2}}},
                      {{"i", "i", "i"}, "i", {{4}, {4}, {4}}},
                      {{"ai", "bi", "ci"}, "abc", {{2, 4}, {3, 4}, {2, 4}}},
                      {{"ij", "kl"}, "", {{2, 3}, {2, 2}}},
                      {{"ij", "jk"}, "ik", {{3, 1}, {4, 5}}},
                      {{"ij", "ij"}, "ij", {{1, 4}, {3, 1}}},
                      {{"ij", "jk"}, "ik", {{3, 0}, {0, 5}}},
                      {{"ij", "jk"}, "ik", {{0, 3}, {3, 5}}},
                      {{"bhqd", "bhkd"}, "bhqk", {{2, 2, 3, 5}, {2, 2, 4, 5}}},
                      {{"zii", "i", ""}, "z", {{2, 3, 3}, {3}, {}}}};

std::string joined(const Case& c) {
  std::string s = c.inputs[0];
  for (std::size_t i = 1; i < c.inputs.size(); ++i) s += "," + c.inputs[i];
  return s + "->" + c.output;
}

void check(const Case& c, DType dtype, Lay lay) {
  std::vector<Array> x;
  for (std::size_t i = 0; i < c.shapes.size(); ++i)
    x.push_back(random_array(c.shapes[i], dtype, lay, static_cast<unsigned>(i + 1)));
  const Array y = einsum(joined(c), x);
  const std::vector<Z> want = brute(c.inputs, c.output, x), got = numbers_of(y);
  ASSERT_EQ(y.dtype(), dtype) << joined(c);
  ASSERT_EQ(y.ndim(), static_cast<i64>(c.output.size())) << joined(c);
  ASSERT_EQ(got.size(), want.size()) << joined(c);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (dtype == DType::b1)
      ASSERT_EQ(got[i] != 0.0, want[i] != 0.0) << joined(c);
    else if (is_integer(dtype))
      ASSERT_EQ(static_cast<std::uint8_t>(static_cast<i64>(got[i].real())),
                static_cast<std::uint8_t>(static_cast<i64>(want[i].real())))
          << joined(c) << " " << name(dtype);
    else  // small whole numbers: exact unless the type is short of bits
      ASSERT_TRUE(std::abs(got[i] - want[i]) <= 8 * epsilon_of(dtype) * std::abs(want[i]) + 1e-12)
          << joined(c) << " " << name(dtype) << ": " << got[i] << " for " << want[i];
  }
}

TEST(Einsum, EveryFormAgainstOneLoop) {
  for (const Case& c : cases)
    for (Lay lay : all_lays)
      for (DType t : {DType::f32, DType::c128, DType::i64}) {
        check(c, t, lay);
        if (HasFatalFailure()) return;
      }
}

TEST(Einsum, EveryType) {
  for (DType t : {DType::b1, DType::i8, DType::u8, DType::i16, DType::i32, DType::u64, DType::f64,
                  DType::c64}) {
    check({{"ij", "jk"}, "ik", {{3, 4}, {4, 5}}}, t, Lay::exchanged);
    check({{"ijk"}, "j", {{2, 3, 2}}}, t, Lay::dense);
    check({{"i", "i"}, "i", {{4}, {4}}}, t, Lay::gaps);
    if (HasFatalFailure()) return;
  }
  const Array a = random_array({2, 3}, DType::i32, Lay::dense, 1),
              b = random_array({3}, DType::f32, Lay::dense, 2);
  EXPECT_EQ(einsum("ij,j", std::vector<Array>{a, b}).dtype(), DType::f64);
}

std::vector<Z> numbers(std::string_view text, const std::vector<Array>& x) {
  return numbers_of(einsum(text, x));
}

TEST(Einsum, ImplicitOutputSpacesAndEllipsis) {
  const Array a = random_array({2, 3, 4}, DType::f64, Lay::dense, 1),
              b = random_array({2, 4, 5}, DType::f64, Lay::dense, 2),
              m = random_array({3, 3}, DType::f64, Lay::dense, 3),
              c = random_array({4, 5}, DType::f64, Lay::dense, 4);
  const auto full = brute({"zij", "zjk"}, "zik", {a, b});
  EXPECT_EQ(numbers("...ij,...jk->...ik", {a, b}), full);
  EXPECT_EQ(numbers(" ...ij , ...jk ", {a, b}), full);
  EXPECT_EQ(numbers("...ij,jk", {a, c}), brute({"zij", "jk"}, "zik", {a, c}));
  EXPECT_EQ(numbers("ii", {m}), brute({"ii"}, "", {m}));
  EXPECT_EQ(numbers("ba", {m}), brute({"ba"}, "ab", {m}));
  EXPECT_EQ(numbers("ij,ji", {m, m}), brute({"ij", "ji"}, "", {m, m}));
  EXPECT_EQ(numbers("...->...", {m}), numbers_of(m));
  EXPECT_EQ(numbers("i...->...", {a}), brute({"ijk"}, "jk", {a}));
  const Array d = random_array({2, 1, 5}, DType::f64, Lay::dense, 5);
  EXPECT_EQ(einsum("...a,...b->...ab", std::vector<Array>{a, d}).shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(numbers("...a,...b->...ab", {a, d}), brute({"xya", "xyb"}, "xyab", {a, d}));
}

TEST(Einsum, OneOperandIsAView) {
  const Array m = random_array({3, 3}, DType::f32, Lay::dense, 1);
  EXPECT_EQ(einsum("ii->i", std::vector<Array>{m}).storage(), m.storage());
  EXPECT_EQ(einsum("ij->ji", std::vector<Array>{m}).storage(), m.storage());
}

TEST(Einsum, Errors) {
  const Array m = random_array({3, 4}, DType::f32, Lay::dense, 1);
  auto text = [&](std::string_view s, const std::vector<Array>& x) {
    return thrown_text<ArgumentError>([&] { einsum(s, x); });
  };
  auto says = [](const std::string& s, std::string_view part) {
    EXPECT_NE(s.find(part), std::string::npos) << s;
  };
  says(text("ij,jk->ik", {m}), "fewer operands");
  says(text("ij", {m, m}), "more operands");
  says(text("i1", {m}), "invalid subscript '1'");
  says(text("ijk", {m}), "too many subscripts for operand 0");
  says(text("i", {m}), "no '...' ellipsis");
  says(text("i.j", {m}), "not part of an ellipsis");
  says(text("......", {m}), "not part of an ellipsis");
  says(text("ij-ij", {m}), "proper '->'");
  says(text("ij->ii", {m}), "'i' multiple times");
  says(text("ij->k", {m}), "'k' which never appeared");
  says(text("...j->j", {m}), "must contain '...'");
  says(text("", {}), "no operands");
  says(thrown_text<ShapeError>([&] {
         einsum("ij,ij", std::vector<Array>{m, m.transpose()});
       }),
       "along 'i'");
  says(thrown_text<ShapeError>([&] { einsum("ii", std::vector<Array>{m}); }),
       "don't match (3 != 4)");
}

}  // namespace
}  // namespace tessera
