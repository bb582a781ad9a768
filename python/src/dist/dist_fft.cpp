// SPDX-License-Identifier: Apache-2.0
// Transforms of distributed arrays.
#include "array/fft.hpp"
#include "dist/dist.hpp"
#include "tessera/distributed/fft/fft.hpp"

namespace tessera::python {

void bind_dist_fft(nb::module_& m) {
  bind_transforms<DNDarray>(
      m, "DNDarray",
      {&as_dist, &dist::fftn, &dist::ifftn, &dist::rfftn, &dist::irfftn, &dist::fftshift});
}

}  // namespace tessera::python
