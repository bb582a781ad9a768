// SPDX-License-Identifier: Apache-2.0
// Samples of blocks, convolutions, wavelets and Hadamard transforms.
#include "samples.hpp"

namespace tessera::laws {
namespace {

Array mask_of(const Shape& shape, const std::vector<int>& marks) {
  const Array m(Storage::allocate(cpu, count_of(shape)), Layout::contiguous(shape), DType::b1);
  auto* p = static_cast<std::uint8_t*>(m.host_data());
  for (std::size_t i = 0; i < marks.size(); ++i) p[i] = static_cast<std::uint8_t>(marks[i]);
  return m;
}

const Dims cells = dims("NxNyNzBxByBzNx1Ny1Nz1P"), grids = dims("NxNyNzNx1Ny1Nz1Nx2Ny2Nz2");

struct BlockCase {
  const char* label;
  Shape grid, block, stride;
  Array mask;
  Dims batch;
  Shape before;  // sizes of the batch
};

std::vector<BlockCase> block_cases() {
  return {{"line", {7}, {3}, {2}, {}, dims("..."), {}},
          {"one point", {1}, {1}, {1}, {}, dims("C"), {2}},
          {"default stride", {5}, {3}, {}, {}, dims("..."), {2}},
          {"plane", {6, 5}, {3, 2}, {2, 3}, {}, dims("C"), {2}},
          {"volume", {4, 3, 5}, {2, 3, 2}, {1, 1, 3}, {}, dims("..."), {}},
          {"gaps", {9}, {2}, {4}, {}, dims("C"), {3}},
          {"tiling", {6, 4}, {3, 2}, {3, 2}, {}, dims("..."), {}},
          {"masked", {5, 4}, {3, 2}, {1, 2}, mask_of({3, 2}, {0, 1, 1, 1, 0, 0}), dims("C"), {2}},
          {"masked line", {6}, {4}, {1}, mask_of({4}, {1, 0, 1, 1}), dims("..."), {}}};
}

Shape joined(Shape a, const Shape& b) {
  a.append(b);
  return a;
}

}  // namespace

template <>
std::vector<Sample> samples<ArrayToBlocks>(DType, Device) {
  std::vector<Sample> all;
  for (const BlockCase& c : block_cases())
    all.push_back({c.label, ArrayToBlocks(c.grid, c.block, c.stride, c.mask, c.batch),
                   joined(c.before, c.grid), cells});
  all.push_back({"four axes",
                 ArrayToBlocks({3, 4, 2, 3}, {2, 2, 2, 1}, {1, 2, 1, 1}, {}, dims("..."),
                               dims("ABCD"), dims("EFGHIJKL")),
                 {3, 4, 2, 3},
                 dims("ABCDEFGHIJKL")});
  const NamedLinop overlapping = ArrayToBlocks({6, 5}, {3, 2}, {2, 1}, {}, dims("C"));
  all.push_back({"normal", overlapping.N(), {2, 6, 5}});
  return all;
}

template <>
std::vector<Sample> samples<BlocksToArray>(DType, Device) {
  std::vector<Sample> all;
  for (const BlockCase& c : block_cases()) {
    const BlocksToArray b(c.grid, c.block, c.stride, c.mask, c.batch);
    all.push_back({c.label, b, joined(c.before, b.spec.blocks_sizes()), cells});
  }
  return all;
}

template <>
std::vector<Sample> samples<Convolution>(DType t, Device d) {
  const Boundary zeros = Boundary::zeros, circular = Boundary::circular;
  const ConvolutionNormal conv = ConvolutionNormal::conv, fft = ConvolutionNormal::fft;
  std::vector<Sample> all{
      {"line", Convolution(random({3}, t, d, 1)), {8}, grids},
      {"even kernel", Convolution(random({4}, t, d, 2), dims("C")), {2, 7}, grids},
      {"one point", Convolution(random({3}, t, d, 3)), {2, 1}, grids},
      {"one tap", Convolution(random({1, 1}, t, d, 4)), {3, 5}, grids},
      {"plane", Convolution(random({3, 2}, t, d, 5)), {2, 6, 9}, grids},
      {"circular plane",
       Convolution(random({2, 3}, t, d, 6), dims("C"), {}, {}, circular),
       {2, 5, 7},
       grids},
      {"wraps",
       Convolution(random({2, 3}, t, d, 7), dims("..."), {}, {}, circular, conv),
       {1, 5, 2},
       grids},
      {"normal by conv",
       Convolution(random({3}, t, d, 8), dims("..."), {}, {}, circular, conv),
       {9},
       grids},
      {"normal by fft",
       Convolution(random({3, 2}, t, d, 9), dims("C"), {}, {}, circular, fft),
       {2, 6, 5},
       grids},
      {"volume", Convolution(random({3, 1, 2}, t, d, 10)), {4, 3, 5}, grids},
      {"four axes",
       Convolution(random({2, 1, 2, 3}, t, d, 11), dims("..."), dims("ABCD"), dims("EFGH"), zeros),
       {3, 2, 3, 4},
       dims("ABCDEFGH")},
      {"real kernel", Convolution(random({3, 3}, real_of(t), d, 12)), {6, 5}, grids},
      {"permuted kernel", Convolution(random({2, 3}, t, d, 13).transpose()), {5, 6}, grids},
      {"large kernel", Convolution(random({61}, t, d, 14)), {90}, grids},
      {"large circular",
       Convolution(random({15, 13}, t, d, 15), dims("..."), {}, {}, circular),
       {2, 21, 20},
       grids}};
  all.push_back(
      {"normal", Convolution(random({3}, t, d, 16), dims("C"), {}, {}, circular, conv), {}, grids});
  all.back().op = all.back().op.N();
  all.back().input = {2, 6};
  return all;
}

template <>
std::vector<Sample> samples<FFTConvolution>(DType t, Device d) {
  return {{"line", FFTConvolution(random({3}, t, d, 1)), {8}, grids},
          {"odd line", FFTConvolution(random({4}, t, d, 2), dims("C")), {2, 9}, grids},
          {"one point", FFTConvolution(random({1}, t, d, 3)), {3, 1}, grids},
          {"plane", FFTConvolution(random({3, 2}, t, d, 4)), {2, 6, 5}, grids},
          {"named",
           FFTConvolution(random({3, 2}, t, d, 5), dims("C"), dims("XY"), dims("UV")),
           {2, 6, 5},
           dims("XYUV")},
          {"volume", FFTConvolution(random({2, 3, 1}, t, d, 6)), {4, 3, 5}, grids},
          {"real kernel", FFTConvolution(random({3}, real_of(t), d, 7)), {6}, grids},
          {"whole grid", FFTConvolution(random({4, 5}, t, d, 8)), {4, 5}, grids},
          {"normal", NamedLinop(FFTConvolution(random({3, 2}, t, d, 9))).N(), {6, 5}, grids}};
}

template <>
std::vector<Sample> samples<Wavelet>(DType, Device) {
  return {{"haar line", Wavelet(dims("Nx"), "haar", 1), {8}, grids},
          {"db2 levels", Wavelet(dims("Nx"), "db2", 3), {2, 16}, grids},
          {"odd lengths", Wavelet(dims("Nx"), "db3", 3), {13}, grids},
          {"one point", Wavelet(dims("Nx"), "db4", 2), {3, 1}, grids},
          {"two points", Wavelet(dims("Nx"), "sym4", 4), {2}, grids},
          {"plane", Wavelet(dims("NxNy"), "db4", 2, dims("C")), {2, 12, 10}, grids},
          {"uneven plane", Wavelet(dims("NxNy"), "sym5", 3), {7, 5}, grids},
          {"default level", Wavelet(dims("NxNy"), "db2"), {13, 24}, grids},
          {"volume",
           Wavelet(dims("NxNyNz"), "coif1", 2, dims("..."), dims("UVW")),
           {2, 6, 5, 4},
           dims("NxNyNzUVW")},
          {"named batch", Wavelet(dims("Nx"), "db8", 2, dims("AB")), {2, 3, 10}, grids}};
}

template <>
std::vector<Sample> samples<Hadamard>(DType, Device) {
  const NamedLinop H(Hadamard(dims("XY"), dims("CXY"), dims("CUV")));
  return {{"one", Hadamard(dims("X"), dims("CX")), {3, 8}, dims("XX1")},
          {"open", Hadamard(dims("Y"), dims("...XY"), dims("...XV")), {2, 3, 4}, dims("YV")},
          {"in front", Hadamard(dims("X"), dims("X...")), {4, 3, 2}, dims("XX1")},
          {"two dims", H, {3, 2, 16}, dims("XYUV")},
          {"single", Hadamard(dims("X"), dims("X")), {1}, dims("XX1")},
          {"idle axis",
           H.normal(SumReduce(dims("CUV"), dims("CV")).normal()),
           {3, 4, 2},
           dims("XYUVU1V1X1Y1")}};
}
template <>
std::vector<Refusal> refusals<Hadamard>() {
  return {{[] { Hadamard({}, dims("N")); }, "(N,): no dims"},
          {[] { Hadamard(dims("Q"), dims("N")); }, "'Q' is not a dim"},
          {[] { Hadamard(dims("NN"), dims("N")); }, "'N' appears twice"},
          {[] {
             (void)NamedLinop(Hadamard(dims("N"), dims("CN"))).output_shape({2, 6});
           },
           "(C, N) -> (C, N1): dim 'N' has 6 elements, expected a power of two"}};
}

}  // namespace tessera::laws
