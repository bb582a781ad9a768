// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inner loop of the direct correlation on the cpu: a row of outputs as sums of shifted rows,
// one weight each, in registers. Complex weights are two real ones whose sums are joined
// afterwards.
//   correlate_row<float, 1>(x, offsets, weights, taps, y, n);

#include "tessera/base/api.hpp"

namespace tessera {

// Reals beyond the end of a row that may be read and written.
inline constexpr i64 row_slack = 32;

// y[p * pitch + i] = sum over t of weights[Parts * t + p] x[offsets[t] + i] for i < n, p < Parts.
template <class R, int Parts>
void correlate_row(const R* x, const i64* offsets, const R* weights, i64 taps, R* y, i64 pitch,
                   i64 n);

extern template void correlate_row<float, 1>(const float*, const i64*, const float*, i64, float*,
                                             i64, i64);
extern template void correlate_row<float, 2>(const float*, const i64*, const float*, i64, float*,
                                             i64, i64);
extern template void correlate_row<double, 1>(const double*, const i64*, const double*, i64,
                                              double*, i64, i64);
extern template void correlate_row<double, 2>(const double*, const i64*, const double*, i64,
                                              double*, i64, i64);

}  // namespace tessera
