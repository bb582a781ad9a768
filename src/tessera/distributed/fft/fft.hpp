// SPDX-License-Identifier: Apache-2.0
#pragma once
// Discrete Fourier transforms of distributed arrays over any axes, with the arguments, dtypes and
// errors of the local functions. The split stays where it is. Axes that are not split are
// transformed where they lie, without a message; for the one that is, the array is re-split along
// its longest other axis a panel at a time, transformed, and brought back: every element moves
// twice at most, and little memory is needed beside the result. An
// array that is nothing but its split axis is transformed as a matrix of two factors of its length
// (three moves), or on every rank at once where it is short or its length has no such factors.
//   DNDarray y = dist::fftn(x, {0, 1});   DNDarray z = dist::irfftn(dist::rfftn(x, {0}), {0});
//
// The result is distributed as x where its split axis keeps its length and there is another axis,
// else balanced.

#include <optional>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/fft/fft.hpp"

namespace tessera::dist {

TESSERA_API DNDarray fftn(const DNDarray& x, const Shape& axes, Norm norm = Norm::backward,
                          const std::optional<Shape>& n = {});
TESSERA_API DNDarray ifftn(const DNDarray& x, const Shape& axes, Norm norm = Norm::backward,
                           const std::optional<Shape>& n = {});
TESSERA_API DNDarray rfftn(const DNDarray& x, const Shape& axes, Norm norm = Norm::backward,
                           const std::optional<Shape>& n = {});
TESSERA_API DNDarray irfftn(const DNDarray& x, const Shape& axes, Norm norm = Norm::backward,
                            const std::optional<Shape>& n = {});
TESSERA_API DNDarray fftshift(const DNDarray& x, const Shape& axes, bool inverse = false);

}  // namespace tessera::dist
