// SPDX-License-Identifier: Apache-2.0
// Samples of matrices of every form as operators, with and without views; packed ones of more than
// one strip.
#include "samples.hpp"
#include "tessera/matrix/products/operator.hpp"

namespace tessera::laws {
namespace {

Array random_bits(const Shape& shape, Device d, std::uint64_t seed) {
  return ops::greater(random(shape, DType::f32, d, seed), 0.3);
}

Array half(i64 n, DType t, Device d, std::uint64_t seed) {
  return linalg::triangle(random({n, n}, t, d, seed), false);
}

void add_bits(std::vector<Sample>& all, Device d) {
  const AnyMatrix wide = AnyMatrix::bit(random_bits({5, 70}, d, 101)),
                  tall = AnyMatrix::bit(random_bits({66, 3}, d, 102));
  const AnyMatrix links =
      AnyMatrix::triangular_bit(linalg::triangle(random_bits({67, 67}, d, 103), false, 1));
  all.push_back({"bit", matrix_operator(wide, dims("CNX"), dims("CMX")), {2, 70, 3}});
  all.push_back({"bit turned and scaled",
                 matrix_operator(tall.transpose().scaled(Value(-1.5)), dims("...N"), dims("...M")),
                 {2, 66}});
  all.push_back({"triangular bit", matrix_operator(links, dims("NX"), dims("XM")), {67, 3}});
  all.push_back(
      {"triangular bit turned", matrix_operator(links.transpose(), dims("N"), dims("M")), {67}});
}

AnyMatrix declared(const Array& a, Property p) {
  AnyMatrix m = AnyMatrix::dense(a);
  m.properties().declare(p, true);
  return m;
}

// Full matrices of which something is said that is true.
void add_declared(std::vector<Sample>& all, DType t, Device d) {
  const Array a = random({37, 37}, t, d, 121), h = ops::conj(a).transpose();
  const Array even = ops::add(a, h), odd = ops::subtract(a, h);
  const Array turn = roll(eye(6, 6, 0, t, d), {2}, {0});
  const auto add = [&](const char* label, const AnyMatrix& m, std::string_view in,
                       std::string_view out, const Shape& input) {
    all.push_back({label, matrix_operator(m, dims(in), dims(out)), input});
  };
  add("said to be Hermitian", declared(even, Property::is_hermitian), "CN", "CM", {2, 37});
  add("said to be Hermitian, sides differ", declared(even, Property::is_hermitian), "XN", "MX",
      {2, 37});
  add("said to be skew", declared(odd, Property::is_skew_hermitian).scaled(Value(0.5)), "...N",
      "...M", {3, 37});
  add("said to be symmetric", declared(ops::add(a, a.transpose()), Property::is_symmetric), "N",
      "M", {37});
  add("said to be a permutation", declared(turn, Property::is_permutation), "NX", "MX", {6, 2});
  add("said to be lower", declared(half(37, t, d, 122), Property::is_upper_triangular).adjoint(),
      "N", "M", {37});
  add("said to be diagonal", declared(eye(5, 7, 0, t, d), Property::is_diagonal), "N", "M", {7});
  add("said to be zero", declared(zeros({5, 7}, t, d), Property::is_zero), "CN", "CM", {2, 7});
  add("said to be the identity", declared(eye(6, 6, 0, t, d), Property::is_identity), "N", "M",
      {6});
}

}  // namespace

std::vector<Sample> matrix_samples(DType t, Device d) {
  const auto whole = [&](i64 m, i64 n, std::uint64_t seed) {
    return AnyMatrix::dense(random({m, n}, t, d, seed));
  };
  const AnyMatrix upper = AnyMatrix::triangular(half(37, t, d, 111), false, false, false),
                  strict = AnyMatrix::triangular(half(35, t, d, 112), false, true, false),
                  even = AnyMatrix::symmetric(half(37, t, d, 113), false),
                  odd = AnyMatrix::antisymmetric(half(34, t, d, 114), false),
                  line = AnyMatrix::diagonal(random({5}, t, d, 115), 5, 7);
  std::vector<Sample> all;
  const auto add = [&](const char* label, const AnyMatrix& m, std::string_view in,
                       std::string_view out, const Shape& input) {
    all.push_back({label, matrix_operator(m, dims(in), dims(out)), input});
  };
  add("dense scaled", whole(5, 7, 116).scaled(Value(2.5)), "N", "M", {7});
  add("dense adjoint", whole(7, 4, 117).adjoint(), "...N", "...M", {2, 3, 7});
  add("upper", upper, "N", "M", {37});
  add("lower scaled", upper.transpose().scaled(Value(0.5)), "CN", "CM", {3, 37});
  add("strict conjugated", strict.conj(), "NX", "XM", {35, 2});
  add("symmetric", even, "CNX", "CMX", {2, 37, 3});
  add("symmetric adjoint", even.adjoint(), "...N", "...M", {2, 37});
  add("antisymmetric", odd, "N", "M", {34});
  add("antisymmetric turned", odd.transpose().scaled(Value(-3)), "XN", "MX", {2, 34});
  add("diagonal", line, "CN", "CM", {2, 7});
  add("diagonal adjoint", line.adjoint(), "N", "M", {5});
  add("identity", AnyMatrix::identity(6, 6, t, d), "N", "M", {6});
  add("identity tall", AnyMatrix::identity(6, 4, t, d).scaled(Value(2.0)), "NX", "MX", {4, 3});
  add_declared(all, t, d);
  if (size_of(t) > 2) add_bits(all, d);  // the kernel of bits knows float32 to complex128
  for (Sample& s : all) s.label = cat("Matrix of a form ", s.label);
  return all;
}

}  // namespace tessera::laws
