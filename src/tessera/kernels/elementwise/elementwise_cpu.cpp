// SPDX-License-Identifier: Apache-2.0
// The cpu kernel. Three ways to run, chosen when it is prepared: all operands contiguous in the
// work type (one call of the block loop, or chunks of it), copies and fills (conversion only), and
// the general case: blocks of at most `block_size` elements, each operand used where it lies when
// it can be, else gathered and converted into a small buffer on the stack.
#include "tessera/kernels/elementwise/elementwise_cpu.hpp"

#include <algorithm>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"

namespace tessera {
namespace {

constexpr i64 block_size = 1024;  // elements of a buffered block: 16 KiB at most per operand
constexpr i64 short_run = 64;     // shorter runs are gathered: a call per run would cost more
constexpr int max_inputs = 3;

struct Input {
  int slot = -1;        // operand of the launch; -1: the immediate
  bool scalar = false;  // one element for all, already or after one conversion
  bool direct = false;  // has the work type: usable where it lies when its step is unit
  i64 size = 0, work_size = 0;
  CastRow load = nullptr, spread = nullptr;
  Element immediate{};  // in the work type
  Loop loop;
};

struct State {
  BlockFn block = nullptr;
  int inputs = 0, out_slot = 0;
  unsigned immediates = 0;  // scalars of the dense case
  i64 size = 0, grain = 0;
  std::array<Input, max_inputs> input;
  bool out_direct = false;
  i64 out_size = 0,
      result_size = 0;  // bytes of an element in memory, and as the block loop gives it
  CastRow store = nullptr;
  Loop out_loop;
};

DType work_of(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

DType natural_result(ElementOp op, DType work) {
  switch (family(op)) {
    case ElementFamily::compare:
    case ElementFamily::logic:
    case ElementFamily::test: return DType::b1;
    case ElementFamily::real_part: return real_of(work);
    default: return work;
  }
}

// Ops of three inputs take a scalar in the middle only.
bool takes_scalar(const State& s, int i) { return s.inputs < 3 || i == 1; }

const void* pointer_of(const Input& in, const Launch& launch) {
  return in.slot < 0 ? &in.immediate : launch.operand[static_cast<std::size_t>(in.slot)];
}

void run_dense_small(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const void* in[max_inputs];
  for (int i = 0; i < s.inputs; ++i)
    in[i] = pointer_of(s.input[static_cast<std::size_t>(i)], launch);
  s.block(in, launch.operand[static_cast<std::size_t>(s.out_slot)], s.size, s.immediates);
}

void run_dense(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  parallel_for(s.size, s.grain, [&](i64 begin, i64 end) {
    const void* in[max_inputs];
    for (int i = 0; i < s.inputs; ++i) {
      const Input& x = s.input[static_cast<std::size_t>(i)];
      in[i] =
          static_cast<const std::byte*>(pointer_of(x, launch)) + (x.scalar ? 0 : begin * x.size);
    }
    auto* out = static_cast<std::byte*>(launch.operand[static_cast<std::size_t>(s.out_slot)]);
    s.block(in, out + begin * s.out_size, end - begin, s.immediates);
  });
}

using Buffer = std::array<std::byte, block_size * 16>;

// One chunk of the general case: a cursor per operand, a buffer for each that cannot be used in
// place.
class Chunk {
 public:
  Chunk(const State& s, const Launch& launch, i64 begin)
      : s_(s),
        cursor_{Cursor(s.input[0].loop, begin), Cursor(s.input[1].loop, begin),
                Cursor(s.input[2].loop, begin), Cursor(s.out_loop, begin)},
        out_(static_cast<std::byte*>(launch.operand[static_cast<std::size_t>(s.out_slot)])) {
    for (int i = 0; i < s.inputs; ++i) {
      const Input& in = input(i);
      base_[i] = static_cast<const std::byte*>(pointer_of(in, launch));
      if (!in.scalar) continue;
      if (in.slot >= 0) {
        in.load(base_[i], in.size, &constant_[i], in.work_size, 1);
        base_[i] = constant_[i].bytes;
      }
      // What the block loop does not take as a scalar is repeated in the buffer.
      if (!takes_scalar(s, i))
        in.spread(base_[i], 0, buffer_[i].data(), in.work_size, std::min(s.size, block_size));
    }
  }

  void run(i64 end) {
    while (cursor_[max_inputs].position() < end) step(end - cursor_[max_inputs].position());
  }

 private:
  const Input& input(int i) const { return s_.input[static_cast<std::size_t>(i)]; }

  void step(i64 left) {
    i64 run = std::min(left, cursor_[max_inputs].run());
    for (int i = 0; i < s_.inputs; ++i)
      if (!input(i).scalar) run = std::min(run, cursor_[i].run());
    const i64 n = std::min({run < short_run ? left : run, left, block_size});
    const void* in[max_inputs];
    unsigned scalars = 0;
    for (int i = 0; i < s_.inputs; ++i) in[i] = fetch(i, n, scalars);
    Cursor& c = cursor_[max_inputs];
    const bool in_row = n <= c.run();
    if (s_.out_direct && in_row && s_.out_loop.inner_stride(0) == s_.out_size) {
      s_.block(in, out_ + c.offset(0), n, scalars);
      c.advance(n);
      return;
    }
    s_.block(in, buffer_[max_inputs].data(), n, scalars);
    for (i64 done = 0; done < n;) {
      const i64 m = std::min(n - done, c.run());
      s_.store(buffer_[max_inputs].data() + done * s_.result_size, s_.result_size,
               out_ + c.offset(0), s_.out_loop.inner_stride(0), m);
      c.advance(m);
      done += m;
    }
  }

  // The next n elements of input i as a contiguous row of the work type.
  const void* fetch(int i, i64 n, unsigned& scalars) {
    const Input& in = input(i);
    if (in.scalar) {
      if (!takes_scalar(s_, i)) return buffer_[i].data();
      scalars |= 1u << i;
      return base_[i];
    }
    Cursor& c = cursor_[i];
    const i64 step = in.loop.inner_stride(0);
    if (n <= c.run()) {
      const std::byte* p = base_[i] + c.offset(0);
      if (in.direct && step == in.size) {
        c.advance(n);
        return p;
      }
      if (step == 0 && s_.inputs < 3) {
        in.load(p, in.size, &constant_[i], in.work_size, 1);
        c.advance(n);
        scalars |= 1u << i;
        return &constant_[i];
      }
    }
    for (i64 done = 0; done < n;) {
      const i64 m = std::min(n - done, c.run());
      in.load(base_[i] + c.offset(0), step, buffer_[i].data() + done * in.work_size, in.work_size,
              m);
      c.advance(m);
      done += m;
    }
    return buffer_[i].data();
  }

  const State& s_;
  Cursor cursor_[max_inputs + 1];
  const std::byte* base_[max_inputs];
  std::byte* out_;
  Element constant_[max_inputs];
  alignas(64) Buffer buffer_[max_inputs + 1];
};

void run_general(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  parallel_for(s.size, s.grain, [&](i64 begin, i64 end) { Chunk(s, launch, begin).run(end); });
}

void run_nothing(const void*, const Launch&) {}

void describe_input(Input& x, const ElementwiseSpec::Input& in, DType compute, DType work) {
  x.work_size = size_of(work);
  x.spread = cast_row(work, work);
  if (in.immediate) {
    x.scalar = x.direct = true;
    x.size = x.work_size;
    x.immediate = element_of(*in.immediate, compute, work);
    return;
  }
  x.size = size_of(in.operand.dtype);
  x.direct = in.operand.dtype == work;
  x.load = cast_row(in.operand.dtype, work);
}

// Everything contiguous in the work type, or an immediate: the block loop needs no help.
bool is_dense(const State& s, const Loop& loop) {
  if (loop.axes() != 1 || loop.start(0) != 0 || !s.out_direct ||
      s.out_loop.inner_stride(0) != s.out_size)
    return false;
  for (int i = 0; i < s.inputs; ++i) {
    const Input& in = s.input[static_cast<std::size_t>(i)];
    if (!in.direct || (in.slot >= 0 && in.loop.start(0) != 0) ||
        (in.scalar ? !takes_scalar(s, i) : in.loop.inner_stride(0) != in.size))
      return false;
  }
  return true;
}

}  // namespace

BlockFn element_block(ElementOp op, DType t) {
  switch (family(op)) {
    case ElementFamily::arith: return family_block<ElementFamily::arith>(op, t);
    case ElementFamily::compare: return family_block<ElementFamily::compare>(op, t);
    case ElementFamily::logic: return family_block<ElementFamily::logic>(op, t);
    case ElementFamily::bits: return family_block<ElementFamily::bits>(op, t);
    case ElementFamily::math: return family_block<ElementFamily::math>(op, t);
    case ElementFamily::real_math: return family_block<ElementFamily::real_math>(op, t);
    case ElementFamily::test: return family_block<ElementFamily::test>(op, t);
    case ElementFamily::real_part: return family_block<ElementFamily::real_part>(op, t);
  }
  return nullptr;
}

// Elements that a thread should get at least: about 10 us of work.
i64 element_grain(ElementOp op) {
  const ElementFamily f = family(op);
  if (op == ElementOp::floor || op == ElementOp::ceil || op == ElementOp::trunc ||
      op == ElementOp::rint || op == ElementOp::copysign)
    return 32768;
  const bool slow = op == ElementOp::power || op == ElementOp::remainder ||
                    op == ElementOp::floor_divide || op == ElementOp::angle ||
                    f == ElementFamily::math || f == ElementFamily::real_math;
  return slow ? 4096 : 32768;
}

Prepared prepare_elementwise_cpu(const ElementwiseSpec& spec, Device) {
  if (spec.out.layout.size() == 0) return {.task = {&run_nothing, nullptr}};
  if (spec.op == ElementOp::copy) return prepare_copy_cpu(spec);
  auto state = std::make_shared<State>();
  State& s = *state;
  const DType work = work_of(spec.compute), result = natural_result(spec.op, work);
  s.block = element_block(spec.op, spec.compute);
  require<DTypeError>(s.block != nullptr, name(spec.op), ": no kernel for ", spec.compute);
  s.inputs = static_cast<int>(spec.inputs.size());
  s.size = spec.out.layout.size();
  s.grain = element_grain(spec.op);
  s.out_size = size_of(spec.out.dtype);
  s.result_size = size_of(result);
  s.out_direct = spec.out.dtype == result;
  s.store = cast_row(result, spec.out.dtype);

  SmallVec<const Layout*, 4> layouts{&spec.out.layout};
  SmallVec<i64, 4> sizes{s.out_size};
  for (int i = 0; i < s.inputs; ++i) {
    const ElementwiseSpec::Input& in = spec.inputs[static_cast<std::size_t>(i)];
    const bool condition = spec.op == ElementOp::where && i == 0;
    describe_input(s.input[static_cast<std::size_t>(i)], in, condition ? DType::b1 : spec.compute,
                   condition ? DType::b1 : work);
    if (in.immediate) continue;
    s.input[static_cast<std::size_t>(i)].slot = s.out_slot++;
    layouts.push_back(&in.operand.layout);
    sizes.push_back(s.input[static_cast<std::size_t>(i)].size);
  }
  const Loop loop(layouts, sizes);
  s.out_loop = loop.only(0);
  for (int i = 0; i < s.inputs; ++i) {
    Input& x = s.input[static_cast<std::size_t>(i)];
    if (x.slot >= 0) {
      x.scalar = loop.is_scalar(x.slot + 1);
      x.loop = loop.only(x.slot + 1);
    }
    if (x.scalar && x.direct && takes_scalar(s, i)) s.immediates |= 1u << i;
  }
  const RunFn run = !is_dense(s, loop)  ? &run_general
                    : s.size <= s.grain ? &run_dense_small
                                        : &run_dense;
  return {.task = {run, std::move(state)}, .flops = static_cast<double>(s.size)};
}

}  // namespace tessera
