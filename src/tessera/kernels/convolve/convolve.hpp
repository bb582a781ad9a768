// SPDX-License-Identifier: Apache-2.0
#pragma once
// Direct correlation of an array with a small kernel along several axes, with strides, dilations
// and a choice of what lies beyond the border. Convolutions, their adjoints and wavelets are views
// of it: a flipped kernel is a view with negative strides. Not for large kernels: those go by FFT.
//   out[b, n] = sum over j of kernel[b, j] in[b, n * stride + j * dilation - left]

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

enum class Boundary : std::uint8_t { zeros, circular };

// in, kernel, out: batch axes of one shape (in and kernel may step by 0 along them), then D spatial
// axes each. in and out have one dtype (floats, complex), the kernel the same or its real type;
// half precision takes a float32 kernel and adds in float32. Operands of a launch: in, kernel, out.
// out shares no memory with the others.
struct ConvolveSpec {
  Operand in, kernel, out;
  Shape left, stride, dilation;  // D >= 1 each
  Boundary boundary = Boundary::zeros;
  bool conj_kernel = false;
};

// DTypeError or ShapeError unless the operands are as above; for the kernels.
TESSERA_API void require_convolve(const ConvolveSpec& spec);
// Multiplications of real numbers that the direct sum takes; for choosing between it and an FFT.
TESSERA_API double convolve_products(const ConvolveSpec& spec);

}  // namespace tessera
