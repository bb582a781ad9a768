// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of arrays that are not in memory, with the arguments, dtypes and errors of
// those of arrays: the result comes in a file of the backing folder that goes with its last handle,
// or, as a job, in a file at `path`. Work holds at most stream_budget() bytes; between passes there
// are files as large as the result.
//   StoredArray y = transform(x, {FftKind::complex, -1}, {0, 1});

#include "tessera/streaming/stored/stored_array.hpp"
#include "tessera/streaming/transforms/transform_spec.hpp"

namespace tessera::streaming {

TESSERA_API StoredArray transform(const StoredArray& x, const Direction& direction,
                                  const Shape& axes, Norm norm = Norm::backward,
                                  const std::optional<Shape>& n = {}, const std::string& path = "");
TESSERA_API StoredArray fftshift(const StoredArray& x, const Shape& axes, bool inverse = false,
                                 const std::string& path = "");

}  // namespace tessera::streaming
