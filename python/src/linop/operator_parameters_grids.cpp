// SPDX-License-Identifier: Apache-2.0
// The arguments of operators over grids: moves, transforms, sampling, tomography. See operator_parameters.cpp.
#include <cstring>

#include "linop/operators.hpp"

namespace tessera::python {

namespace {

struct Described {
  const char* kind;
  const char* parameters;
};

constexpr Described grids[] = {
    {"FFT", R"(ndim
    How many of the last dims are transformed.
batch_shape
    Names of the dims in front of them; any when not given.
grid_shapes
    (names of the grid, names of the frequencies); Nx, Ny, Nz and Kx, Ky, Kz when not given.
norm
    'ortho' (unitary), 'backward' (the adjoint is the inverse times the number of points) or 'forward'.
centered
    True: the origin lies at index n // 2 on both sides.
real
    The length of the last dim of real input, of which half of the spectrum is kept; 0: complex input.
)"},
    {"NUFFT", R"(locs
    The frequencies, of shape (..., axes), in cycles per field of view: from -n/2 to n/2 along an axis of n points.
grid_size
    The shape of the image.
output_shape
    Names of the points, one for each axis of ``locs`` before the last; K, K1, ... when not given.
input_shape
    Names of the image; Nx, Ny, Nz when not given.
input_kshape
    Names of the padded grid's frequencies, which only the parts of the operator show.
batch_shape
    Names of leading dims that pass through, as coils; any when not given.
oversamp
    How much finer the padded grid is than the image's; 1.25 when not given.
width
    The width of the interpolation kernel, in points of the padded grid; 4 when not given.
mode
    'interpolate', or 'sampling': the nearest points of the padded grid.
do_prep_locs
    False: ``locs`` count in points of the padded grid, from 0.
apodize_weights
    Weights of the image's shape in place of those that belong to the kernel.
toeplitz
    True: normal operators are convolutions on a grid of ``toeplitz_oversamp`` times the image's size; False:
    gridding. None takes what is predicted to be cheaper where ``tol`` is given, and gridding otherwise.
toeplitz_dtype
    The dtype of that convolution's stored kernel; double precision when not given.
toeplitz_oversamp
    The size of that convolution's grid, in sizes of the image.
locs_batch_shape
    Names of leading axes of ``locs`` that input and output have in front, too: each frame has its own points.
tol
    The relative error that is wanted, from 1e-12; it takes the place of ``oversamp`` and ``width``.
wrap
    True: frequencies beyond n/2 are those that differ by n, which the transform of an image cannot tell apart;
    False: they are refused.
)"},
    {"NUFFT3", R"(points
    Where the numbers of the input lie, of shape (..., axes), one to three axes.
frequencies
    Where the sum is wanted, of shape (..., axes), in radians per unit of ``points``.
output_shape
    Names of the frequencies; K, K1, ... when not given.
input_shape
    Names of the points; J, J1, ... when not given.
batch_shape
    Names of leading dims that pass through; any when not given.
tol
    The relative error that is wanted, from 1e-11.
sign
    Of the exponent: -1 or 1.
)"},
    {"FieldMapNUFFT", R"(locs
    The frequencies, of shape (..., axes), as those of ``ts.NUFFT``.
grid_size
    The shape of the image.
field_map
    By how many hertz each pixel turns, of the image's shape.
times
    When each point is sampled, in seconds, of the shape of the points or its last axes.
output_shape
    Names of the points; K, K1, ... when not given.
input_shape
    Names of the image; Nx, Ny, Nz when not given.
batch_shape
    Names of leading dims that pass through; any when not given.
tol
    The relative error that is wanted, from 1e-9.
segments
    How many NUFFTs stand side by side; as few as reach ``tol`` when not given.
segmentation
    'time': images at some times, between which points are interpolated; 'frequency': some frequencies, of which
    each pixel takes its mixture.
wrap
    True: frequencies beyond n/2 are those that differ by n; False: they are refused.
toeplitz
    True: normals are convolutions between the segments on a doubled grid, without the points, and hold a number for
    each pair of segments and frequency; False: they are the operator and its adjoint; the cheaper of both when not
    given (``A.explain()`` says which).
)"},
    {"Interpolate", R"(locs
    The points, of shape (..., axes), counted in grid points from 0.
grid_size
    The shape of the grid.
batch_shape
    Names of leading dims that pass through; any when not given.
locs_batch_shape
    Names of the points, one for each axis of ``locs`` before the last; K, K1, ... when not given.
grid_shape
    Names of the grid; Nx, Ny, Nz when not given.
width
    The width of the kernel in grid points, one number or one for each axis.
kernel
    'kaiser_bessel' or 'spline'.
norm
    1: a product over the axes; 2: a function of the Euclidean distance.
pad_mode
    'circular': the grid repeats; 'zero': nothing lies beyond it.
kernel_params
    ``{'beta': number}`` of the Kaiser-Bessel kernel.
)"},
    {"Sampling", R"(idx
    A tuple with the indices along each axis of the grid, or slices, as a key of NumPy.
input_size
    The shape of the grid.
output_shape
    Names of the points; K, K1, ... when not given.
input_shape
    Names of the grid; Nx, Ny, Nz when not given.
batch_shape
    Names of leading dims that pass through; any when not given.
)"},
    {"RayTransform", R"(views
    Eight numbers for each view, as said above, of shape (views, 8).
grid_size
    The shape of the image (ny, nx) or volume (nz, ny, nx).
detector_size
    Cells, or (rows, cells).
beam
    'parallel', 'flat' or 'arc'.
voxel
    The size of a voxel, one number or one for each axis of the image; it is the unit of all lengths.
centre
    The index at which zero lies, one number or one for each axis; n // 2 when not given.
row_pitch
    From one row of the detector to the next.
batch_shape
    Names of leading dims that pass through; any when not given.
image_shape
    Names of the image; Nz, Ny, Nx when not given.
data_shape
    Names of the data; A, V, D (views, rows, cells) when not given.
)"},
    {"ParallelBeam", R"(angles
    Of the views, in radians.
grid_size
    The shape of the image, (ny, nx).
cells
    How many the detector has.
pitch
    From one cell to the next, in the unit of ``voxel``.
offset
    By how much the detector is moved along itself.
voxel
    The size of a pixel, one number or one for each axis.
centre
    The index around which views turn, one number or one for each axis; n // 2 when not given.
batch_shape
    Names of leading dims that pass through, as slices; any when not given.
image_shape
    Names of the image; Ny, Nx when not given.
data_shape
    Names of the data; A, D when not given.
)"},
    {"FanBeam", R"(angles
    Of the views, in radians.
grid_size
    The shape of the image, (ny, nx).
cells
    How many the detector has.
source_distance
    From the source to the middle of the image.
detector_distance
    From the middle of the image to the detector.
pitch
    From one cell to the next, in the unit of ``voxel``.
offset
    By how much the detector is moved along itself.
arc
    True: cells lie on a circle around the source; False: on a line.
voxel
    The size of a pixel, one number or one for each axis.
centre
    The index around which views turn, one number or one for each axis; n // 2 when not given.
batch_shape
    Names of leading dims that pass through, as slices; any when not given.
image_shape
    Names of the image; Ny, Nx when not given.
data_shape
    Names of the data; A, D when not given.
)"},
    {"ConeBeam", R"(angles
    Of the views, in radians.
grid_size
    The shape of the volume, (nz, ny, nx).
detector_size
    (rows, cells).
source_distance
    From the source to the z axis.
detector_distance
    From the z axis to the detector.
pitch
    From one cell to the next, one number or (of rows, of cells).
offset
    By how much the detector is moved along itself, one number (of cells) or (of rows, of cells).
arc
    True: the detector is a cylinder around the source; False: a plane.
heights
    Where source and detector stand along z, one number for each view; 0 when not given.
voxel
    The size of a voxel, one number or one for each axis.
centre
    The index around which views turn, one number or one for each axis; n // 2 when not given.
batch_shape
    Names of leading dims that pass through; any when not given.
image_shape
    Names of the volume; Nz, Ny, Nx when not given.
data_shape
    Names of the data; A, V, D when not given.
)"},
    {"ArrayToBlocks", R"(grid_size
    The shape of the grid.
block_size
    The shape of a block.
stride
    From one block to the next along each axis; 1 when not given.
mask
    A bool array of a block's shape: only the marked places are kept, as one axis.
batch_shape
    Names of leading dims that pass through; any when not given.
array_shape
    Names of the grid; Nx, Ny, ... when not given.
blocks_shape
    Names of the numbers of blocks and of the places in a block; Bx, By, ... and Nx1, Ny1, ... (P with a mask).
)"},
    {"BlocksToArray", R"(grid_size
    The shape of the grid.
block_size
    The shape of a block.
stride
    From one block to the next along each axis; 1 when not given.
mask
    A bool array of a block's shape: blocks have only the marked places, as one axis.
batch_shape
    Names of leading dims that pass through; any when not given.
blocks_shape
    Names of the numbers of blocks and of the places in a block; Bx, By, ... and Nx1, Ny1, ... (P with a mask).
array_shape
    Names of the grid; Nx, Ny, ... when not given.
)"},
    {"Convolution", R"(kernel
    The kernel; its axes are the grid's.
batch_shape
    Names of leading dims that pass through; any when not given.
in_grid_shape
    Names of the input's grid; Nx, Ny, ... when not given.
out_grid_shape
    Names of the output's grid; Nx1, Ny1, ... when not given.
padding_mode
    Beyond the border the input is 'zeros', or goes on from the other side: 'circular'.
normal_mode
    How ``A.N`` is computed. None: A, then its adjoint; 'conv': by the kernel's autocorrelation; 'fft': by its
    squared transform. The last two need a circular border.
)"},
    {"FFTConvolution", R"(kernel
    The kernel; its axes are the grid's.
batch_shape
    Names of leading dims that pass through; any when not given.
in_grid_shape
    Names of the input's grid; Nx, Ny, ... when not given.
out_grid_shape
    Names of the output's grid; Nx1, Ny1, ... when not given.
)"},
    {"Wavelet", R"(in_shape
    Names of the dims that are transformed, the last ones of the input.
wavelet
    'haar', 'db1' to 'db8', 'sym2' to 'sym8' or 'coif1' to 'coif3'.
level
    How often the approximation is transformed again; as often as it stays longer than the filter when not given.
mode
    'periodization', the only one.
batch_shape
    Names of leading dims that pass through; any when not given.
out_shape
    Names of the coefficients; Nx1, Ny1, ... when not given.
)"},
    {"Hadamard", R"(dims
    Names of the dims that are transformed, whose lengths are powers of two.
ishape
    Names of the input.
oshape
    Names of the output; by default transformed dims have their next number there, as in X1.
)"},
    {"Pad", R"(pad_im_size
    The shape of the larger image.
im_size
    The shape of the input's image.
in_shape
    Names of the input's image; Nx, Ny, ... when not given.
out_shape
    Names of the output's image; by default the next numbers, as in Nx1.
batch_shape
    Names of leading dims that pass through; any when not given.
)"},
    {"Crop", R"(crop_im_size
    The shape of the part that is kept.
im_size
    The shape of the input's image.
in_shape
    Names of the input's image; Nx, Ny, ... when not given.
out_shape
    Names of the output's image; by default the next numbers, as in Nx1.
batch_shape
    Names of leading dims that pass through; any when not given.
)"},
    {"PadDim", R"(dim
    The dim, by name or position.
from_length
    Its length in the input.
to_length
    Its length in the output.
ishape
    Names of the input.
oshape
    Names of the output; by default the dim has its next number there, as in N1.
)"},
    {"Truncate", R"(dim
    The dim, by name or position.
from_length
    Its length in the input.
to_length
    How many elements are kept.
ishape
    Names of the input.
oshape
    Names of the output; by default the dim has its next number there, as in N1.
)"},
    {"Permute", R"(ishape
    Names of the input.
oshape
    The same names in the order of the output.
)"},
    {"Rearrange", R"(ipattern
    The axes of the input, one item for each dim; words in parentheses are one axis, the first one slowest.
opattern
    The same words in the order of the output.
ishape
    Names of the input, one for each item of ``ipattern``.
oshape
    Names of the output, one for each item of ``opattern``.
axes_lengths
    ``{word: length}`` where it does not follow from the input.
)"},
    {"Flip", R"(dims
    Names of the dims that are read backwards.
ishape
    Names of the input.
oshape
    Names of the output; by default these dims have their next number there, as in X1.
)"},
    {"Roll", R"(shifts
    ``{name: number}``: how far elements move along each dim, any sign.
ishape
    Names of the input.
oshape
    Names of the output; by default these dims have their next number there, as in X1.
)"},
    {"FiniteDifference", R"(dim
    The dim along which neighbours are subtracted.
ishape
    Names of the input.
oshape
    Names of the output; by default the dim has its next number there, as in X1.
mode
    'forward' x[i+1] - x[i], 'backward' x[i] - x[i-1], or 'central' (x[i+1] - x[i-1]) / 2.
edge
    Beyond its ends the input is 'zero', goes on from the other end ('circular'), or keeps its last value
    ('replicate').
)"},
    {"Gradient", R"(dims
    The dims along which neighbours are subtracted, in the order of the new first dim.
ishape
    Names of the input.
oshape
    Names of the output, the new dim first; D and the next numbers, as in X1, when not given.
mode
    'forward', 'backward' or 'central', as in ``ts.FiniteDifference``.
edge
    'zero', 'circular' or 'replicate', as in ``ts.FiniteDifference``.
)"},
};

}  // namespace

const char* parameters_of_grids(const char* kind) {
  for (const Described& d : grids)
    if (std::strcmp(d.kind, kind) == 0) return d.parameters;
  return nullptr;
}

}  // namespace tessera::python
