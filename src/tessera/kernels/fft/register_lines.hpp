// SPDX-License-Identifier: Apache-2.0
#pragma once
// The calls of SmoothLines on registers of so many bytes: which passes over which walks. A file for
// each width and precision instantiates them (register_lines_16.cpp, ...). Private to the cpu's FFT.
//   RegisterLines<float, 32>{tables}.columns(16, x, step, y, step, -1, 1.0f, scratch);

#include "tessera/kernels/fft/smooth_lines.hpp"

namespace tessera {

template <class R, int bytes>
struct RegisterLines {
  using C = Complex<R>;
  static constexpr int width = bytes / static_cast<int>(sizeof(R));
  const LineTables<R>& tables;

  // Registers hold neighbours of a dense line, whose first radix and number of points fill them.
  void dense_lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance, int sign,
                   R scale, R* scratch) const;
  // A line fills a lane: at most as many lines as there are lanes.
  void lines_in_lanes(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance, int sign,
                      R scale, R* scratch) const;
  // Multiples of the number of lanes.
  void columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign, R scale,
               R* scratch) const;
  void filter_columns(i64 count, const C* from, i64 from_step, const ColumnWeight<R>& weight, C* to,
                      i64 to_step, int sign, R scale, R* scratch) const;

 private:
  template <class In, class Out>
  R* run_columns(i64 registers, const In& in, const Out& out, R* a, R* b) const;
  template <class Out>
  R* rest(i64 step, i64 registers, const Out& out, R* a, R* b) const;
  template <bool Swap>
  void run_dense(i64 count, const R* x, i64 from_distance, R* y, i64 to_distance, R scale,
                 R* scratch) const;
  template <bool Swap>
  void run_lanes(i64 count, const R* x, i64 from_distance, R* y, i64 to_distance, R scale,
                 R* scratch) const;
  template <bool Swap>
  void run_short(i64 count, const R* x, i64 from_distance, R* y, i64 to_distance, R scale) const;
  template <bool Swap>
  void run_filter(i64 registers, const C* from, i64 from_step, const ColumnWeight<R>& weight, C* to,
                  i64 to_step, R scale, R* scratch) const;
};

extern template struct RegisterLines<float, 16>;
extern template struct RegisterLines<double, 16>;
extern template struct RegisterLines<float, 32>;
extern template struct RegisterLines<double, 32>;

}  // namespace tessera
