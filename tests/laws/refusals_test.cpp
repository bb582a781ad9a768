// SPDX-License-Identifier: Apache-2.0
// Every operator with wrong shapes, names and ranges: made at all, it is refused by a sentence that
// starts with the operator and tells which dim or number is wrong. Nothing is applied here.
#include <gtest/gtest.h>

#include <limits>

#include "samples.hpp"
#include "support/arrays.hpp"
#include "support/text.hpp"
#include "tessera/linop/ops/moves/window.hpp"

namespace tessera::laws {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinite = std::numeric_limits<double>::infinity();

Array full_of_ones(const Shape& s) { return ones(s, DType::f64, cpu); }
Array numbers(const Shape& s, const std::vector<double>& v) { return laid_out<double>(s, v); }
Array indices(const std::vector<i64>& v) { return laid_out<i64>({static_cast<i64>(v.size())}, v); }
NamedLinop small_dense() { return Dense(full_of_ones({3, 2}), dims("MN"), dims("N"), dims("M")); }
Array same(const Array& x) { return x; }

}  // namespace

template <>
std::vector<Refusal> refusals<Identity>() {
  return {{[] { Identity(dims("AA")); }, "'A' appears twice in (A, A)"},
          {[] { Identity(dims("......")); }, "'...' appears twice"},
          {[] { Identity(dims("AB"), dims("CC")); }, "'C' appears twice"},
          {[] { Identity(dims("AB"), dims("A")); }, "(A, B) -> (A,)"},
          {[] { Identity(dims("AB"), dims("BA")); }, "'A' would name another axis"}};
}

template <>
std::vector<Refusal> refusals<Scalar>() {
  return {{[] { Scalar(2.0, dims("AA")); }, "'A' appears twice in (A, A)"},
          {[] { Scalar(2.0, dims("......")); }, "'...' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Diagonal>() {
  return {{[] {
             Diagonal(full_of_ones({3, 2}), dims("A"));
           },
           "(A,): the weight has shape (3, 2)"},
          {[] { Diagonal(full_of_ones({2}), dims("AA")); }, "'A' appears twice"},
          {[] { Diagonal(full_of_ones({2}), dims("A"), dims("Q")); }, "broadcast dim 'Q'"},
          {[] { Diagonal(full_of_ones({2}), dims("A"), dims("AA")); }, "'A' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Dense>() {
  return {{[] { Dense{full_of_ones({3})}; }, "two axes or more, got shape (3,)"},
          {[] {
             Dense(full_of_ones({3, 2}), dims("M"), dims("N"), dims("M"));
           },
           "weight has shape (3, 2)"},
          {[] {
             Dense(full_of_ones({3, 2}), dims("MN"), dims("N"), dims("P"));
           },
           "'M' of the weight"},
          {[] {
             Dense(full_of_ones({3, 2}), dims("MN"), dims("NB"), dims("M"));
           },
           "'B' is in neither"},
          {[] {
             Dense(full_of_ones({3, 2}), dims("MN"), dims("NN"), dims("M"));
           },
           "'N' appears twice"},
          {[] {
             Dense(full_of_ones({3, 2}), dims("MN"), dims("N"), dims("M"), dims("Q"));
           },
           "'Q'"}};
}

template <>
std::vector<Refusal> refusals<Zero>() {
  return {{[] { Zero(dims("NN"), dims("P")); }, "'N' appears twice"},
          {[] {
             Zero(dims("N"), dims("P"), {{"Q", 3}});
           },
           "'Q', which is not one of"},
          {[] {
             Zero(dims("N"), dims("P"), {{"P", 2}, {"P", 3}});
           },
           "'P' is given two"},
          {[] {
             Zero(dims("N"), dims("P"), {{"P", -1}});
           },
           "size -1 of dim 'P' is negative"}};
}

template <>
std::vector<Refusal> refusals<ShapeSpec>() {
  return {{[] { ShapeSpec(dims("AA"), dims("BC")); }, "'A' appears twice"},
          {[] { ShapeSpec(dims("AB"), dims("C")); }, "different numbers of dims"},
          {[] { ShapeSpec(dims("AB"), dims("BA")); }, "'A' would name another axis"}};
}

template <>
std::vector<Refusal> refusals<SumReduce>() {
  return {{[] { SumReduce(dims("AB"), dims("AB")); }, "must have fewer dims"},
          {[] { SumReduce(dims("AB"), dims("C")); }, "'C' is not among (A, B)"},
          {[] { SumReduce(dims("AAB"), dims("A")); }, "'A' appears twice"},
          {[] {
             SumReduce(dims("AB"), dims("A"), {{"B", -3}});
           },
           "size -3 of dim"}};
}

template <>
std::vector<Refusal> refusals<Repeat>() {
  return {{[] { Repeat({}, dims("A"), dims("AB")); }, "how often along dim 'B'"},
          {[] {
             Repeat({{"B", -2}}, dims("A"), dims("AB"));
           },
           "size -2 of dim 'B'"}};
}

// An aggregate, of SumReduce alone.
template <>
std::vector<Refusal> refusals<SumSpread>() {
  return {};
}

template <>
std::vector<Refusal> refusals<Kronecker>() {
  return {{[] { Kronecker({}); }, "no factors"},
          {[] {
             Kronecker({small_dense(), small_dense()});
           },
           "share the dim 'N'"},
          {[] { Kronecker({Identity()}); }, "no dim of its own"}};
}

template <>
std::vector<Refusal> refusals<Matrix>() {
  return {{[] { Matrix(full_of_ones({3}), dims("N"), dims("M")); },
           "(N,) -> (M,): the matrix has shape (3,)"},
          {[] {
             Matrix(full_of_ones({3, 2}), dims("N"), dims("N"));
           },
           "(N,) needs one dim"}};
}

template <>
std::vector<Refusal> refusals<SimpleLinop>() {
  return {{[] { SimpleLinop(same, {}); }, "adjoint must both be given"},
          {[] { SimpleLinop(same, same, {}, dims("NN")); }, "'N' appears twice"},
          {[] {
             SimpleLinop(same, same, {}, dims("N"), {}, "", {{"Q", 2}});
           },
           "'Q', which is not"}};
}

template <>
std::vector<Refusal> refusals<Sleep>() {
  return {{[] { Sleep(0.1, dims("AA")); }, "'A' appears twice"},
          {[] { Sleep(0.1, dims("AB"), dims("C")); }, "different numbers of dims"},
          {[] { Sleep(-1, dims("A")); }, "(A,): a duration of -1"},
          {[] { Sleep{not_a_number}; }, "nan"}};
}

template <>
std::vector<Refusal> refusals<Sparse>() {
  return {{[] {
             Sparse(csr_from_dense(full_of_ones({3, 2})), dims("NK"), dims("M"));
           },
           "(N, K) of sizes ()"},
          {[] {
             Sparse(csr_from_dense(full_of_ones({3, 2})), dims("N"), dims("N"));
           },
           "'N' appears twice"},
          {[] {
             Sparse(csr_from_dense(full_of_ones({3, 2})), dims("..."), dims("M"));
           },
           "without '...'"}};
}

template <>
std::vector<Refusal> refusals<FFT>() {
  return {{[] { FFT(0); }, "0 dims"},
          {[] { FFT(4); }, "4 dims have no default names"},
          {[] { FFT(1, dims("Nx")); }, "'Nx' appears twice"},
          {[] {
             FFT(2, {}, FFT::Grids{dims("A"), dims("B")});
           },
           "(A,) and (B,)"},
          {[] {
             FFT(1, {}, FFT::Grids{dims("A"), dims("A")});
           },
           "'A' is in both grids"},
          {[] { FFT(1, {}, {}, Norm::ortho, false, -1); }, "real=-1"}};
}

template <>
std::vector<Refusal> refusals<FiniteDifference>() {
  return {{[] { FiniteDifference("Q", dims("N")); }, "'Q' is not a dim of the input (N,)"},
          {[] { FiniteDifference("N", dims("NN")); }, "'N' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Gradient>() {
  return {{[] { Gradient({}, dims("N")); }, "(N,): no dims"},
          {[] { Gradient(dims("Q"), dims("N")); }, "'Q' is not a dim"},
          {[] { Gradient(dims("N"), dims("N"), dims("NX")); }, "another dim already"}};
}

template <>
std::vector<Refusal> refusals<Toeplitz>() {
  return {{[] {
             Toeplitz(full_of_ones({3, 2}), {}, "N", dims("N"));
           },
           "column has shape (3, 2)"},
          {[] { Toeplitz(full_of_ones({3}), full_of_ones({0}), "N", dims("N")); },
           "row has shape (0,)"},
          {[] { Toeplitz(full_of_ones({3}), {}, "Q", dims("N")); }, "'Q' is not a dim"}};
}

template <>
std::vector<Refusal> refusals<Convolution>() {
  return {
      {[] { Convolution(full_of_ones({})); }, "kernel of shape ()"},
      {[] { Convolution(full_of_ones({0})); }, "kernel of shape (0,)"},
      {[] { Convolution(full_of_ones({3}), {}, dims("XY")); },
       "needs 1 names for its grid, got (X, Y)"},
      {[] { Convolution(full_of_ones({3}), dims("......")); }, "'...' appears twice"},
      {[] { Convolution(full_of_ones({3}), {}, dims("X"), dims("X")); }, "'X' appears twice"},
      {[] { Convolution(full_of_ones({3}), {}, {}, {}, Boundary::zeros, ConvolutionNormal::fft); },
       "needs padding_mode 'circular'"}};
}

template <>
std::vector<Refusal> refusals<FFTConvolution>() {
  return {{[] {
             FFTConvolution(full_of_ones({2, 2, 2, 2}));
           },
           "4 axes"},
          {[] { FFTConvolution(full_of_ones({3}), dims("XX")); }, "'X' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Wavelet>() {
  return {{[] { Wavelet(dims("X"), "other"); }, "no wavelet 'other'"},
          {[] { Wavelet(dims("X"), "db4", -1); }, "(X,): level -1"},
          {[] { Wavelet({}); }, "at least one name"},
          {[] { Wavelet(dims("X"), "db4", {}, dims("X")); }, "'X' appears twice"},
          {[] { Wavelet(dims("X"), "db4", {}, dims("......")); }, "'...' appears"}};
}

template <>
std::vector<Refusal> refusals<NUFFT>() {
  const Array at = full_of_ones({5, 1});
  const Dims rest{NamedDimension::ellipses()};
  NufftOptions thin, wide, coarse;
  thin.width = 0;
  wide.width = 100;
  coarse.oversamp = not_a_number;
  return {
      {[=] {
         NUFFT(at, {8, 8});
       },
       "locations of shape (5, 1) for an image of shape (8, 8)"},
      {[=] {
         NUFFT(numbers({1, 1}, {not_a_number}), {8});
       },
       "(..., Nx) -> (..., K): location 0 is nan along axis 0"},
      {[=] {
         NufftOptions placed;
         placed.do_prep_locs = false;
         NUFFT(numbers({1, 1}, {infinite}), {8}, {}, {}, {}, rest, placed);
       },
       "(..., Nx) -> (..., K): location 0 is inf along axis 0"},
      {[=] { NUFFT(at, {8}, {}, {}, {}, rest, thin); }, "width 0 is too narrow"},
      {[=] { NUFFT(at, {8}, {}, {}, {}, rest, wide); }, "width 100 is larger than 62 points"},
      {[=] { NUFFT(at, {8}, {}, {}, {}, rest, coarse); }, "oversamp nan"},
      {[=] { NUFFT(at, {0}); }, "image of shape (0,)"},
      {[=] { NUFFT(at, {8}, dims("X"), dims("X")); }, "'X' appears twice in (...,), (X,) and (X,)"},
      {[=] { NUFFT(at, {8}, {}, {}, {}, dims("......")); }, "'...' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Pad>() {
  return {{[] {
             Pad({20, 20}, {10});
           },
           "(10,) and (20, 20)"},
          {[] { Pad({5}, {10}); }, "(Nx,) -> (Nx1,): an image of (10,) does not fit"},
          {[] { Pad({5}, {-1}); }, "(-1,) does not fit"},
          {[] { Pad({20}, {10}, dims("X"), dims("Y"), dims("X")); }, "'X' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Crop>() {
  return {{[] { Crop({20}, {10}); }, "(Nx,) -> (Nx1,): an image of (20,) does not fit"},
          {[] { Crop({5}, {10}, dims("X"), dims("XY")); }, "(X,) and (X, Y)"}};
}

template <>
std::vector<Refusal> refusals<Truncate>() {
  return {{[] { Truncate(0, 5, 6, dims("N")); }, "(N,): lengths 6 and 5"},
          {[] { Truncate(2, 5, 3, dims("N")); }, "position 2"},
          {[] { Truncate("Q", 5, 3, dims("N")); }, "'Q' is not a dim"},
          {[] { Truncate(0, 5, 3, dims("NN")); }, "'N' appears twice"}};
}

template <>
std::vector<Refusal> refusals<PadDim>() {
  return {{[] { PadDim(0, 6, 5, dims("N")); }, "(N,): lengths 6 and 5"},
          {[] { PadDim(-2, 3, 5, dims("N")); }, "position -2"}};
}

template <>
std::vector<Refusal> refusals<Rearrange>() {
  return {{[] { Rearrange("(a b", "a b", dims("N"), dims("AB")); }, "unmatched"},
          {[] { Rearrange("a b", "a", dims("AB"), dims("A")); }, "'b' is on one side"},
          {[] { Rearrange("a b", "b a", dims("AA"), dims("BC")); }, "'A' appears twice"},
          {[] { Rearrange("a b", "b a", dims("AB"), dims("AB")); }, "'A' is on both sides"}};
}

template <>
std::vector<Refusal> refusals<Permute>() {
  return {{[] { Permute(dims("AA"), dims("AA")); }, "'A' appears twice"},
          {[] { Permute(dims("AB"), dims("AC")); }, "'C' is not one of"},
          {[] { Permute(dims("AB"), dims("A")); }, "different numbers"}};
}

template <>
std::vector<Refusal> refusals<Flip>() {
  return {{[] { Flip(dims("Q"), dims("N")); }, "'Q' is not a dim"},
          {[] { Flip(dims("NN"), dims("N")); }, "'N' appears twice"},
          {[] { Flip(dims("N"), dims("N"), dims("AB")); }, "(N,) and output (A, B)"}};
}

template <>
std::vector<Refusal> refusals<Roll>() {
  return {{[] {
             Roll({{"Q", 1}}, dims("N"));
           },
           "'Q' is not a dim"},
          {[] {
             Roll({{"N", 1}, {"N", 2}}, dims("N"));
           },
           "'N' appears twice"}};
}

template <>
std::vector<Refusal> refusals<ArrayToBlocks>() {
  return {{[] { ArrayToBlocks({3}, {5}); },
           "between (Nx,) and (Bx, Nx1): the block (5,) is larger than the grid (3,)"},
          {[] {
             ArrayToBlocks({3, 3}, {2});
           },
           "(3, 3), the block (2,)"},
          {[] { ArrayToBlocks({5}, {2}, {0}); }, "must be positive"},
          {[] { ArrayToBlocks({5}, {0}); }, "must be positive"},
          {[] { ArrayToBlocks({5}, {2}, {1}, full_of_ones({2})); }, "float64, expected bool"},
          {[] { ArrayToBlocks({5}, {2}, {1}, {}, dims("......")); }, "'...' appears twice"},
          {[] { ArrayToBlocks({5}, {2}, {1}, {}, dims("X"), dims("X"), dims("BC")); },
           "'X' appears twice in (X,), (X,) and (B, C)"}};
}

template <>
std::vector<Refusal> refusals<BlocksToArray>() {
  return {{[] { BlocksToArray({5}, {7}); }, "(7,) is larger than the grid (5,)"}};
}

template <>
std::vector<Refusal> refusals<ToDevice>() {
  return {{[] { ToDevice(cpu, cpu, dims("AA")); }, "'A' appears twice in (A, A)"},
          {[] { ToDevice(cpu, "sim:99", dims("A")); }, "(A,): there is no device sim:99"},
          {[] { ToDevice("sim:99", cpu); }, "there is no device sim:99"}};
}

template <>
std::vector<Refusal> refusals<Interpolate>() {
  const Array at = full_of_ones({5, 1});
  const Dims rest{NamedDimension::ellipses()};
  return {{[=] {
             Interpolate(at, {8, 8});
           },
           "(..., Nx, Ny) -> (..., K): locations of shape (5, 1)"},
          {[=] {
             Interpolate(numbers({1, 1}, {not_a_number}), {8});
           },
           "(..., Nx) -> (..., K): location 0 is nan along axis 0"},
          {[=] {
             Interpolate(numbers({1, 1}, {infinite}), {8});
           },
           "location 0 is inf"},
          {[=] { Interpolate(at, {3}); },
           "a kernel of width 4 is larger than the grid along dim 'Nx', which has 3 points"},
          {[=] {
             Interpolate(full_of_ones({5, 2}), {8, 8}, rest, {}, {}, {.width = {8.0, 8.5}});
           },
           "width 8.5 is larger than the grid along dim 'Ny'"},
          {[=] { Interpolate(at, {8}, rest, {}, {}, {.width = {8.5}, .circular = false}); },
           "width 8.5 is larger than the grid"},
          {[=] { Interpolate(at, {0}); }, "holds no point"},
          {[=] { Interpolate(full_of_ones({}), {8}); }, "locations of shape ()"},
          {[=] {
             Interpolate(full_of_ones({5, 4}), {2, 2, 2, 2});
           },
           "expected one to three axes"},
          {[=] { Interpolate(at, {8}, {}, dims("PQ")); }, "(P, Q); expected 1"},
          {[=] { Interpolate(at, {8}, {}, dims("X"), dims("X")); }, "'X' appears twice"},
          {[=] { Interpolate(at, {8}, dims("......")); }, "'...' appears twice"}};
}

template <>
std::vector<Refusal> refusals<Sampling>() {
  return {{[] { Sampling({indices({8})}, {8}); },
           "(..., Nx) -> (..., K): index 8 is out of range for dim 'Nx'"},
          {[] {
             Sampling({indices({0}), indices({-1})}, {4, 4}, dims("K"), dims("XY"));
           },
           "index -1 is out of range for dim 'Y'"},
          {[] {
             (void)Sampling::from_positions(indices({16}), {4, 4});
           },
           "position 16 is outside"},
          {[] { Sampling({full_of_ones({1})}, {8}); }, "float64; expected integers"},
          {[] { Sampling({}, {}); }, "holds no point"},
          {[] { Sampling({indices({1})}, {8}, dims("AB")); }, "have the names (A, B)"},
          {[] { Sampling({indices({1})}, {8}, dims("X"), dims("X")); }, "'X' appears twice"}};
}

namespace {

using Refusals = std::vector<std::pair<std::string, std::vector<Refusal>>>;

void add_containers(Refusals& all) {
  const NamedLinop a = small_dense(),
                   other = Dense(full_of_ones({4, 2}), dims("MN"), dims("N"), dims("M"));
  all.push_back({"Window",
                 {{[] { Window(dims("XX"), {}); }, "'X' appears twice"},
                  {[] {
                     Window(dims("X"), {{"Y", 0, 1, 2}});
                   },
                   "dim 'Y'"},
                  {[] {
                     Window(dims("X"), {{"X", 0, 3, 2}});
                   },
                   "0:3 of dim 'X'"}}});
  all.push_back({"Chain",
                 {{[] { (void)chain({}); }, "no operators"},
                  {[=] {
                     (void)chain({a, a});
                   },
                   "expects (N,), got (M,)"},
                  {[=] {
                     (void)chain({a, Diagonal(full_of_ones({4}), dims("M"))});
                   },
                   "dim 'M' is 3"}}});
  all.push_back({"Add",
                 {{[] { (void)sum({}); }, "no operators"},
                  {[=] {
                     (void)sum({a, other});
                   },
                   "dim 'M' is 3 in one part and 4"}}});
  all.push_back({"Concat",
                 {{[] { (void)concat({}, {}); }, "no operators"},
                  {[=] {
                     (void)concat({a, a}, {});
                   },
                   "idim and odim"},
                  {[=] {
                     (void)concat({a, a}, {.idim = "M"});
                   },
                   "'M' is not one of (N,)"}}});
  all.push_back({"Stack",
                 {{[] { (void)stack({}, {}, StackDim{"Q"}); }, "no operators"},
                  {[=] {
                     (void)stack({a, a}, {}, StackDim{"M"});
                   },
                   "'M' is already one of (M,)"},
                  {[=] {
                     (void)stack({a, a}, {}, StackDim{"Q", 7});
                   },
                   "index 7 for dim 'Q'"},
                  {[=] {
                     (void)stack({a, a}, {}, StackDim{"..."});
                   },
                   "'...' cannot name a dim"}}});
}

Refusals all_refusals() {
  Refusals all;
#define OPERATOR(Type) all.push_back({Type::kind, refusals<Type>()});
#include "tessera/linop/ops.def"
#undef OPERATOR
  add_containers(all);
  return all;
}

TEST(BadInput, IsRefusedWhenTheOperatorIsMade) {
  for (const auto& [kind, wrong] : all_refusals())
    for (const Refusal& r : wrong) {
      SCOPED_TRACE(cat(kind, ", expecting: ", r.says));
      const std::string text = thrown_text<Error>(r.make);
      EXPECT_TRUE(text.starts_with(kind)) << text;
      EXPECT_TRUE(has(text, r.says)) << text;
    }
}

}  // namespace
}  // namespace tessera::laws
