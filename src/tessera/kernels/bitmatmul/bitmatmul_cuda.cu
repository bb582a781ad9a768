// SPDX-License-Identifier: Apache-2.0
// Counts of common bits on CUDA: the tensor cores where the device has 1-bit products (wgmma on
// compute capability 9.0, mma.sync on 8.x and 9.x), popcounts of words elsewhere and for rows that
// do not lie on whole 16 bytes. Chosen at run time.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/mma.cuh"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"

namespace tessera {
namespace cuda {
namespace {

constexpr i64 most_words = i64{1} << 24;  // of one launch: 2^30 terms fit the 32-bit sums

struct CountState {
  BitCountArgs args;
  bool wide = false;
  int major = 0, processors = 1;
  std::vector<std::array<i64, loop_operands>> slices;  // a, b, out
};

template <class T>
void count_piece(const CountState& s, const BitCountArgs& args, cudaStream_t stream) {
#ifdef TESSERA_SM90A
  if (s.major == 9 && start_wgmma_counts(args, s.wide, s.processors, stream)) return;
#endif
  if ((s.major == 8 || s.major == 9) && launch_mma_counts<T>(args, stream)) return;
  launch_popcounts<T>(args, stream);
}

void run_counts(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const CountState*>(state);
  for (const auto& at : s.slices)
    for (i64 w = 0; w == 0 || w < s.args.words; w += most_words) {
      BitCountArgs args = s.args;
      args.a = static_cast<const std::uint64_t*>(launch.operand[0]) + at[0] + w;
      args.b = static_cast<const std::uint64_t*>(launch.operand[1]) + at[1] + w;
      args.out = at_bytes(launch.operand[2], at[2] * (s.wide ? 8 : 4));
      args.words = std::min(most_words, s.args.words - w);
      args.add = w > 0;
      s.wide ? count_piece<std::int64_t>(s, args, stream_of(launch))
             : count_piece<std::int32_t>(s, args, stream_of(launch));
      check_launch("launching a product of bits");
    }
}

int attribute(cudaDeviceAttr what, Device device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, what, gpu_of(device.index)),
        "reading an attribute of a device");
  return value;
}

}  // namespace

Prepared prepare_bit_counts(const BitMatmulSpec& spec, Device device) {
  const Layout &a = spec.a.layout, &b = spec.b.layout, &out = spec.out.layout;
  const i64 last = out.ndim() - 1;
  if (out.size() == 0) return {{&run_nothing, nullptr}};
  auto s = std::make_shared<CountState>();
  s->wide = spec.out.dtype == DType::i64;
  s->major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  s->processors = attribute(cudaDevAttrMultiProcessorCount, device);
  const std::array<Strides, 3> strides = {batch_layout(a).strides, batch_layout(b).strides,
                                          batch_layout(out).strides};
  const MergedLoops merged = merge_loops(batch_layout(out).shape, strides, 2);
  s->slices = outer_slices(merged, 1);
  BitCountArgs& g = s->args;
  if (!merged.size.empty()) {
    g.batch = merged.size[0];
    g.a_batch = merged.stride[0][0];
    g.b_batch = merged.stride[1][0];
    g.out_batch = merged.stride[2][0];
  }
  g.m = out.shape[last - 1];
  g.n = out.shape[last];
  g.words = bit_words(spec.inner);
  g.a_row = a.strides[last - 1];
  g.b_row = b.strides[last - 1];
  g.out_row = out.strides[last - 1];
  g.out_column = out.strides[last];
  g.upper = spec.upper && g.words <= most_words;
  Prepared p;
  p.flops = 2.0 * static_cast<double>(out.size()) * static_cast<double>(spec.inner) *
            (spec.upper ? 1.0 / 6 : 1.0);
  p.task = {&run_counts, s};
  return p;
}

}  // namespace cuda

Prepared prepare_bitmatmul_cuda(const BitMatmulSpec& spec, Device device) {
  check_bitmatmul(spec);
  return spec.kind == BitProduct::counts ? cuda::prepare_bit_counts(spec, device)
                                         : cuda::prepare_bit_paths(spec, device);
}

}  // namespace tessera
