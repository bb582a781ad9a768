// SPDX-License-Identifier: Apache-2.0
// Every operator with wrong shapes, names and ranges: made at all, it is refused by a sentence that
// starts with the operator and tells which dim or number is wrong. Nothing is applied here.
#include <limits>
#include <map>
#include <set>

#include "support/arrays.hpp"
#include "support/text.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/kronecker.hpp"
#include "tessera/linop/ops/basic/matrix.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/basic/shape_spec.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/linop/ops/basic/sleep.hpp"
#include "tessera/linop/ops/basic/sparse.hpp"
#include "tessera/linop/ops/basic/sum_reduce.hpp"
#include "tessera/linop/ops/basic/zero.hpp"
#include "tessera/linop/ops/moves/array_to_blocks.hpp"
#include "tessera/linop/ops/moves/flip.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/moves/permute.hpp"
#include "tessera/linop/ops/moves/rearrange.hpp"
#include "tessera/linop/ops/moves/roll.hpp"
#include "tessera/linop/ops/moves/truncate.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"
#include "tessera/linop/ops/sampling/sampling.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/ops/transforms/convolution.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/linop/ops/transforms/fft_convolution.hpp"
#include "tessera/linop/ops/transforms/finite_difference.hpp"
#include "tessera/linop/ops/transforms/gradient.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"
#include "tessera/linop/ops/transforms/toeplitz.hpp"
#include "tessera/linop/ops/transforms/wavelet.hpp"

namespace tessera {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinite = std::numeric_limits<double>::infinity();

struct Refusal {
  std::function<void()> make;
  std::string says;  // part of the sentence
};
using Refusals = std::map<std::string, std::vector<Refusal>>;

Array ones(const Shape& s) {
  const Array a = empty_dense(s, DType::f64);
  a.fill(Value(1));
  return a;
}
Array numbers(const Shape& s, const std::vector<double>& v) { return laid_out<double>(s, v); }
Array indices(const std::vector<i64>& v) { return laid_out<i64>({static_cast<i64>(v.size())}, v); }
NamedLinop small_dense() { return Dense(ones({3, 2}), dims("MN"), dims("N"), dims("M")); }
Array same(const Array& x) { return x; }

void add_names(Refusals& all) {
  all["Identity"] = {{[] { Identity(dims("AA")); }, "'A' appears twice in (A, A)"},
                     {[] { Identity(dims("......")); }, "'...' appears twice"},
                     {[] { Identity(dims("AB"), dims("CC")); }, "'C' appears twice"},
                     {[] { Identity(dims("AB"), dims("A")); }, "(A, B) -> (A,)"},
                     {[] { Identity(dims("AB"), dims("BA")); }, "'A' would name another axis"}};
  all["Scalar"] = {{[] { Scalar(2.0, dims("AA")); }, "'A' appears twice in (A, A)"},
                   {[] { Scalar(2.0, dims("......")); }, "'...' appears twice"}};
  all["ShapeSpec"] = {{[] { ShapeSpec(dims("AA"), dims("BC")); }, "'A' appears twice"},
                      {[] { ShapeSpec(dims("AB"), dims("C")); }, "different numbers of dims"},
                      {[] { ShapeSpec(dims("AB"), dims("BA")); }, "'A' would name another axis"}};
  all["Sleep"] = {{[] { Sleep(0.1, dims("AA")); }, "'A' appears twice"},
                  {[] { Sleep(0.1, dims("AB"), dims("C")); }, "different numbers of dims"},
                  {[] { Sleep(-1, dims("A")); }, "(A,): a duration of -1"},
                  {[] { Sleep{nan}; }, "nan"}};
  all["ToDevice"] = {
      {[] { ToDevice(cpu, cpu, dims("AA")); }, "'A' appears twice in (A, A)"},
      {[] { ToDevice(cpu, "sim:99", dims("A")); }, "(A,): there is no device sim:99"},
      {[] { ToDevice("sim:99", cpu); }, "there is no device sim:99"}};
  all["Window"] = {{[] { Window(dims("XX"), {}); }, "'X' appears twice"},
                   {[] {
                      Window(dims("X"), {{"Y", 0, 1, 2}});
                    },
                    "dim 'Y'"},
                   {[] {
                      Window(dims("X"), {{"X", 0, 3, 2}});
                    },
                    "0:3 of dim 'X'"}};
  all["Zero"] = {{[] { Zero(dims("NN"), dims("P")); }, "'N' appears twice"},
                 {[] {
                    Zero(dims("N"), dims("P"), {{"Q", 3}});
                  },
                  "'Q', which is not one of"},
                 {[] {
                    Zero(dims("N"), dims("P"), {{"P", 2}, {"P", 3}});
                  },
                  "'P' is given two"},
                 {[] {
                    Zero(dims("N"), dims("P"), {{"P", 0}});
                  },
                  "'P' has size 0"}};
  all["Permute"] = {{[] { Permute(dims("AA"), dims("AA")); }, "'A' appears twice"},
                    {[] { Permute(dims("AB"), dims("AC")); }, "'C' is not one of"},
                    {[] { Permute(dims("AB"), dims("A")); }, "different numbers"}};
  all["SimpleLinop"] = {{[] { SimpleLinop(same, {}); }, "adjoint must both be given"},
                        {[] { SimpleLinop(same, same, {}, dims("NN")); }, "'N' appears twice"},
                        {[] {
                           SimpleLinop(same, same, {}, dims("N"), {}, "", {{"Q", 2}});
                         },
                         "'Q', which is not"}};
}

void add_moves(Refusals& all) {
  all["Pad"] = {{[] {
                   Pad({20, 20}, {10});
                 },
                 "(10,) and (20, 20)"},
                {[] { Pad({5}, {10}); }, "(Nx,) -> (Nx1,): an image of (10,) does not fit"},
                {[] { Pad({5}, {-1}); }, "(-1,) does not fit"},
                {[] { Pad({20}, {10}, dims("X"), dims("Y"), dims("X")); }, "'X' appears twice"}};
  all["Crop"] = {{[] { Crop({20}, {10}); }, "(Nx,) -> (Nx1,): an image of (20,) does not fit"},
                 {[] { Crop({5}, {10}, dims("X"), dims("XY")); }, "(X,) and (X, Y)"}};
  all["Truncate"] = {{[] { Truncate(0, 5, 6, dims("N")); }, "(N,): lengths 6 and 5"},
                     {[] { Truncate(2, 5, 3, dims("N")); }, "position 2"},
                     {[] { Truncate("Q", 5, 3, dims("N")); }, "'Q' is not a dim"},
                     {[] { Truncate(0, 5, 3, dims("NN")); }, "'N' appears twice"}};
  all["PadDim"] = {{[] { PadDim(0, 6, 5, dims("N")); }, "(N,): lengths 6 and 5"},
                   {[] { PadDim(-2, 3, 5, dims("N")); }, "position -2"}};
  all["Rearrange"] = {
      {[] { Rearrange("(a b", "a b", dims("N"), dims("AB")); }, "unmatched"},
      {[] { Rearrange("a b", "a", dims("AB"), dims("A")); }, "'b' is on one side"},
      {[] { Rearrange("a b", "b a", dims("AA"), dims("BC")); }, "'A' appears twice"},
      {[] { Rearrange("a b", "b a", dims("AB"), dims("AB")); }, "'A' is on both sides"}};
  all["SumReduce"] = {{[] { SumReduce(dims("AB"), dims("AB")); }, "must have fewer dims"},
                      {[] { SumReduce(dims("AB"), dims("C")); }, "'C' is not among (A, B)"},
                      {[] { SumReduce(dims("AAB"), dims("A")); }, "'A' appears twice"},
                      {[] {
                         SumReduce(dims("AB"), dims("A"), {{"B", -3}});
                       },
                       "size -3 of dim"}};
  all["Repeat"] = {{[] { Repeat({}, dims("A"), dims("AB")); }, "how often along dim 'B'"},
                   {[] {
                      Repeat({{"B", -2}}, dims("A"), dims("AB"));
                    },
                    "size -2 of dim 'B'"}};
  all["Flip"] = {{[] { Flip(dims("Q"), dims("N")); }, "'Q' is not a dim"},
                 {[] { Flip(dims("NN"), dims("N")); }, "'N' appears twice"},
                 {[] { Flip(dims("N"), dims("N"), dims("AB")); }, "(N,) and output (A, B)"}};
  all["Roll"] = {{[] {
                    Roll({{"Q", 1}}, dims("N"));
                  },
                  "'Q' is not a dim"},
                 {[] {
                    Roll({{"N", 1}, {"N", 2}}, dims("N"));
                  },
                  "'N' appears twice"}};
  all["FiniteDifference"] = {
      {[] { FiniteDifference("Q", dims("N")); }, "'Q' is not a dim of the input (N,)"},
      {[] { FiniteDifference("N", dims("NN")); }, "'N' appears twice"}};
  all["Gradient"] = {{[] { Gradient({}, dims("N")); }, "(N,): no dims"},
                     {[] { Gradient(dims("Q"), dims("N")); }, "'Q' is not a dim"},
                     {[] { Gradient(dims("N"), dims("N"), dims("NX")); }, "another dim already"}};
}

void add_weights(Refusals& all) {
  all["Diagonal"] = {{[] {
                        Diagonal(ones({3, 2}), dims("A"));
                      },
                      "(A,): the weight has shape (3, 2)"},
                     {[] { Diagonal(ones({2}), dims("AA")); }, "'A' appears twice"},
                     {[] { Diagonal(ones({2}), dims("A"), dims("Q")); }, "broadcast dim 'Q'"},
                     {[] { Diagonal(ones({2}), dims("A"), dims("AA")); }, "'A' appears twice"}};
  all["Dense"] = {{[] { Dense{ones({3})}; }, "two axes or more, got shape (3,)"},
                  {[] {
                     Dense(ones({3, 2}), dims("M"), dims("N"), dims("M"));
                   },
                   "weight has shape (3, 2)"},
                  {[] {
                     Dense(ones({3, 2}), dims("MN"), dims("N"), dims("P"));
                   },
                   "'M' of the weight"},
                  {[] {
                     Dense(ones({3, 2}), dims("MN"), dims("NB"), dims("M"));
                   },
                   "'B' is in neither"},
                  {[] {
                     Dense(ones({3, 2}), dims("MN"), dims("NN"), dims("M"));
                   },
                   "'N' appears twice"},
                  {[] {
                     Dense(ones({3, 2}), dims("MN"), dims("N"), dims("M"), dims("Q"));
                   },
                   "'Q'"}};
  all["Matrix"] = {
      {[] { Matrix(ones({3}), dims("N"), dims("M")); }, "(N,) -> (M,): the matrix has shape (3,)"},
      {[] {
         Matrix(ones({3, 2}), dims("N"), dims("N"));
       },
       "(N,) needs one dim"}};
  all["Toeplitz"] = {{[] {
                        Toeplitz(ones({3, 2}), {}, "N", dims("N"));
                      },
                      "column has shape (3, 2)"},
                     {[] { Toeplitz(ones({3}), ones({0}), "N", dims("N")); }, "row has shape (0,)"},
                     {[] { Toeplitz(ones({3}), {}, "Q", dims("N")); }, "'Q' is not a dim"}};
  all["Kronecker"] = {{[] { Kronecker({}); }, "no factors"},
                      {[] {
                         Kronecker({small_dense(), small_dense()});
                       },
                       "share the dim 'N'"},
                      {[] { Kronecker({Identity()}); }, "no dim of its own"}};
  all["Sparse"] = {{[] {
                      Sparse(csr_from_dense(ones({3, 2})), dims("NK"), dims("M"));
                    },
                    "(N, K) of sizes ()"},
                   {[] {
                      Sparse(csr_from_dense(ones({3, 2})), dims("N"), dims("N"));
                    },
                    "'N' appears twice"},
                   {[] {
                      Sparse(csr_from_dense(ones({3, 2})), dims("..."), dims("M"));
                    },
                    "without '...'"}};
}

void add_grids(Refusals& all) {
  all["FFT"] = {{[] { FFT(0); }, "0 dims"},
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
  all["ArrayToBlocks"] = {
      {[] { ArrayToBlocks({3}, {5}); },
       "between (Nx,) and (Bx, Nx1): the block (5,) is larger than the grid (3,)"},
      {[] {
         ArrayToBlocks({3, 3}, {2});
       },
       "(3, 3), the block (2,)"},
      {[] { ArrayToBlocks({5}, {2}, {0}); }, "must be positive"},
      {[] { ArrayToBlocks({5}, {0}); }, "must be positive"},
      {[] { ArrayToBlocks({5}, {2}, {1}, ones({2})); }, "float64, expected bool"},
      {[] { ArrayToBlocks({5}, {2}, {1}, {}, dims("......")); }, "'...' appears twice"},
      {[] { ArrayToBlocks({5}, {2}, {1}, {}, dims("X"), dims("X"), dims("BC")); },
       "'X' appears twice in (X,), (X,) and (B, C)"}};
  all["BlocksToArray"] = {{[] { BlocksToArray({5}, {7}); }, "(7,) is larger than the grid (5,)"}};
  all["Convolution"] = {
      {[] { Convolution(ones({})); }, "kernel of shape ()"},
      {[] { Convolution(ones({0})); }, "kernel of shape (0,)"},
      {[] { Convolution(ones({3}), {}, dims("XY")); }, "needs 1 names for its grid, got (X, Y)"},
      {[] { Convolution(ones({3}), dims("......")); }, "'...' appears twice"},
      {[] { Convolution(ones({3}), {}, dims("X"), dims("X")); }, "'X' appears twice"},
      {[] { Convolution(ones({3}), {}, {}, {}, Boundary::zeros, ConvolutionNormal::fft); },
       "needs padding_mode 'circular'"}};
  all["FFTConvolution"] = {{[] {
                              FFTConvolution(ones({2, 2, 2, 2}));
                            },
                            "4 axes"},
                           {[] { FFTConvolution(ones({3}), dims("XX")); }, "'X' appears twice"}};
  all["Wavelet"] = {{[] { Wavelet(dims("X"), "other"); }, "no wavelet 'other'"},
                    {[] { Wavelet(dims("X"), "db4", -1); }, "(X,): level -1"},
                    {[] { Wavelet({}); }, "at least one name"},
                    {[] { Wavelet(dims("X"), "db4", {}, dims("X")); }, "'X' appears twice"},
                    {[] { Wavelet(dims("X"), "db4", {}, dims("......")); }, "'...' appears"}};
}

void add_points(Refusals& all) {
  const Array at = ones({5, 1});
  const Dims rest{NamedDimension::ellipses()};
  all["Interpolate"] = {
      {[=] {
         Interpolate(at, {8, 8});
       },
       "(..., Nx, Ny) -> (..., K): locations of shape (5, 1)"},
      {[=] {
         Interpolate(numbers({1, 1}, {nan}), {8});
       },
       "(..., Nx) -> (..., K): location 0 is nan along axis 0"},
      {[=] {
         Interpolate(numbers({1, 1}, {infinite}), {8});
       },
       "location 0 is inf"},
      {[=] { Interpolate(at, {3}); },
       "a kernel of width 4 is larger than the grid along dim 'Nx', which has 3 points"},
      {[=] {
         Interpolate(ones({5, 2}), {8, 8}, rest, {}, {}, {.width = {8.0, 8.5}});
       },
       "width 8.5 is larger than the grid along dim 'Ny'"},
      {[=] { Interpolate(at, {8}, rest, {}, {}, {.width = {8.5}, .circular = false}); },
       "width 8.5 is larger than the grid"},
      {[=] { Interpolate(at, {0}); }, "holds no point"},
      {[=] { Interpolate(ones({}), {8}); }, "locations of shape ()"},
      {[=] {
         Interpolate(ones({5, 4}), {2, 2, 2, 2});
       },
       "expected one to three axes"},
      {[=] { Interpolate(at, {8}, {}, dims("PQ")); }, "(P, Q); expected 1"},
      {[=] { Interpolate(at, {8}, {}, dims("X"), dims("X")); }, "'X' appears twice"},
      {[=] { Interpolate(at, {8}, dims("......")); }, "'...' appears twice"}};
  all["Sampling"] = {
      {[] { Sampling({indices({8})}, {8}); },
       "(..., Nx) -> (..., K): index 8 is out of range for dim 'Nx'"},
      {[] {
         Sampling({indices({0}), indices({-1})}, {4, 4}, dims("K"), dims("XY"));
       },
       "index -1 is out of range for dim 'Y'"},
      {[] {
         (void)Sampling::from_positions(indices({16}), {4, 4});
       },
       "position 16 is outside"},
      {[] { Sampling({ones({1})}, {8}); }, "float64; expected integers"},
      {[] { Sampling({}, {}); }, "holds no point"},
      {[] { Sampling({indices({1})}, {8}, dims("AB")); }, "have the names (A, B)"},
      {[] { Sampling({indices({1})}, {8}, dims("X"), dims("X")); }, "'X' appears twice"}};
  NufftOptions thin, wide, coarse;
  thin.width = 0;
  wide.width = 100;
  coarse.oversamp = nan;
  all["NUFFT"] = {
      {[=] {
         NUFFT(at, {8, 8});
       },
       "locations of shape (5, 1) for an image of shape (8, 8)"},
      {[=] {
         NUFFT(numbers({1, 1}, {nan}), {8});
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

void add_containers(Refusals& all) {
  const NamedLinop a = small_dense(), other = Dense(ones({4, 2}), dims("MN"), dims("N"), dims("M"));
  all["Chain"] = {{[] { (void)chain({}); }, "no operators"},
                  {[=] {
                     (void)chain({a, a});
                   },
                   "expects (N,), got (M,)"},
                  {[=] {
                     (void)chain({a, Diagonal(ones({4}), dims("M"))});
                   },
                   "dim 'M' is 3"}};
  all["Add"] = {{[] { (void)sum({}); }, "no operators"},
                {[=] {
                   (void)sum({a, other});
                 },
                 "dim 'M' is 3 in one part and 4"}};
  all["Concat"] = {{[] { (void)concat({}, {}); }, "no operators"},
                   {[=] {
                      (void)concat({a, a}, {});
                    },
                    "idim and odim"},
                   {[=] {
                      (void)concat({a, a}, {.idim = "M"});
                    },
                    "'M' is not one of (N,)"}};
  all["Stack"] = {{[] { (void)stack({}, {}, StackDim{"Q"}); }, "no operators"},
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
                   "'...' cannot name a dim"}};
}

Refusals refusals() {
  Refusals all;
  add_names(all);
  add_moves(all);
  add_weights(all);
  add_grids(all);
  add_points(all);
  add_containers(all);
  return all;
}

TEST(BadInput, IsRefusedWhenTheOperatorIsMade) {
  for (const auto& [kind, wrong] : refusals())
    for (const Refusal& r : wrong) {
      SCOPED_TRACE(cat(kind, ", expecting: ", r.says));
      const std::string text = thrown_text<Error>(r.make);
      EXPECT_TRUE(text.starts_with(kind)) << text;
      EXPECT_TRUE(has(text, r.says)) << text;
    }
}

TEST(BadInput, IsKnownForEveryOperator) {
  const Refusals known = refusals();
  const std::set<std::string> made_by_others{"SumSpread"};  // an aggregate, of SumReduce alone
#define OPERATOR(Type, header) \
  EXPECT_TRUE(known.contains(Type::kind) || made_by_others.contains(Type::kind)) << Type::kind;
#include "tessera/linop/ops.def"
#undef OPERATOR
}

}  // namespace
}  // namespace tessera
