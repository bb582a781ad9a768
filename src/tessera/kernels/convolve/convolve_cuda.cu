// SPDX-License-Identifier: Apache-2.0
// Direct correlation on CUDA. A warp computes 128 neighbouring outputs along the axis that lies
// densest in memory, four a thread, so that a weight is fetched once for all of them; places and
// borders along the other axes are the same for the whole warp.
#include <algorithm>

#include "tessera/kernels/convolve/convolve.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int axes_limit = 8, per_thread = 4, warp = 32;

struct ConvolveAxis {
  i64 out, in, taps;
  i64 out_step, in_step, kernel_step, kernel_item;  // kernel_item: per output, along batch axes
  i64 left, stride, dilation;
};

struct ConvolveArgs {
  ConvolveAxis inner, outer[axes_limit];
  int rank;  // of outer, innermost first
  i64 rows, chunks;
  i64 outer_taps;
  bool circular, conj_kernel;
  const void *in, *kernel;
  void* out;
};

__device__ inline i64 wrapped(i64 p, i64 n) {
  while (p < 0) p += n;
  while (p >= n) p -= n;
  return p;
}

__device__ inline void add_product(float& s, float w, float x) { s += w * x; }
__device__ inline void add_product(double& s, double w, double x) { s += w * x; }
template <class R>
__device__ inline void add_product(Complex<R>& s, R w, const Complex<R>& x) {
  s.re += w * x.re;
  s.im += w * x.im;
}
template <class R>
__device__ inline void add_product(Complex<R>& s, const Complex<R>& w, const Complex<R>& x) {
  s.re += w.re * x.re;
  s.re -= w.im * x.im;
  s.im += w.re * x.im;
  s.im += w.im * x.re;
}

template <class W>
__device__ inline W weight_at(const ConvolveArgs& a, i64 at) {
  W w = static_cast<const W*>(a.kernel)[at];
  if constexpr (is_complex_v<W>)
    if (a.conj_kernel) w.im = -w.im;
  return w;
}

// All inner taps of one row of the input.
template <class T, class Work, class W>
__device__ inline void add_row(const ConvolveArgs& a, const T* row, i64 kernel, i64 column, i64 n,
                               Work (&sum)[per_thread]) {
  const ConvolveAxis& x = a.inner;
  for (i64 j = 0; j < x.taps; ++j) {
    const W w = weight_at<W>(a, kernel + j * x.kernel_step);
#pragma unroll
    for (int v = 0; v < per_thread; ++v) {
      const i64 c = column + v * warp;
      i64 p = c * x.stride + j * x.dilation - x.left;
      if (a.circular && c < n) p = wrapped(p, x.in);
      if (c < n && p >= 0 && p < x.in) add_product(sum[v], w, convert<Work>(row[p * x.in_step]));
    }
  }
}

template <class T, class Work, class W>
__global__ void __launch_bounds__(block_threads)
    convolve_kernel(const __grid_constant__ ConvolveArgs a) {
  const i64 warps = thread_count() / warp;
  for (i64 job = thread_position() / warp; job < a.rows * a.chunks; job += warps) {
    const i64 column = job % a.chunks * (warp * per_thread) + threadIdx.x % warp;
    i64 rest = job / a.chunks, place[axes_limit], to = 0, kernel_base = 0;
#pragma unroll
    for (int i = 0; i < axes_limit; ++i) {
      if (i == a.rank) break;
      place[i] = rest % a.outer[i].out;
      rest /= a.outer[i].out;
      to += place[i] * a.outer[i].out_step;
      kernel_base += place[i] * a.outer[i].kernel_item;
    }
    Work sum[per_thread];
#pragma unroll
    for (int v = 0; v < per_thread; ++v) sum[v] = Work(0);
    for (i64 tap = 0; tap < a.outer_taps; ++tap) {
      i64 left = tap, from = 0, kernel = kernel_base;
      bool inside = true;
#pragma unroll
      for (int i = 0; i < axes_limit; ++i) {
        if (i == a.rank) break;
        const ConvolveAxis& x = a.outer[i];
        const i64 j = left % x.taps;
        left /= x.taps;
        i64 p = place[i] * x.stride + j * x.dilation - x.left;
        if (a.circular) p = wrapped(p, x.in);
        inside = inside && p >= 0 && p < x.in;
        from += p * x.in_step;
        kernel += j * x.kernel_step;
      }
      if (inside)
        add_row<T, Work, W>(a, static_cast<const T*>(a.in) + from, kernel, column, a.inner.out,
                            sum);
    }
#pragma unroll
    for (int v = 0; v < per_thread; ++v) {
      const i64 c = column + v * warp;
      if (c < a.inner.out) static_cast<T*>(a.out)[to + c * a.inner.out_step] = convert<T>(sum[v]);
    }
  }
}

struct ConvolveState {
  ConvolveArgs args;
  void (*start)(const ConvolveArgs&, cudaStream_t) = nullptr;
};

template <class T, class Work, class W>
void start_convolve(const ConvolveArgs& args, cudaStream_t stream) {
  const unsigned blocks = blocks_for(args.rows * args.chunks * warp, block_threads);
  convolve_kernel<T, Work, W><<<blocks, block_threads, 0, stream>>>(args);
}

void run_convolve(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const ConvolveState*>(state);
  ConvolveArgs args = s.args;
  args.in = launch.operand[0];
  args.kernel = launch.operand[1];
  args.out = launch.operand[2];
  s.start(args, stream_of(launch));
  check_launch("launching a convolution");
}

ConvolveAxis axis_of(const ConvolveSpec& spec, i64 i) {
  const Layout &in = spec.in.layout, &kernel = spec.kernel.layout, &out = spec.out.layout;
  const i64 d = i - (out.ndim() - spec.left.size());
  const bool spatial = d >= 0;
  return {out.shape[i],
          in.shape[i],
          spatial ? kernel.shape[i] : 1,
          out.strides[i],
          in.strides[i],
          spatial ? kernel.strides[i] : 0,
          spatial ? 0 : kernel.strides[i],
          spatial ? spec.left[d] : 0,
          spatial ? spec.stride[d] : 1,
          spatial ? spec.dilation[d] : 1};
}

// Batch axes that step evenly in all operands become one.
bool joins(const ConvolveSpec& spec, const ConvolveAxis& a, const ConvolveAxis& b, i64 i) {
  return i < spec.out.layout.ndim() - spec.left.size() && a.out_step == b.out_step * b.out &&
         a.in_step == b.in_step * b.out && a.kernel_item == b.kernel_item * b.out;
}

ConvolveArgs convolve_args(const ConvolveSpec& spec) {
  std::vector<ConvolveAxis> axes;
  for (i64 i = 0; i < spec.out.layout.ndim(); ++i) {
    const ConvolveAxis a = axis_of(spec, i);
    if (a.out == 1 && a.in == 1 && a.taps == 1 && a.left == 0) continue;
    if (!axes.empty() && joins(spec, axes.back(), a, i)) {
      const i64 n = axes.back().out * a.out;
      axes.back() = a;
      axes.back().out = axes.back().in = n;
    } else {
      axes.push_back(a);
    }
  }
  if (axes.empty()) axes.push_back({1, 1, 1, 1, 1, 0, 0, 0, 1, 1});
  std::stable_sort(axes.begin(), axes.end(), [](const ConvolveAxis& a, const ConvolveAxis& b) {
    return std::abs(a.out_step) < std::abs(b.out_step);
  });
  std::size_t inner = 0;  // the densest axis along which the kernel stays the same
  while (inner + 1 < axes.size() && (axes[inner].kernel_item != 0 || axes[inner].out < 2)) ++inner;
  if (axes[inner].kernel_item != 0)
    axes.insert(axes.begin(), {1, 1, 1, 0, 0, 0, 0, 0, 1, 1}), inner = 0;
  ConvolveArgs args{};
  args.inner = axes[inner];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(inner));
  require<NotAvailable>(axes.size() <= axes_limit, "convolve on cuda: an output of shape ",
                        spec.out.layout.shape, " has more than ", axes_limit + 1,
                        " axes that cannot be merged");
  args.rank = static_cast<int>(axes.size());
  args.rows = args.outer_taps = 1;
  for (int i = 0; i < args.rank; ++i) {
    args.outer[i] = axes[static_cast<std::size_t>(i)];
    args.rows *= args.outer[i].out;
    args.outer_taps *= args.outer[i].taps;
  }
  args.chunks = (args.inner.out + warp * per_thread - 1) / (warp * per_thread);
  args.circular = spec.boundary == Boundary::circular;
  args.conj_kernel = spec.conj_kernel;
  return args;
}

template <class T, class Work>
void choose_start(ConvolveState& s, DType kernel) {
  if constexpr (is_complex_v<Work>) {
    using R = decltype(Work::re);
    s.start = kernel == dtype_of<Work> ? &start_convolve<T, Work, Work>
              : kernel == dtype_of<R>  ? &start_convolve<T, Work, R>
                                       : nullptr;
  } else if (kernel == dtype_of<Work>) {
    s.start = &start_convolve<T, Work, Work>;
  }
}

}  // namespace
}  // namespace cuda

Prepared prepare_convolve_cuda(const ConvolveSpec& spec, Device) {
  using namespace cuda;
  require_convolve(spec);
  auto s = std::make_shared<ConvolveState>();
  dispatch<Half, BFloat16, float, double, c64, c128>(spec.out.dtype, "convolve", [&]<class T>() {
    using Work = std::conditional_t<sizeof(T) == 2, float, T>;
    choose_start<T, Work>(*s, spec.kernel.dtype);
  });
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  s->args = convolve_args(spec);
  Prepared p;
  p.task = {&run_convolve, s};
  p.flops = 2 * convolve_products(spec);
  return p;
}

}  // namespace tessera
