// SPDX-License-Identifier: Apache-2.0
// Sums of overlapping blocks on CUDA: a thread per element of the output finds the blocks that
// cover it and adds their elements in a fixed order. Neighbouring threads read neighbouring
// elements.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/overlap_add/overlap_add.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int overlap_axes = 6;

struct OverlapAddArgs {
  Loops batch;  // operand 0: out, 1: in
  int rank;
  bool small;  // fewer than 2^31 elements in the output
  i64 count, points;
  FastDivider per_item, divider[overlap_axes];
  i64 grid[overlap_axes], block[overlap_axes], stride[overlap_axes], counts[overlap_axes];
  i64 out_step[overlap_axes], k_step[overlap_axes], j_step[overlap_axes];
  const std::int32_t* place;  // masked: of each position in a block, -1 for none
  i64 point_step;
  const void* in;
  void* out;
};

// Splits a position of the output into the item of the batch and the place in the grid.
__device__ inline i64 split_position(const OverlapAddArgs& a, i64 p, i64 (&g)[overlap_axes]) {
  if (a.small) {
    std::uint32_t rest = static_cast<std::uint32_t>(p);
    const std::uint32_t item = a.per_item.divide(rest);
    rest -= item * a.per_item.divisor;
#pragma unroll
    for (int i = 0; i < overlap_axes; ++i) {  // innermost axis first
      if (i == a.rank) break;
      const std::uint32_t next = a.divider[i].divide(rest);
      g[i] = rest - next * a.divider[i].divisor;
      rest = next;
    }
    return item;
  }
  const i64 item = p / a.points;
  i64 rest = p - item * a.points;
#pragma unroll
  for (int i = 0; i < overlap_axes; ++i) {
    if (i == a.rank) break;
    g[i] = rest % a.grid[i];
    rest /= a.grid[i];
  }
  return item;
}

template <class T, class Work>
__global__ void __launch_bounds__(block_threads)
    overlap_add_kernel(const __grid_constant__ OverlapAddArgs a) {
  for (i64 p = thread_position(); p < a.count; p += thread_count()) {
    i64 g[overlap_axes], first[overlap_axes], last[overlap_axes], k[overlap_axes], base[2];
    a.batch.offsets(split_position(a, p, g), base);
    i64 to = base[0];
    bool covered = true;
#pragma unroll
    for (int i = 0; i < overlap_axes; ++i) {
      if (i == a.rank) break;
      const i64 before = g[i] - a.block[i];
      first[i] = before < 0 ? 0 : before / a.stride[i] + 1;
      last[i] = min(a.counts[i] - 1, g[i] / a.stride[i]);
      covered = covered && first[i] <= last[i];
      k[i] = first[i];
      to += g[i] * a.out_step[i];
    }
    Work sum = Work(0);
    while (covered) {
      i64 from = base[1], place = 0;
#pragma unroll
      for (int i = overlap_axes - 1; i >= 0; --i) {
        if (i >= a.rank) continue;
        const i64 j = g[i] - k[i] * a.stride[i];
        from += k[i] * a.k_step[i] + j * a.j_step[i];
        place = place * a.block[i] + j;
      }
      if (a.place == nullptr) {
        sum += convert<Work>(static_cast<const T*>(a.in)[from]);
      } else if (const std::int32_t q = a.place[place]; q >= 0) {
        sum += convert<Work>(static_cast<const T*>(a.in)[from + q * a.point_step]);
      }
      covered = false;
#pragma unroll
      for (int i = 0; i < overlap_axes; ++i) {
        if (i == a.rank) break;
        if (++k[i] <= last[i]) {
          covered = true;
          break;
        }
        k[i] = first[i];
      }
    }
    static_cast<T*>(a.out)[to] = convert<T>(sum);
  }
}

struct OverlapAddState {
  OverlapAddArgs args;
  Array places;
  void (*start)(const OverlapAddArgs&, cudaStream_t) = nullptr;
};

template <class T, class Work>
void start_overlap_add(const OverlapAddArgs& args, cudaStream_t stream) {
  overlap_add_kernel<T, Work>
      <<<blocks_for(args.count, block_threads), block_threads, 0, stream>>>(args);
}

void run_overlap_add(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const OverlapAddState*>(state);
  OverlapAddArgs args = s.args;
  args.in = launch.operand[0];
  args.out = launch.operand[1];
  s.start(args, stream_of(launch));
  check_launch("launching a sum of blocks");
}

Array place_table(const OverlapAddSpec& spec, Device device) {
  const i64 n = count_of(spec.block);
  const Array table(Storage::allocate(cpu, n * 4), Layout::contiguous({n}), DType::i32);
  auto* p = table.host<std::int32_t>();
  std::fill(p, p + n, -1);
  for (std::size_t i = 0; i < spec.places.size(); ++i)
    p[spec.places[i]] = static_cast<std::int32_t>(i);
  return table.to(device);
}

OverlapAddArgs overlap_add_args(const OverlapAddSpec& spec) {
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  const i64 rank = spec.block.size(), batch = out.ndim() - rank;
  require<NotAvailable>(rank <= overlap_axes, "overlap_add on cuda: blocks of ", rank,
                        " axes; at most ", overlap_axes);
  const auto part = [](const auto& v, i64 n) { return Shape(v.begin(), v.begin() + n); };
  const std::array<Strides, 2> steps = {part(out.strides, batch), part(in.strides, batch)};
  const MergedLoops merged = merge_loops(part(out.shape, batch), steps, -1);
  require<NotAvailable>(merged.size.size() <= loop_axes, "overlap_add on cuda: a batch of shape ",
                        part(out.shape, batch), " has more than ", loop_axes,
                        " axes that cannot be merged");
  OverlapAddArgs a{};
  a.batch = device_loops(merged, loop_axes);
  a.rank = static_cast<int>(rank);
  a.count = out.size();
  a.points = 1;
  for (i64 i = 0; i < rank; ++i) {  // innermost first
    const i64 axis = rank - 1 - i;
    a.grid[i] = out.shape[batch + axis];
    a.points *= a.grid[i];
    a.block[i] = spec.block[axis];
    a.stride[i] = spec.stride[axis];
    a.counts[i] = in.shape[batch + axis];
    a.out_step[i] = out.strides[batch + axis];
    a.k_step[i] = in.strides[batch + axis];
    a.j_step[i] = spec.masked ? 0 : in.strides[batch + rank + axis];
  }
  a.point_step = spec.masked ? in.strides[batch + rank] : 0;
  a.small = a.count < (i64{1} << 31);
  if (a.small && a.count > 0) {
    a.per_item = FastDivider(static_cast<std::uint32_t>(a.points));
    for (i64 i = 0; i < rank; ++i)
      a.divider[i] = FastDivider(static_cast<std::uint32_t>(a.grid[i]));
  }
  return a;
}

}  // namespace
}  // namespace cuda

Prepared prepare_overlap_add_cuda(const OverlapAddSpec& spec, Device device) {
  using namespace cuda;
  require<DTypeError>(spec.in.dtype == spec.out.dtype, "overlap_add: from ", name(spec.in.dtype),
                      " into ", name(spec.out.dtype));
  auto s = std::make_shared<OverlapAddState>();
  dispatch<std::int32_t, std::int64_t, Half, BFloat16, float, double, c64, c128>(
      spec.in.dtype, "overlap_add", [&]<class T>() {
        using Work =
            std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
        s->start = &start_overlap_add<T, Work>;
      });
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  s->args = overlap_add_args(spec);
  if (spec.masked) {
    s->places = place_table(spec, device);
    s->args.place = static_cast<const std::int32_t*>(s->places.data());
  }
  Prepared p;
  p.task = {&run_overlap_add, s};
  p.flops = static_cast<double>(spec.in.layout.size());
  return p;
}

}  // namespace tessera
