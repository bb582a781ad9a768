// SPDX-License-Identifier: Apache-2.0
// Blocks, convolutions and wavelets, with the arguments that their C++ structs take.
#include "core/sequence.hpp"
#include "linop/operators.hpp"
#include "tessera/linop/ops/moves/array_to_blocks.hpp"
#include "tessera/linop/ops/transforms/convolution.hpp"
#include "tessera/linop/ops/transforms/hadamard.hpp"
#include "tessera/linop/ops/transforms/wavelet.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<Dims> optional_dims(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dims_from(h));
}

// An int serves every axis of the grid.
Shape sizes_for(nb::handle h, i64 axes) {
  if (is_one_integer(h)) return Shape(axes, int_from(h, "block sizes"));
  return shape_from(h);
}

struct BlockArguments {
  Shape grid, block, stride;
  Array mask;

  BlockArguments(const char* who, nb::handle grid_size, nb::handle block_size, nb::handle strides,
                 nb::handle mask_array)
      : grid(shape_from(grid_size)),
        block(sizes_for(block_size, grid.size())),
        stride(strides.is_none() ? Shape(grid.size(), 1) : sizes_for(strides, grid.size())) {
    if (!mask_array.is_none()) mask = as_array(mask_array, who);
  }
};

nb::object array_to_blocks(const ShapeArg& grid_size, const ShapeArg& block_size,
                           const ShapeArg& stride, const ArrayArg& mask, const DimsArg& batch_shape,
                           const DimsArg& array_shape, const DimsArg& blocks_shape) {
  const BlockArguments a("ArrayToBlocks", grid_size, block_size, stride, mask);
  return wrap_linop(ArrayToBlocks(a.grid, a.block, a.stride, a.mask, dims_or_any(batch_shape),
                                  optional_dims(array_shape), optional_dims(blocks_shape)));
}

nb::object blocks_to_array(const ShapeArg& grid_size, const ShapeArg& block_size,
                           const ShapeArg& stride, const ArrayArg& mask, const DimsArg& batch_shape,
                           const DimsArg& blocks_shape, const DimsArg& array_shape) {
  const BlockArguments a("BlocksToArray", grid_size, block_size, stride, mask);
  return wrap_linop(BlocksToArray(a.grid, a.block, a.stride, a.mask, dims_or_any(batch_shape),
                                  optional_dims(blocks_shape), optional_dims(array_shape)));
}

ConvolutionNormal normal_mode_from(const std::optional<std::string>& s) {
  if (!s) return ConvolutionNormal::none;
  if (*s == "conv") return ConvolutionNormal::conv;
  require<ArgumentError>(*s == "fft", "Convolution: normal_mode is None, 'conv' or 'fft', got '",
                         *s, "'");
  return ConvolutionNormal::fft;
}

Boundary boundary_from(const std::string& s) {
  if (s == "zeros") return Boundary::zeros;
  require<ArgumentError>(s == "circular",
                         "Convolution: padding_mode is 'zeros' or 'circular', got '", s, "'");
  return Boundary::circular;
}

nb::object convolution(const ArrayArg& kernel, const DimsArg& batch_shape,
                       const DimsArg& in_grid_shape, const DimsArg& out_grid_shape,
                       const std::string& padding_mode, const TextArg& normal_mode) {
  std::optional<std::string> normal;
  if (!normal_mode.is_none()) normal = nb::cast<std::string>(normal_mode);
  return wrap_linop(Convolution(as_array(kernel, "Convolution"), dims_or_any(batch_shape),
                                optional_dims(in_grid_shape), optional_dims(out_grid_shape),
                                boundary_from(padding_mode), normal_mode_from(normal)));
}

nb::object fft_convolution(const ArrayArg& kernel, const DimsArg& batch_shape,
                           const DimsArg& in_grid_shape, const DimsArg& out_grid_shape) {
  return wrap_linop(FFTConvolution(as_array(kernel, "FFTConvolution"), dims_or_any(batch_shape),
                                   optional_dims(in_grid_shape), optional_dims(out_grid_shape)));
}

nb::object wavelet_transform(const DimsArg& in_shape, const std::string& wavelet,
                             const IntArg& level, const std::string& mode,
                             const DimsArg& batch_shape, const DimsArg& out_shape) {
  require<ArgumentError>(mode == "periodization",
                         "Wavelet: mode is 'periodization' (the orthogonal one), got '", mode, "'");
  std::optional<i64> levels;
  if (!level.is_none()) levels = int_from(level, "Wavelet");
  return wrap_linop(Wavelet(dims_from(in_shape), wavelet, levels, dims_or_any(batch_shape),
                            optional_dims(out_shape)));
}

nb::list wavelet_levels(const std::string& wavelet, nb::handle sizes) {
  nb::list levels;
  const Shape grid = shape_from(sizes);
  for (const Shape& s : Wavelet(dims("X"), wavelet).level_sizes(grid)) levels.append(tuple_of(s));
  return levels;
}

}  // namespace

void bind_operators_blocks(nb::module_& m) {
  m.def("_wavelet_levels", &wavelet_levels, "wavelet"_a, "sizes"_a,
        nb::sig("def _wavelet_levels(wavelet: str, sizes: typing.Sequence[int]) -> "
                "list[tuple[int, ...]]"));
  add_operator<ArrayToBlocks>(
      m, "ArrayToBlocks",
      "Overlapping blocks of a grid: batch + grid -> batch + numbers of blocks + block. With a "
      "boolean\nmask of the block's shape, the marked places of a block become one axis.\n\n"
      ">>> B = ts.ArrayToBlocks((5,), (3,), (2,))\n"
      ">>> B([0, 1, 2, 3, 4]).tolist()\n[[0, 1, 2], [2, 3, 4]]\n"
      ">>> B.H([[1, 1, 1], [1, 1, 1]]).tolist()\n[1, 1, 2, 1, 1]\n",
      &array_to_blocks, "grid_size"_a, "block_size"_a, "stride"_a = nb::none(),
      "mask"_a = nb::none(), "batch_shape"_a = nb::none(), "array_shape"_a = nb::none(),
      "blocks_shape"_a = nb::none());
  add_operator<BlocksToArray>(
      m, "BlocksToArray",
      "Sums overlapping blocks into a grid: the adjoint of ArrayToBlocks.\n\n"
      ">>> ts.BlocksToArray((5,), (3,), (1,))([[1.0] * 3] * 3).tolist()\n"
      "[1.0, 2.0, 3.0, 2.0, 1.0]\n",
      &blocks_to_array, "grid_size"_a, "block_size"_a, "stride"_a = nb::none(),
      "mask"_a = nb::none(), "batch_shape"_a = nb::none(), "blocks_shape"_a = nb::none(),
      "array_shape"_a = nb::none());
  add_operator<Convolution>(
      m, "Convolution",
      "Convolution of the last dims with a kernel whose centre is its element n // 2; the result "
      "has the\nsize of the input. padding_mode 'zeros' or 'circular'; normal_mode None, 'conv' or "
      "'fft'.\n\n"
      ">>> ts.Convolution([1.0, 2.0, 3.0])([1.0, 0, 0, 0, 0]).tolist()\n"
      "[2.0, 3.0, 0.0, 0.0, 0.0]\n",
      &convolution, "kernel"_a, "batch_shape"_a = nb::none(), "in_grid_shape"_a = nb::none(),
      "out_grid_shape"_a = nb::none(), "padding_mode"_a = "zeros", "normal_mode"_a = nb::none());
  add_operator<FFTConvolution>(
      m, "FFTConvolution",
      "Circular convolution by FFT; the kernel's transform is made once per size of the grid.\n\n"
      ">>> y = ts.FFTConvolution([1.0, 2.0, 3.0])([1.0, 0, 0, 0, 0])\n"
      ">>> [round(v, 6) + 0.0 for v in y.tolist()]\n[2.0, 3.0, 0.0, 0.0, 1.0]\n",
      &fft_convolution, "kernel"_a, "batch_shape"_a = nb::none(), "in_grid_shape"_a = nb::none(),
      "out_grid_shape"_a = nb::none());
  add_operator<Wavelet>(
      m, "Wavelet",
      "The orthogonal wavelet transform of the dims in_shape (haar, db1 ... db8, sym2 ... sym8, "
      "coif1 ...\ncoif3), periodic at the borders, unitary for every size: the last sample of an "
      "odd length passes\nthrough. The coarsest approximation stands in the leading corner.\n\n"
      ">>> c = ts.Wavelet('Nx', 'haar', 1)([1.0, 1.0, 2.0, 0.0])\n"
      ">>> [round(v, 3) for v in c.tolist()]\n[1.414, 1.414, 0.0, 1.414]\n",
      &wavelet_transform, "in_shape"_a, "wavelet"_a = "db4", "level"_a = nb::none(),
      "mode"_a = "periodization", "batch_shape"_a = nb::none(), "out_shape"_a = nb::none());
  add_operator<Hadamard>(
      m, "Hadamard",
      "The Walsh-Hadamard transform of some dims, in the natural order and unitary: sums and "
      "differences\nalone, for lengths that are powers of two. It is its own adjoint and "
      "inverse.\n\n"
      ">>> ts.Hadamard('X', ('X',))([1.0, 2.0, 3.0, 4.0]).tolist()\n[5.0, -1.0, -2.0, 0.0]\n",
      [](const DimsArg& dims, const DimsArg& in, const DimsArg& out) {
        return wrap_linop(Hadamard(dims_from(dims), dims_from(in), dims_from(out)));
      },
      "dims"_a, "ishape"_a, "oshape"_a = nb::none());
}

}  // namespace tessera::python
