// SPDX-License-Identifier: Apache-2.0
// Batched 2-D transforms against FFTW called directly: planned alike, same threads, batch cut
// alike. Where FFTW cannot measure quickly we do not ask it to, and plans that it took its time for
// are shown beside, for information.
#include <fftw3.h>

#include "ratio.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/fft/fftw_plans.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

void one(i64 batch, int n) {
  const Array x = Random(1).normal({batch, n, n}, DType::c64), y = zeros({batch, n, n}, DType::c64);
  const NamedLinop F(FFT(2, dims("..."), {}, Norm::backward));
  auto* in = static_cast<fftwf_complex*>(x.data());
  auto* out = static_cast<fftwf_complex*>(y.data());
  const Array scratch = zeros({2, n, n}, DType::c64);
  auto* work = static_cast<fftwf_complex*>(scratch.data());
  // One slice at a time on one thread, slices in parallel: FFTW's own best for many small
  // transforms.
  const auto beside = [&](unsigned effort, const std::string& peer, double goal) {
    fftwf_plan plan = fftwf_plan_dft_2d(n, n, work, work + i64{n} * n, FFTW_FORWARD, effort);
    compare(
        cat("FFT ", batch, " x ", n, "^2 complex64"), peer, goal, [&] { F(x, y); },
        [&] {
          parallel_for(batch, 1, [&](i64 begin, i64 end) {
            for (i64 i = begin; i < end; ++i)
              fftwf_execute_dft(plan, in + i * n * n, out + i * n * n);
          });
        });
    fftwf_destroy_plan(plan);
  };
  beside(fftw_measures_quickly ? FFTW_MEASURE : FFTW_ESTIMATE, "FFTW directly, planned alike",
         0.95);
  if (!fftw_measures_quickly) beside(FFTW_MEASURE, "FFTW directly, measured plans", 0);
}

}  // namespace

void bench_fft() {
  one(16, 256);
  one(32, 512);
  one(64, 60);
}

}  // namespace tessera::bench
