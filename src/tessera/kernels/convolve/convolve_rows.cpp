// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/convolve/convolve_rows.hpp"

#include <cstring>

#include "tessera/kernels/register.hpp"

namespace tessera {
namespace {

// V vectors of outputs. Products and sums may fuse here: the order of the sum is fixed all the
// same.
template <class R, int Parts, int V>
__attribute__((optimize("fp-contract=fast"))) void block(const R* x, const i64* offsets,
                                                         const R* weights, i64 taps, R* y,
                                                         i64 pitch) {
  Register<R> sum[Parts][V] = {};
  for (i64 t = 0; t < taps; ++t) {
    const R* from = x + offsets[t];
    for (int v = 0; v < V; ++v) {
      const Register<R> a = load_register(from + v * lanes<R>);
      for (int p = 0; p < Parts; ++p) sum[p][v] += a * weights[Parts * t + p];
    }
  }
  for (int p = 0; p < Parts; ++p) std::memcpy(y + p * pitch, sum[p], sizeof sum[p]);
}

}  // namespace

template <class R, int Parts>
void correlate_row(const R* x, const i64* offsets, const R* weights, i64 taps, R* y, i64 pitch,
                   i64 n) {
  constexpr int most = 8 / Parts;
  for (i64 i = 0; i < n;) {
    const i64 vectors = (n - i + lanes<R> - 1) / lanes<R>;
    if (vectors > most / 2) {
      block<R, Parts, most>(x + i, offsets, weights, taps, y + i, pitch);
      i += most * lanes<R>;
    } else if (vectors > 1) {
      block<R, Parts, most / 2>(x + i, offsets, weights, taps, y + i, pitch);
      i += most / 2 * lanes<R>;
    } else {
      block<R, Parts, 1>(x + i, offsets, weights, taps, y + i, pitch);
      i += lanes<R>;
    }
  }
}

template void correlate_row<float, 1>(const float*, const i64*, const float*, i64, float*, i64,
                                      i64);
template void correlate_row<float, 2>(const float*, const i64*, const float*, i64, float*, i64,
                                      i64);
template void correlate_row<double, 1>(const double*, const i64*, const double*, i64, double*, i64,
                                       i64);
template void correlate_row<double, 2>(const double*, const i64*, const double*, i64, double*, i64,
                                       i64);

}  // namespace tessera
