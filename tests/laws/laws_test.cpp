// SPDX-License-Identifier: Apache-2.0
// Every law, once, over every sample: dtypes × devices × operators. Laws say what must hold for any
// linear operator; nothing here knows a particular one.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "samples.hpp"
#include "support/support.hpp"
#include "tessera/device/memory.hpp"

namespace tessera::laws {
namespace {

struct Case {
  DType dtype;
  Device device;
  std::size_t index;
};

double epsilon(DType t) { return real_of(t) == DType::f64 ? 0x1p-52 : 0x1p-23; }
// Rounding of sums of up to `terms` products, with room for transforms.
double tolerance(DType t, i64 terms) {
  return epsilon(t) * (16 + 4 * std::sqrt(static_cast<double>(terms)));
}

double norm_of(const Array& x) {
  return norm(x.astype(promote(x.dtype(), DType::c128))).item().as<double>();
}
double difference(const Array& a, const Array& b) {
  const Array wide = ops::subtract(a.astype(DType::c128), b.astype(DType::c128));
  const double scale = norm_of(b);
  return norm_of(wide) / (scale > 0 ? scale : 1);
}
#define EXPECT_NEAR_ARRAY(a, b, tol) \
  EXPECT_FALSE(!(difference(a, b) < (tol))) << "difference " << difference(a, b)

// The same values in a permuted layout with gaps and a reversed axis.
Array awkward(const Array& x) {
  Shape wide;
  for (i64 i = x.ndim() - 1; i >= 0; --i) wide.push_back(2 * x.shape(i) + 1);
  const Array big = Array::empty(wide, x.dtype(), x.device());
  Array v = big.transpose();
  for (i64 i = 0; i < x.ndim(); ++i) {
    v = v.slice(i, 1, 2 * x.shape(i) + 1, 2);
    if (i % 2 == 0) v = v.view(v.layout().slice(i, x.shape(i) - 1, x.shape(i), -1));
  }
  v.copy_from(x);
  return v;
}

class Laws : public ::testing::TestWithParam<Case> {
 protected:
  Laws() : sample_(all_samples(GetParam().dtype, GetParam().device)[GetParam().index]) {}
  NamedLinop A() const { return sample_.op; }
  DType dtype() const { return GetParam().dtype; }
  Device device() const { return GetParam().device; }
  Array random_input(std::uint64_t seed) const {
    return Random(seed).normal(sample_.input, dtype(), device());
  }
  double tol() const {
    return tolerance(dtype(), count_of(sample_.input) + count_of(A().output_shape(sample_.input)));
  }
  Sample sample_;
};

TEST_P(Laws, DotTest) {
  for (std::uint64_t seed : {1u, 2u}) {
    const double error = check_adjoint(A(), sample_.input, dtype(), device(), seed);
    EXPECT_FALSE(!(error < tol())) << error;
  }
}

// The parts of a split, put together again, are the whole. Two tiles a dim, of unequal sizes.
std::vector<Tile> tiles_along(const Dims& dims, const std::vector<i64>& sizes) {
  std::vector<Tile> tiles{Tile{}};
  for (i64 i = 0; i < dims.size(); ++i) {
    const i64 n = sizes[static_cast<std::size_t>(i)], cut = n > 2 ? n - 1 : 1;
    std::vector<Tile> finer;
    for (const Tile& t : tiles)
      for (const auto& [start, stop] : {std::pair<i64, i64>(0, cut), std::pair(cut, n)}) {
        if (start == stop) continue;
        finer.push_back(t);
        finer.back().cuts.push_back({dims[i], start, stop});
      }
    tiles = std::move(finer);
  }
  return tiles;
}

void expect_parts_make_the_whole(const NamedLinop& A, const Array& x, const Dims& along,
                                 const std::vector<i64>& sizes, double tol) {
  const Array expected = A(x);
  const Array whole = ops::multiply(expected, Value(0));
  for (const Tile& tile : tiles_along(along, sizes)) {
    const NamedLinop part = A.split(tile);
    const Array piece = part(x.view(part_of(x.layout(), A.ishape(), tile)));
    const Array place = whole.view(part_of(whole.layout(), A.oshape(), tile));
    ASSERT_EQ(to_text(piece.shape()), to_text(place.shape())) << tile.str() << " of " << A.tree();
    place.copy_from(ops::add(place, piece));
  }
  EXPECT_FALSE(!(difference(whole, expected) < tol))
      << "along " << to_text(along) << ": " << difference(whole, expected) << "\n"
      << A.tree();
}

TEST_P(Laws, PartsMakeTheWhole) {
  for (const bool adjoint : {false, true}) {
    const NamedLinop a = adjoint ? A().H() : A();
    const Shape in = adjoint ? A().output_shape(sample_.input) : sample_.input;
    const DType t = adjoint ? A().output_dtype(dtype()) : dtype();
    const Array x = Random(12).normal(in, t, device());
    const Binding inputs = bind_dims("law", a.ishape(), in),
                  outputs = bind_dims("law", a.oshape(), a.output_shape(in));
    Dims dims;
    std::vector<i64> sizes;
    for (NamedDimension d : a.dims()) {
      std::optional<i64> n = a.size(d);
      if (!n) n = inputs.size(d);
      if (!n) n = outputs.size(d);
      if (d.is_wildcard() || !n || *n < 2) continue;
      dims.push_back(d);
      sizes.push_back(*n);
    }
    for (i64 i = 0; i < dims.size(); ++i)
      for (i64 j = i; j < dims.size(); ++j) {
        Dims along{dims[i]};
        std::vector<i64> lengths{sizes[static_cast<std::size_t>(i)]};
        if (j > i) {
          along.push_back(dims[j]);
          lengths.push_back(sizes[static_cast<std::size_t>(j)]);
        }
        bool refused = false;
        for (NamedDimension d : along) refused = refused || contains(sample_.unsplittable, d);
        if (!refused) {
          expect_parts_make_the_whole(a, x, along, lengths, 4 * tol());
          continue;
        }
        try {
          (void)a.split(tiles_along(along, lengths).front());
          ADD_FAILURE() << "cut along " << to_text(along) << ": " << a.tree();
        } catch (const SplitError& e) {
          EXPECT_NE(std::string(e.what()).find("dim '"), std::string::npos) << e.what();
        }
      }
  }
}

TEST_P(Laws, Linearity) {
  const Array x = random_input(3), y = random_input(4);
  const Array left = A()(ops::add(ops::multiply(x, 2.5), y)),
              right = ops::add(ops::multiply(A()(x), 2.5), A()(y));
  EXPECT_NEAR_ARRAY(left, right, tol());
}

TEST_P(Laws, AdjointTwiceIsTheOperator) {
  EXPECT_TRUE(A().H().H() == A());
  EXPECT_TRUE(A().H() == A().H());
  EXPECT_EQ(to_text(A().H().ishape()), to_text(A().oshape()));
}

TEST_P(Laws, NormalIsAdjointAfterOperator) {
  const Array x = random_input(5);
  const NamedLinop N = A().N();
  EXPECT_EQ(to_text(N.ishape()), to_text(A().ishape()));
  EXPECT_NEAR_ARRAY(N(x), A().H()(A()(x)), 4 * tol());
  EXPECT_NEAR_ARRAY(N.H()(x), N(x), 4 * tol());
}

TEST_P(Laws, DenseMatrixOfTheAdjointIsTheConjugateTranspose) {
  if (A().real_linear()) GTEST_SKIP() << "not a matrix over the complex numbers";
  const Array a = A().to_dense(sample_.input, dtype());
  const Array h = A().H().to_dense(A().output_shape(sample_.input), A().output_dtype(dtype()));
  EXPECT_NEAR_ARRAY(h, ops::conj(a).transpose(), tol());
}

// Every rule at once; rewrite_test.cpp takes them one by one.
TEST_P(Laws, RewritingChangesNothingButTheWork) {
  const Array x = random_input(13);
  const Array expected = A().N()(x), direct = A()(x);
  const Using plain(config().rewrite, false);
  const Using fresh(config().cache_adjoint_normal, false);
  EXPECT_NEAR_ARRAY(expected, A().N()(x), 4 * tol());
  EXPECT_NEAR_ARRAY(expected, A().H()(direct), 4 * tol());
}

TEST_P(Laws, RenamingKeepsTheMap) {
  const Array x = random_input(14);
  Renames r;
  for (NamedDimension d : A().dims())
    if (!d.is_wildcard()) r.emplace_back(d, NamedDimension("Renamed" + d.str()));
  const NamedLinop renamed = A().rename(r);
  EXPECT_EQ(to_text(renamed.ishape()), to_text(rename(A().ishape(), r)));
  EXPECT_EQ(to_text(renamed.oshape()), to_text(rename(A().oshape(), r)));
  EXPECT_NEAR_ARRAY(renamed(x), A()(x), tol());
  for (NamedDimension d : A().dims()) EXPECT_EQ(A().size(d), renamed.size(rename(Dims{d}, r)[0]));
}

TEST_P(Laws, InputsAreUntouched) {
  const Array x = random_input(6), before = x.copy();
  (void)A()(x);
  (void)A().N()(x);
  EXPECT_EQ(difference(x, before), 0);
}

TEST_P(Laws, AnyStridesInAndOut) {
  const Array x = random_input(7), expected = A()(x);
  EXPECT_NEAR_ARRAY(A()(awkward(x)), expected, tol());
  const Array out = awkward(Array::empty(expected.shape(), expected.dtype(), device()));
  A()(awkward(x), out);
  EXPECT_NEAR_ARRAY(out, expected, tol());
}

TEST_P(Laws, EagerPlannedAndCapturedAgree) {
  const Array x = random_input(8).contiguous(), y = random_input(9).contiguous(), expected = A()(x);
  const Plan plan = A().plan({.shape = sample_.input, .dtype = dtype(), .device = device()});
  tessera::Run run = plan.instance();
  auto dense = [&](const Array& like) {
    return Array(Storage::allocate(device(), like.bytes()), Layout::contiguous(like.shape()),
                 like.dtype());
  };
  const Array planned = dense(expected), captured = dense(expected), other = dense(expected);
  run(x, planned);
  run.capture();
  run(x, captured);
  run(y, other);
  run(x, captured);
  EXPECT_EQ(difference(planned, captured), 0);
  EXPECT_NEAR_ARRAY(planned, expected, tol());
  EXPECT_NEAR_ARRAY(other, A()(y), tol());
}

TEST_P(Laws, WorkspaceIsWhatARunAllocates) {
  const Plan plan = A().plan({.shape = sample_.input, .dtype = dtype(), .device = device()});
  Stream::home(device()).sync();
  const i64 before = memory_stats(device()).in_use;
  const tessera::Run run = plan.instance();
  EXPECT_EQ(memory_stats(device()).in_use - before, plan.workspace(device()));
}

TEST_P(Laws, TwoThreadsAtOnce) {
  const Array x = random_input(10), y = random_input(11), ax = A()(x), ay = A()(y);
  auto repeat = [&](const Array& in, const Array& expected, double& worst) {
    for (int i = 0; i < 5; ++i) worst = std::max(worst, difference(A()(in), expected));
  };
  double a = 0, b = 0;
  std::thread other([&] { repeat(y, ay, b); });
  repeat(x, ax, a);
  other.join();
  EXPECT_FALSE(!(a < tol() && b < tol())) << a << " " << b;
}

TEST_P(Laws, WrongInputsAreRefusedBySentence) {
  Shape more = sample_.input;
  more.insert(0, 2);
  more.insert(0, 2);
  if (!has_ellipses(A().ishape())) {
    try {
      (void)A()(Array::empty(more, dtype(), device()));
      ADD_FAILURE() << "accepted a wrong rank";
    } catch (const DimError& e) {
      EXPECT_NE(std::string(e.what()).find(std::string(A().kind())), std::string::npos) << e.what();
    }
  }
  for (NamedDimension d : A().ishape()) {
    const auto n = A().size(d);
    if (!n) continue;
    Shape wrong = sample_.input;
    wrong[*axis_of(A().ishape(), d, wrong.size())] += 1;
    EXPECT_THROW((void)A()(Array::empty(wrong, dtype(), device())), DimError);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  std::vector<Device> devices{test_device()};
  if (test_device() == cpu) devices.push_back(Device::parse("sim:0"));
  for (Device d : devices)
    for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
      if (d != test_device() && t != DType::c64) continue;
      const std::size_t n = all_samples(t, cpu).size();
      for (std::size_t i = 0; i < n; ++i) all.push_back({t, d, i});
    }
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string text = cat(all_samples(info.param.dtype, cpu)[info.param.index].label, "_",
                         name(info.param.dtype), "_", info.param.device);
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, Laws, ::testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace tessera::laws
