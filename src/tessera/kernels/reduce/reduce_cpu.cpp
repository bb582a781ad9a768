// SPDX-License-Identifier: Apache-2.0
// The cpu kernel. Note [order of a reduction]: the reduced positions are cut into leaves of a fixed
// length, a leaf is reduced by the loops of reduce_rows.hpp, and leaves are joined as a binary tree
// in their order. Where the tree is cut for threads depends on the shapes alone, so results do not
// depend on the number of threads.
#include "tessera/kernels/reduce/reduce_cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"

namespace tessera {
namespace {

constexpr i64 leaf_size = 2048;    // elements of a row that become one accumulator
constexpr i64 lane_bytes = 16384;  // accumulators of the outputs that are reduced side by side
constexpr i64 lane_leaf = 32;      // rows added to one set of lanes before the tree begins
// Of a task when one reduction is shared by threads: so many leaves of the above, a power of two.
constexpr i64 segment_rows = 16 * leaf_size, segment_lanes = 32 * lane_leaf;
constexpr i64 few_outputs =
    64;  // up to so many outputs, threads share reductions instead of taking turns
constexpr i64 max_accumulator = 32;
constexpr i64 work_per_thread = 16384;

struct State {
  ReduceFns fns;
  Loop kept;     // out, in (, in2)
  Loop reduced;  // in (, in2)
  bool two_inputs = false, by_lanes = false;
  bool by_columns = false;  // positions and truths of neighbouring columns, all rows at once
  bool plain_rows = false;  // each output's elements lie densely in the work type and are one leaf
  i64 outputs = 0, length = 0, leaf = 0, segment = 0, segments = 1, lanes = 1;
  std::array<bool, 2> direct{};
  std::array<i64, 2> size{};
  std::array<CastRow, 2> load{};
  i64 work_size = 0, result_size = 0;
  CastRow store = nullptr;
};

// Joins accumulators (sets of n lanes) pairwise in the order in which they come, as a binary
// counter.
class Tree {
 public:
  Tree(const ReduceFns& fns, i64 n, std::byte* memory) : fns_(fns), n_(n), memory_(memory) {}
  std::byte* next() { return level(depth_); }  // where the next set is to be written
  void push() {                                // what next() pointed to is complete
    i64 d = depth_++;
    for (i64 c = ++count_; c % 2 == 0; c /= 2, --d, --depth_)
      fns_.combine(level(d - 1), level(d), n_);
  }
  const std::byte* result() {  // at least one push
    for (; depth_ > 1; --depth_) fns_.combine(level(depth_ - 2), level(depth_ - 1), n_);
    return memory_;
  }

 private:
  std::byte* level(i64 d) const { return memory_ + d * n_ * fns_.accumulator; }
  const ReduceFns& fns_;
  i64 n_;
  std::byte* memory_;
  i64 depth_ = 0, count_ = 0;
};
constexpr i64 tree_levels = 48;

struct Bases {
  const std::byte* in[2];
};

// n elements from the cursor on, contiguous in the work type: where they lie, or gathered.
const void* fetch(const State& s, const std::byte* base, int k, Cursor c, i64 n,
                  std::byte* buffer) {
  const std::size_t i = static_cast<std::size_t>(k);
  const i64 step = s.reduced.inner_stride(k);
  if (s.direct[i] && n <= c.run() && (step == s.size[i] || n == 1)) return base + c.offset(k);
  for (i64 done = 0; done < n;) {
    const i64 m = std::min(n - done, c.run());
    s.load[i](base + c.offset(k), step, buffer + done * s.work_size, s.work_size, m);
    c.advance(m);
    done += m;
  }
  return buffer;
}

// One output from positions [begin, end), begin a multiple of the leaf.
void reduce_row(const State& s, const Bases& bases, i64 begin, i64 end, void* accumulator) {
  alignas(64) std::byte buffer[2][leaf_size * 16];
  alignas(64) std::byte memory[tree_levels * max_accumulator];
  Tree tree(s.fns, 1, memory);
  for (Cursor c(s.reduced, begin); c.position() < end;) {
    const i64 n = std::min(s.leaf, end - c.position());
    const void* a = fetch(s, bases.in[0], 0, c, n, buffer[0]);
    const void* b = s.two_inputs ? fetch(s, bases.in[1], 1, c, n, buffer[1]) : nullptr;
    s.fns.row(a, b, n, c.position(), tree.next());
    tree.push();
    for (i64 left = n; left > 0;) {
      const i64 m = std::min(left, c.run());
      c.advance(m);
      left -= m;
    }
  }
  std::memcpy(accumulator, tree.result(), static_cast<std::size_t>(s.fns.accumulator));
}

// `lanes` neighbouring outputs from positions [begin, end), begin a multiple of the leaf.
void reduce_lanes(const State& s, const Bases& bases, i64 lanes, i64 begin, i64 end,
                  void* accumulators) {
  alignas(64) std::byte buffer[2][lane_bytes];
  alignas(64) std::byte memory[tree_levels * lane_bytes];
  Tree tree(s.fns, lanes, memory);
  const void* row[2] = {nullptr, nullptr};
  i64 in_leaf = 0;
  for (Cursor c(s.reduced, begin); c.position() < end;) {
    for (int k = 0; k < (s.two_inputs ? 2 : 1); ++k) {
      const std::size_t i = static_cast<std::size_t>(k);
      const i64 step = s.kept.inner_stride(k + 1);
      row[k] = bases.in[k] + c.offset(k);
      if (s.direct[i] && step == s.size[i]) continue;
      s.load[i](row[k], step, buffer[k], s.work_size, lanes);
      row[k] = buffer[k];
    }
    (in_leaf == 0) ? s.fns.spread(row[0], row[1], lanes, tree.next())
                   : s.fns.lanes(row[0], row[1], lanes, tree.next());
    c.advance(1);
    if (++in_leaf == lane_leaf || c.position() == end) {
      tree.push();
      in_leaf = 0;
    }
  }
  std::memcpy(accumulators, tree.result(), static_cast<std::size_t>(lanes * s.fns.accumulator));
}

void write_results(const State& s, const void* accumulators, i64 n, std::byte* out) {
  alignas(16) std::byte results[lane_bytes];
  s.fns.finish(accumulators, n, results);
  s.store(results, s.result_size, out, s.kept.inner_stride(0), n);
}

// Accumulators of the outputs that start at the cursor; returns how many.
i64 reduce_some(const State& s, const Launch& launch, const Cursor& c, i64 limit, i64 begin,
                i64 end, void* accumulators) {
  const auto at = [&](int k) {
    return static_cast<const std::byte*>(launch.operand[static_cast<std::size_t>(k)]) +
           c.offset(k + 1);
  };
  const Bases bases{{at(0), s.two_inputs ? at(1) : nullptr}};
  if (s.by_lanes) {
    const i64 lanes = std::min({limit, c.run(), s.lanes});
    reduce_lanes(s, bases, lanes, begin, end, accumulators);
    return lanes;
  }
  if (s.by_columns) {
    const i64 columns = std::min({limit, c.run(), s.lanes});
    s.fns.columns(bases.in[0], s.reduced.inner_stride(0), s.length, columns, accumulators);
    return columns;
  }
  if (s.plain_rows) {
    const i64 rows = std::min({limit, c.run(), s.lanes});
    const std::byte* a = bases.in[0] + s.reduced.start(0);
    const std::byte* b = s.two_inputs ? bases.in[1] + s.reduced.start(1) : nullptr;
    const i64 a_step = s.kept.inner_stride(1), b_step = s.two_inputs ? s.kept.inner_stride(2) : 0;
    auto* to = static_cast<std::byte*>(accumulators);
    for (i64 i = 0; i < rows; ++i, a += a_step, b += b_step, to += s.fns.accumulator)
      s.fns.row(a, b, s.length, 0, to);
    return rows;
  }
  reduce_row(s, bases, begin, end, accumulators);
  return 1;
}

// Threads take outputs in turn.
void run_outputs(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  auto* out = static_cast<std::byte*>(launch.operand[s.two_inputs ? 2 : 1]);
  const i64 grain = std::max<i64>(s.by_lanes || s.by_columns ? 64 : 1,
                                  work_per_thread / std::max<i64>(1, s.length));
  parallel_for(s.outputs, grain, [&](i64 first, i64 last) {
    alignas(64) std::byte accumulators[lane_bytes];
    for (Cursor c(s.kept, first); c.position() < last;) {
      const i64 n = reduce_some(s, launch, c, last - c.position(), 0, s.length, accumulators);
      write_results(s, accumulators, n, out + c.offset(0));
      c.advance(n);
    }
  });
}

// Threads take segments of few long reductions; the workspace holds [segment][output] accumulators.
void run_segments(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  auto* out = static_cast<std::byte*>(launch.operand[s.two_inputs ? 2 : 1]);
  auto* parts = static_cast<std::byte*>(launch.workspace);
  const i64 segment = s.segment;
  std::atomic<bool> settled{false};  // of one output: what is left changes nothing
  parallel_for(s.segments, 1, [&](i64 first, i64 last) {
    alignas(64) std::byte accumulators[lane_bytes];
    for (i64 k = first; k < last; ++k)
      for (Cursor c(s.kept, 0); c.position() < s.outputs;) {
        if (settled.load(std::memory_order_relaxed)) {
          s.fns.identity(parts + k * s.fns.accumulator);
          break;
        }
        const i64 n = reduce_some(s, launch, c, s.outputs - c.position(), k * segment,
                                  std::min(s.length, (k + 1) * segment), accumulators);
        std::memcpy(parts + (k * s.outputs + c.position()) * s.fns.accumulator, accumulators,
                    static_cast<std::size_t>(n * s.fns.accumulator));
        if (s.fns.settled && s.outputs == 1 && s.fns.settled(accumulators))
          settled.store(true, std::memory_order_relaxed);
        c.advance(n);
      }
  });
  alignas(64) std::byte memory[tree_levels * few_outputs * max_accumulator];
  Tree tree(s.fns, s.outputs, memory);
  const i64 bytes = s.outputs * s.fns.accumulator;
  for (i64 k = 0; k < s.segments; ++k) {
    std::memcpy(tree.next(), parts + k * bytes, static_cast<std::size_t>(bytes));
    tree.push();
  }
  const std::byte* total = tree.result();
  for (Cursor c(s.kept, 0); c.position() < s.outputs;) {
    const i64 n = std::min(c.run(), s.outputs - c.position());
    write_results(s, total + c.position() * s.fns.accumulator, n, out + c.offset(0));
    c.advance(n);
  }
}

// Nothing to reduce: each output is the identity.
void run_empty(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  auto* out = static_cast<std::byte*>(launch.operand[s.two_inputs ? 2 : 1]);
  alignas(16) std::byte accumulator[max_accumulator];
  s.fns.identity(accumulator);
  for (Cursor c(s.kept, 0); c.position() < s.outputs; c.advance(1))
    write_results(s, accumulator, 1, out + c.offset(0));
}

void run_nothing(const void*, const Launch&) {}

DType work_type(const ReduceSpec& spec) {
  const auto widened = [](DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; };
  switch (spec.op) {
    case ReduceOp::any:
    case ReduceOp::all:
    case ReduceOp::count_nonzero:
    case ReduceOp::argmax:
    case ReduceOp::argmin: return widened(spec.in.dtype);
    case ReduceOp::sum_abs2:
      return is_complex(spec.in.dtype) ? complex_of(widened(spec.out.dtype))
                                       : widened(spec.out.dtype);
    default: return widened(spec.out.dtype);
  }
}

// Sums of float32 in float64, which is what solvers ask for: read as they lie.
bool widens(const ReduceSpec& spec) {
  const bool sums = spec.op == ReduceOp::sum || spec.op == ReduceOp::sum_abs2 ||
                    (spec.op == ReduceOp::vdot && spec.in2.dtype == DType::f32);
  return sums && spec.in.dtype == DType::f32 && spec.out.dtype == DType::f64;
}

ReduceFns functions_of(ReduceOp op, DType work) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::prod:
    case ReduceOp::sum_abs2:
    case ReduceOp::vdot:
    case ReduceOp::count_nonzero: return reduce_sums(op, work);
    case ReduceOp::argmax:
    case ReduceOp::argmin: return reduce_positions(op, work);
    default: return reduce_extrema(op, work);
  }
}

// The axes of a layout that are reduced, or those that are kept.
Layout part_of(const Layout& l, const Shape& out, const Shape& in, bool reduced) {
  Layout part;
  for (i64 a = 0; a < l.ndim(); ++a)
    if ((out[a] == 1 && in[a] != 1) == reduced) {
      part.shape.push_back(l.shape[a]);
      part.strides.push_back(l.strides[a]);
    }
  return part;
}

void plan_loops(State& s, const ReduceSpec& spec) {
  const Shape &in = spec.in.layout.shape, &out = spec.out.layout.shape;
  const Layout kept_out = part_of(spec.out.layout, out, in, false);
  const Layout kept_in = part_of(spec.in.layout, out, in, false),
               reduced_in = part_of(spec.in.layout, out, in, true);
  const bool positions = spec.op == ReduceOp::argmax || spec.op == ReduceOp::argmin;
  const Loop::Order order = positions ? Loop::Order::row_major : Loop::Order::free;
  if (s.two_inputs) {
    const Layout kept_2 = part_of(spec.in2.layout, out, in, false),
                 reduced_2 = part_of(spec.in2.layout, out, in, true);
    s.kept = Loop({&kept_out, &kept_in, &kept_2}, {size_of(spec.out.dtype), s.size[0], s.size[1]});
    s.reduced = Loop({&reduced_in, &reduced_2}, {s.size[0], s.size[1]}, order);
  } else {
    s.kept = Loop({&kept_out, &kept_in}, {size_of(spec.out.dtype), s.size[0]});
    s.reduced = Loop({&reduced_in}, {s.size[0]}, order);
  }
  s.outputs = s.kept.size();
  s.length = s.reduced.size();
}

// Side by side where neighbouring outputs read neighbouring memory, or where each reduces next to
// nothing.
bool prefers_lanes(const State& s) {
  if (!s.fns.lanes || s.kept.inner_size() < 4) return false;
  const i64 kept = std::abs(s.kept.inner_stride(1)), reduced = std::abs(s.reduced.inner_stride(0));
  return kept < reduced || s.length < 16;
}

// Columns that lie side by side, for loops that count rows in 31 bits.
bool prefers_columns(const State& s) {
  return s.fns.columns && s.direct[0] && s.kept.inner_size() >= 4 &&
         s.kept.inner_stride(1) == s.size[0] && s.reduced.axes() == 1 && s.reduced.start(0) == 0 &&
         std::abs(s.reduced.inner_stride(0)) > s.size[0] && s.length < (i64{1} << 31);
}

bool has_plain_rows(const State& s) {
  for (int k = 0; k < (s.two_inputs ? 2 : 1); ++k) {
    const std::size_t i = static_cast<std::size_t>(k);
    if (!s.direct[i] || s.reduced.inner_stride(k) != s.size[i]) return false;
  }
  return s.reduced.axes() == 1 && s.length <= s.leaf;
}

// What rounds nothing needs no short leaves, where elements are used as they lie.
bool takes_any_length(const State& s, ReduceOp op) {
  const bool rounds = op == ReduceOp::sum || op == ReduceOp::prod || op == ReduceOp::sum_abs2 ||
                      op == ReduceOp::vdot;
  return !rounds && s.direct[0] && s.reduced.axes() == 1 && s.reduced.inner_stride(0) == s.size[0];
}

}  // namespace

Prepared prepare_reduce_cpu(const ReduceSpec& spec, Device) {
  auto state = std::make_shared<State>();
  State& s = *state;
  const DType work = widens(spec) ? DType::f32 : work_type(spec);
  s.fns = widens(spec) ? widened_sums(spec.op) : functions_of(spec.op, work);
  s.two_inputs = spec.op == ReduceOp::vdot;
  s.size = {size_of(spec.in.dtype), size_of(spec.in2.dtype)};
  s.direct = {spec.in.dtype == work, spec.in2.dtype == work};
  s.load = {cast_row(spec.in.dtype, work), cast_row(spec.in2.dtype, work)};
  s.work_size = size_of(work);
  s.result_size = size_of(s.fns.result);
  s.store = cast_row(s.fns.result, spec.out.dtype);
  plan_loops(s, spec);
  if (s.outputs == 0) return {.task = {&run_nothing, nullptr}};
  if (s.length == 0) return {.task = {&run_empty, std::move(state)}};
  s.by_lanes = prefers_lanes(s);
  s.lanes = lane_bytes / std::max({s.fns.accumulator, s.work_size, s.result_size});
  s.segment = s.by_lanes ? segment_lanes : segment_rows;
  s.leaf = s.by_lanes ? lane_leaf : takes_any_length(s, spec.op) ? s.segment : leaf_size;
  const double flops = static_cast<double>(s.outputs) * static_cast<double>(s.length);
  s.segments = (s.length - 1) / s.segment + 1;
  if (s.outputs > few_outputs || s.segments == 1) {
    s.by_columns = prefers_columns(s);
    s.by_lanes = s.by_lanes && !s.by_columns;
    s.plain_rows = !s.by_lanes && has_plain_rows(s);
    return {.task = {&run_outputs, std::move(state)}, .flops = flops};
  }
  const i64 workspace = s.segments * s.outputs * s.fns.accumulator;
  return {.task = {&run_segments, std::move(state)}, .workspace = workspace, .flops = flops};
}

}  // namespace tessera
