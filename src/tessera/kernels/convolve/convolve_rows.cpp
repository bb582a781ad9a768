// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/convolve/convolve_rows.hpp"

#include <cstring>

namespace tessera {
namespace {

template <class R>
struct Lanes {
  typedef R Type __attribute__((vector_size(16)));
  static constexpr i64 count = 16 / sizeof(R);
};

// V vectors of outputs. Products and sums may fuse here: the order of the sum is fixed all the
// same.
template <class R, int Parts, int V>
__attribute__((optimize("fp-contract=fast"))) void block(const R* x, const i64* offsets,
                                                         const R* weights, i64 taps, R* y,
                                                         i64 pitch) {
  using Vector = typename Lanes<R>::Type;
  Vector sum[Parts][V] = {};
  for (i64 t = 0; t < taps; ++t) {
    const R* from = x + offsets[t];
    for (int v = 0; v < V; ++v) {
      Vector a;
      std::memcpy(&a, from + v * Lanes<R>::count, 16);
      for (int p = 0; p < Parts; ++p) sum[p][v] += a * weights[Parts * t + p];
    }
  }
  for (int p = 0; p < Parts; ++p) std::memcpy(y + p * pitch, sum[p], sizeof sum[p]);
}

}  // namespace

template <class R, int Parts>
void correlate_row(const R* x, const i64* offsets, const R* weights, i64 taps, R* y, i64 pitch,
                   i64 n) {
  constexpr i64 lanes = Lanes<R>::count;
  constexpr int most = 8 / Parts;
  for (i64 i = 0; i < n;) {
    const i64 vectors = (n - i + lanes - 1) / lanes;
    if (vectors > most / 2) {
      block<R, Parts, most>(x + i, offsets, weights, taps, y + i, pitch);
      i += most * lanes;
    } else if (vectors > 1) {
      block<R, Parts, most / 2>(x + i, offsets, weights, taps, y + i, pitch);
      i += most / 2 * lanes;
    } else {
      block<R, Parts, 1>(x + i, offsets, weights, taps, y + i, pitch);
      i += lanes;
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
