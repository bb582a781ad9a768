// SPDX-License-Identifier: Apache-2.0
// Chooses and prepares the element-wise kernel of a spec; see elementwise_cuda.cuh for the engines.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

#include <cstring>

namespace tessera {
namespace cuda {
namespace {

struct ElementwiseState {
  GenericArgs generic;
  GenericLaunch launch = nullptr;
  HotArgs hot;
  HotLaunches hot_launch;
  Loops plain, packed;     // hot and strided: per element, and per pack along the innermost axis
  HotMode packed_mode[3];  // of the inputs when packs are used
  bool dense = false, packable = false;
  TileLaunch tile = nullptr;
  TileArgs tile_args;
  int slot[3] = {-1, -1, -1};  // operand number of each input; -1 = immediate
  int out_slot = 0;
  i64 bytes[4] = {};  // of one element of each operand
  std::vector<std::array<i64, loop_operands>> slices;
};

// Narrow types are computed in the wide type of their kind and wrap or round when they are stored.
DType wide(DType t) {
  if (is_signed_int(t)) return DType::i64;
  if (is_unsigned_int(t)) return DType::u64;
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  return t;
}

// The number as the compute type sees it (rounded to it first), stored as `as`.
void write_immediate(const Value& v, DType rounded, DType as, unsigned char* to) {
  with_type(rounded, [&]<class R>() {
    R r;
    if constexpr (std::is_same_v<R, bool>)
      r = convert<bool>(v.as<c128>());
    else if constexpr (std::is_same_v<R, Half> || std::is_same_v<R, BFloat16>)
      r = R(v.as<float>());
    else
      r = v.as<R>();
    with_type(as, [&]<class T>() {
      const T t = convert<T>(r);
      std::memcpy(to, &t, sizeof t);
    });
  });
}

HotLaunches find_hot(const ElementwiseSpec& spec) {
  for (const auto& in : spec.inputs)
    if (!in.immediate && in.operand.dtype != spec.compute) return {};
  if (spec.out.dtype != spec.compute) return {};
  ElementOp op = spec.op;
  const bool complex = is_complex(spec.compute);
  if (op == ElementOp::positive || (op == ElementOp::conj && !complex)) op = ElementOp::copy;
  if (op == ElementOp::conj_multiply && !complex) op = ElementOp::multiply;
  if (op == ElementOp::copy) return find_hot_copy(size_of(spec.compute));
  return complex ? find_hot_complex(op, spec.compute) : find_hot_real(op, spec.compute);
}

// Packs need steps of one (or zero, for inputs) inside and whole packs outside.
void prepare_packs(ElementwiseState& s, const MergedLoops& m, const ElementwiseSpec& spec) {
  const i64 n = s.hot_launch.vector;
  s.packable = n > 1 && m.size[0] % n == 0 && m.stride[3][0] == 1;
  const auto inputs = static_cast<int>(spec.inputs.size());
  for (int k = 0; k < 4 && s.packable; ++k) {
    if (k != 3 && (k >= inputs || s.hot.in[k].mode != HotMode::each)) continue;
    const i64 inner = m.stride[static_cast<std::size_t>(k)][0];
    s.packable = inner == 1 || inner == 0;
    for (i64 axis = 1; s.packable && inner == 1 && axis < m.size.size(); ++axis)
      s.packable = m.stride[static_cast<std::size_t>(k)][axis] % n == 0;
    if (k != 3 && inner == 0) s.packed_mode[k] = HotMode::repeat;
  }
  if (!s.packable) return;
  MergedLoops packs = m;
  packs.size[0] /= n;
  packs.count /= n;
  for (auto& stride : packs.stride) stride[0] *= n;
  s.packed = device_loops(packs, loop_axes);
}

// A plain copy with exchanged axes goes by tiles when both sides have a dense axis worth it.
void prepare_tile(ElementwiseState& s, MergedLoops m, DType dtype) {
  constexpr i64 worth = 16;
  if (m.stride[3][0] != 1 || m.size[0] < worth) return;
  i64 y = 1;
  while (y < m.size.size() && !(m.stride[0][y] == 1 && m.size[y] >= worth)) ++y;
  if (y == m.size.size()) return;
  s.tile = find_tile(size_of(dtype));
  s.tile_args.x_size = m.size[0];
  s.tile_args.y_size = m.size[y];
  s.tile_args.in_step = m.stride[0][0];
  s.tile_args.out_step = m.stride[3][y];
  for (i64 axis : {y, i64{0}}) {
    m.count /= m.size[axis];
    m.size.erase(axis);
    for (auto& stride : m.stride) stride.erase(axis);
  }
  s.tile_args.rest = device_loops(m, loop_axes);
}

void prepare_hot(ElementwiseState& s, const MergedLoops& m, const ElementwiseSpec& spec) {
  s.hot.count = m.count;
  bool dense = m.size.size() <= 1 && (m.size.empty() || m.stride[3][0] == 1);
  for (std::size_t k = 0; k < spec.inputs.size(); ++k) {
    HotInput& in = s.hot.in[k];
    if (spec.inputs[k].immediate) {
      write_immediate(*spec.inputs[k].immediate, spec.compute, spec.compute, in.value);
      continue;
    }
    const bool uniform =
        std::all_of(m.stride[k].begin(), m.stride[k].end(), [](i64 v) { return v == 0; });
    in.mode = uniform && !m.size.empty() ? HotMode::uniform : HotMode::each;
    dense &= in.mode == HotMode::uniform || m.size.empty() || m.stride[k][0] == 1;
  }
  s.dense = dense;
  for (int k = 0; k < 3; ++k) s.packed_mode[k] = s.hot.in[k].mode;
  if (dense) return;
  s.plain = device_loops(m, loop_axes);
  prepare_packs(s, m, spec);
  if (spec.op == ElementOp::copy && s.hot.in[0].mode == HotMode::each)
    prepare_tile(s, m, spec.out.dtype);
}

void prepare_generic(ElementwiseState& s, const MergedLoops& m, const ElementwiseSpec& spec) {
  const ElementFamily f = family(spec.op);
  const DType compute = f == ElementFamily::logic ? DType::b1 : wide(spec.compute);
  for (auto find :
       {&find_generic_integer, &find_generic_real, &find_generic_complex, &find_generic_logic})
    if (!s.launch) s.launch = find(f, compute, spec.op);
  require<DTypeError>(s.launch != nullptr, name(spec.op), ": no kernel for ", name(spec.compute),
                      " on cuda");
  s.generic.loops = device_loops(m, loop_axes);
  s.generic.op = spec.op;
  s.generic.arity = static_cast<int>(spec.inputs.size());
  s.generic.out_type = spec.out.dtype;
  for (std::size_t k = 0; k < spec.inputs.size(); ++k) {
    const auto& in = spec.inputs[k];
    s.generic.type[k] = in.operand.dtype;
    s.generic.immediate[k] = in.immediate.has_value();
    if (!in.immediate) continue;
    const bool truth = f == ElementFamily::logic || (spec.op == ElementOp::where && k == 0);
    write_immediate(*in.immediate, truth ? DType::b1 : spec.compute, compute, s.generic.value[k]);
  }
}

bool aligned16(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

void run_tile(const ElementwiseState& s, const Launch& launch, cudaStream_t stream) {
  TileArgs args = s.tile_args;
  args.in = launch.operand[0];
  args.out = launch.operand[1];
  s.tile(args, stream);
}

void run_hot(const ElementwiseState& s, const Launch& launch, cudaStream_t stream) {
  HotArgs args = s.hot;
  args.out = launch.operand[static_cast<std::size_t>(s.out_slot)];
  bool aligned = aligned16(args.out);
  for (int k = 0; k < 3; ++k) {
    if (s.slot[k] < 0) continue;
    args.in[k].pointer = launch.operand[static_cast<std::size_t>(s.slot[k])];
    if (s.packed_mode[k] == HotMode::each) aligned &= aligned16(args.in[k].pointer);
  }
  if (s.dense) {
    s.hot_launch.dense(args, aligned, stream);
  } else if (aligned && s.packable) {
    for (int k = 0; k < 3; ++k) args.in[k].mode = s.packed_mode[k];
    s.hot_launch.strided(args, s.packed, true, stream);
  } else {
    s.hot_launch.strided(args, s.plain, false, stream);
  }
}

void run_elementwise(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const ElementwiseState*>(state);
  const cudaStream_t stream = stream_of(launch);
  if (s.tile) return run_tile(s, launch, stream);
  if (s.hot_launch.dense) return run_hot(s, launch, stream);
  GenericArgs args = s.generic;
  for (const auto& at : s.slices) {
    for (std::size_t k = 0; k < 3; ++k)
      if (s.slot[k] >= 0)
        args.in[k] =
            static_cast<const std::byte*>(launch.operand[static_cast<std::size_t>(s.slot[k])]) +
            at[k] * s.bytes[k];
    args.out = static_cast<std::byte*>(launch.operand[static_cast<std::size_t>(s.out_slot)]) +
               at[3] * s.bytes[3];
    s.launch(args, stream);
  }
}

void run_nothing(const void*, const Launch&) {}

}  // namespace
}  // namespace cuda

Prepared prepare_elementwise_cuda(const ElementwiseSpec& given, Device) {
  using namespace cuda;
  ElementwiseSpec spec = given;
  const bool rounds =
      spec.op == ElementOp::floor || spec.op == ElementOp::ceil || spec.op == ElementOp::trunc;
  if (rounds && !is_inexact(spec.compute)) spec.op = ElementOp::copy;  // integers are round already
  Prepared p;
  if (spec.out.layout.size() == 0) {
    p.task.run = &run_nothing;
    return p;
  }
  auto s = std::make_shared<ElementwiseState>();
  std::array<Strides, loop_operands> strides;
  for (auto& v : strides) v.resize(spec.out.layout.ndim(), 0);
  int next = 0;
  for (std::size_t k = 0; k < spec.inputs.size(); ++k) {
    if (spec.inputs[k].immediate) continue;
    s->slot[k] = next++;
    strides[k] = spec.inputs[k].operand.layout.strides;
    s->bytes[k] = size_of(spec.inputs[k].operand.dtype);
  }
  s->out_slot = next;
  strides[3] = spec.out.layout.strides;
  s->bytes[3] = size_of(spec.out.dtype);
  const MergedLoops merged = merge_loops(spec.out.layout.shape, strides, 3);
  if (merged.size.size() <= loop_axes) s->hot_launch = find_hot(spec);
  if (s->hot_launch.dense) {
    prepare_hot(*s, merged, spec);
  } else {
    prepare_generic(*s, merged, spec);
    s->slices = outer_slices(merged, loop_axes);
  }
  p.task = {&run_elementwise, s};
  p.flops = static_cast<double>(merged.count);
  return p;
}

}  // namespace tessera
