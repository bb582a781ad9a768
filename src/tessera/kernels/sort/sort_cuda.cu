// SPDX-License-Identifier: Apache-2.0
// Sorting on CUDA: elements become unsigned keys that order as NumPy does (NaN last, -0 equal to
// 0), all rows are sorted together by stable radix sorts of (key, position) pairs, the row being
// the highest digit. Complex numbers go by imaginary part, real part, then by where their NaNs are.
#include <cub/device/device_radix_sort.cuh>

#include <bit>

#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera {
namespace cuda {
namespace {

using Key = std::uint64_t;

// One radix sort: which part of the element makes the key.
enum class Digit : std::uint8_t { value, imaginary, real, placement };
struct SortPass {
  Digit digit;
  bool with_row;  // the row is above the digit's bits
  int bits;       // of the digit alone
};

struct SortArgs {
  Loops in, out;  // row-major over all elements; operand 0 each
  const void* source;
  void* target;
  DType type;
  i64 length, count;
  Key* key;
  i64* position;
};

__device__ inline Key float_key(double v) {
  if (v != v) return ~Key{0};
  const Key bits = __builtin_bit_cast(Key, v == 0 ? 0.0 : v);
  return bits >> 63 ? ~bits : bits | (Key{1} << 63);
}
__device__ inline Key float_key(float v) {
  if (v != v) return 0xffffffffu;
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, v == 0 ? 0.0f : v);
  return bits >> 31 ? static_cast<std::uint32_t>(~bits) : bits | 0x80000000u;
}

template <class T>
__device__ inline Key digit_of(const T& v, Digit digit) {
  if constexpr (is_complex_v<T>) {
    switch (digit) {
      case Digit::imaginary: return float_key(v.im);
      case Digit::real: return float_key(v.re);
      default: return static_cast<Key>(v.re != v.re) * 2 + static_cast<Key>(v.im != v.im);
    }
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return float_key(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_key(v);
  } else if constexpr (std::is_signed_v<T>) {
    constexpr int bits = 8 * sizeof(T);
    return (static_cast<Key>(v) ^ (Key{1} << (bits - 1))) & (~Key{0} >> (64 - bits));
  } else {
    return static_cast<Key>(v);
  }
}

int digit_bits(DType t) {
  if (is_complex(t)) return static_cast<int>(size_of(t)) * 4;
  return t == DType::f16 || t == DType::bf16 ? 32 : static_cast<int>(size_of(t)) * 8;
}

__global__ void __launch_bounds__(block_threads)
    make_keys(const __grid_constant__ SortArgs args, SortPass pass, bool fresh) {
  for (i64 i = thread_position(); i < args.count; i += thread_count()) {
    const i64 position = fresh ? i : args.position[i];
    if (fresh) args.position[i] = i;
    i64 at[1];
    args.in.offsets(position, at);
    Key key = 0;
    with_type(args.type,
              [&]<class T>() { key = digit_of(load_raw<T>(args.source, at[0]), pass.digit); });
    if (pass.with_row) key |= static_cast<Key>(position / args.length) << pass.bits;
    args.key[i] = key;
  }
}

// Where the row does not fit above the digit it is sorted by itself.
__global__ void __launch_bounds__(block_threads)
    make_row_keys(const __grid_constant__ SortArgs args) {
  for (i64 i = thread_position(); i < args.count; i += thread_count())
    args.key[i] = static_cast<Key>(args.position[i] / args.length);
}

__global__ void __launch_bounds__(block_threads)
    write_sorted(const __grid_constant__ SortArgs args, bool positions) {
  for (i64 i = thread_position(); i < args.count; i += thread_count()) {
    i64 from[1], to[1];
    args.out.offsets(i, to);
    const i64 position = args.position[i];
    if (positions) {
      static_cast<i64*>(args.target)[to[0]] = position - i / args.length * args.length;
      continue;
    }
    args.in.offsets(position, from);
    with_type(args.type, [&]<class T>() {
      static_cast<T*>(args.target)[to[0]] = static_cast<const T*>(args.source)[from[0]];
    });
  }
}

struct SortState {
  SortArgs args;
  std::vector<SortPass> passes;
  bool positions = false, row_pass = false;
  int row_bits = 0;
  i64 key_at[2], position_at[2], temporary_at = 0;
  std::size_t temporary = 0;
};

cudaError_t sort_pairs(void* temporary, std::size_t& bytes, cub::DoubleBuffer<Key>& keys,
                       cub::DoubleBuffer<i64>& positions, i64 count, int bits,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, positions, count, 0, bits, stream);
}

void run_sort(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const SortState*>(state);
  const cudaStream_t stream = stream_of(launch);
  const auto keys_at = [&](int i) {
    return static_cast<Key*>(at_bytes(launch.workspace, s.key_at[i]));
  };
  const auto positions_at = [&](int i) {
    return static_cast<i64*>(at_bytes(launch.workspace, s.position_at[i]));
  };
  cub::DoubleBuffer<Key> keys(keys_at(0), keys_at(1));
  cub::DoubleBuffer<i64> positions(positions_at(0), positions_at(1));
  SortArgs args = s.args;
  args.source = launch.operand[0];
  args.target = launch.operand[1];
  const unsigned blocks = blocks_for(args.count, block_threads);
  const auto sort = [&](int bits) {
    std::size_t bytes = s.temporary;
    check(sort_pairs(at_bytes(launch.workspace, s.temporary_at), bytes, keys, positions, args.count,
                     bits, stream),
          "sorting");
  };
  for (std::size_t k = 0; k < s.passes.size(); ++k) {
    args.key = keys.Current();
    args.position = positions.Current();
    make_keys<<<blocks, block_threads, 0, stream>>>(args, s.passes[k], k == 0);
    check_launch("launching the keys of a sort");
    sort(s.passes[k].bits + (s.passes[k].with_row ? s.row_bits : 0));
  }
  if (s.row_pass) {
    args.key = keys.Current();
    args.position = positions.Current();
    make_row_keys<<<blocks, block_threads, 0, stream>>>(args);
    check_launch("launching the row keys of a sort");
    sort(s.row_bits);
  }
  args.position = positions.Current();
  write_sorted<<<blocks, block_threads, 0, stream>>>(args, s.positions);
  check_launch("launching the end of a sort");
}

void plan_passes(SortState& s, DType t, i64 rows) {
  const int bits = digit_bits(t);
  if (is_complex(t)) {
    s.passes = {
        {Digit::imaginary, false, bits}, {Digit::real, false, bits}, {Digit::placement, false, 2}};
  } else {
    s.passes = {{Digit::value, false, bits}};
  }
  s.row_bits = rows > 1 ? 64 - std::countl_zero(static_cast<std::uint64_t>(rows - 1)) : 0;
  SortPass& last = s.passes.back();
  last.with_row = s.row_bits > 0 && last.bits + s.row_bits <= 64;
  s.row_pass = s.row_bits > 0 && !last.with_row;
}

Loops row_major_loops(const Layout& l) {
  const MergedLoops m = merge_loops(l.shape, {&l.strides, 1}, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "sort on cuda: shape ", l.shape,
                        " has more than ", loop_axes, " axes that cannot be merged");
  return device_loops(m, loop_axes);
}

}  // namespace
}  // namespace cuda

Prepared prepare_sort_cuda(const SortSpec& spec, Device device) {
  using namespace cuda;
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  auto s = std::make_shared<SortState>();
  SortArgs& a = s->args;
  a.in = row_major_loops(spec.in.layout);
  a.out = row_major_loops(spec.out.layout);
  a.type = spec.in.dtype;
  a.count = spec.in.layout.size();
  a.length = spec.in.layout.ndim() == 0 ? 1 : spec.in.layout.shape.back();
  s->positions = spec.positions;
  plan_passes(*s, a.type, a.count / a.length);
  WorkspacePlan ws;
  for (int i = 0; i < 2; ++i) s->key_at[i] = ws.take(a.count * 8);
  for (int i = 0; i < 2; ++i) s->position_at[i] = ws.take(a.count * 8);
  const DeviceGuard guard(device.index);
  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<i64> positions;
  check(sort_pairs(nullptr, s->temporary, keys, positions, a.count, 64, nullptr), "sizing a sort");
  s->temporary_at = ws.take(static_cast<i64>(s->temporary));
  Prepared p;
  p.workspace = ws.total();
  p.flops = static_cast<double>(a.count) * 16;
  p.task = {&run_sort, s};
  return p;
}

}  // namespace tessera
