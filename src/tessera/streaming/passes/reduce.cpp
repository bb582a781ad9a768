// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/streaming/passes/pass.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 round_bytes = 65536;  // of the results of leaves that wait to be added

ReduceOp kernel_of(Reduction r) {
  switch (r) {
    case Reduction::min: return ReduceOp::min;
    case Reduction::max: return ReduceOp::max;
    case Reduction::norm: return ReduceOp::sum_abs2;
    default: return ReduceOp::sum;
  }
}
ElementOp join_of(Reduction r) {
  return r == Reduction::min   ? ElementOp::minimum
         : r == Reduction::max ? ElementOp::maximum
                               : ElementOp::add;
}
bool is_short(DType t) { return t == DType::f16 || t == DType::bf16; }

// The dtype in which results of leaves are added.
DType accumulator(Reduction r, DType t) {
  if (r == Reduction::min || r == Reduction::max) return t;
  if (is_short(t)) return DType::f32;
  if (r == Reduction::mean && !is_inexact(t)) return DType::f64;
  return reduce_dtype(kernel_of(r), t);
}

Axes normalized_axes(std::string_view who, const std::optional<Axes>& axes, i64 ndim) {
  Axes out;
  if (!axes)
    for (i64 a = 0; a < ndim; ++a) out.push_back(a);
  else
    for (const i64 given : *axes) {
      const i64 a = normalize_axis(given, ndim, who);
      require<ArgumentError>(std::find(out.begin(), out.end(), a) == out.end(),
                             "duplicate value in 'axis'");
      out.push_back(a);
    }
  return out;
}

void reduce_into(ReduceOp op, const Array& x, const Array& out) {
  const ReduceSpec spec{.op = op, .in = operand_of(x), .in2 = {}, .out = operand_of(out)};
  launch_now(&KernelTable::reduce, name(op), spec, cpu, {&x, &out});
}

void join_into(ElementOp op, const Array& x, const Array& into) {
  const std::array<ArrayOrValue, 2> both{into, x};
  elementwise(op, both, into);
}

// What the steps of one reduction share. Buffers: of the tile at hand (`total`), of sums of
// 1, 2, 4, ... tiles (`levels`), and of the whole result.
struct ReducePass {
  Reduction reduction;
  std::shared_ptr<const Program> program;
  Axes axes;
  Shape tile;
  Cut cut;
  DType dtype;  // of sums
  std::optional<SourceRing> ring;
  i64 registers = 0, values = 0, rounds = 0, total = 0, result = 0;
  std::vector<i64> levels;
  i64 register_bytes = 0, tiles_deep = 1;

  Shape kept(Shape s) const {
    for (const i64 a : axes) s[a] = 1;
    return s;
  }
  Box kept(Box b) const {
    for (const i64 a : axes) {
      b.begin[a] = 0;
      b.shape[a] = 1;
    }
    return b;
  }
  i64 sum_bytes(const Shape& of) const { return count_of(kept(of)) * size_of(dtype); }
  i64 leaves_of_round(const Cut& c) const {
    const i64 most = c.threads == 1 ? 1 : 64 * c.threads;
    return std::clamp<i64>(round_bytes / sum_bytes(c.leaf), c.threads, most);
  }

  i64 held(const Cut& c) const {
    i64 sum = SourceRing::bytes(*program, c);
    sum += StreamPlan::rounded(c.threads * program->register_bytes(count_of(c.leaf)));
    sum += StreamPlan::rounded(c.threads * value_bytes(c));
    sum += StreamPlan::rounded(leaves_of_round(c) * sum_bytes(c.leaf));
    sum += (1 + level_count()) * StreamPlan::rounded(sum_bytes(c.tile));
    return sum + StreamPlan::rounded(sum_bytes(program->shape())) + 2 * sum_bytes(program->shape());
  }
  // The values of a leaf before they are reduced; those of a store are reduced where they are.
  i64 value_bytes(const Cut& c) const {
    return program->is_source() ? 0 : (count_of(c.leaf) * size_of(program->dtype()) + 63) / 64 * 64;
  }
  i64 level_count() const {
    return tiles_deep == 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(tiles_deep));
  }

  void compute(const Buffers& buffers, const Box& tile_box, const Box& box,
               const std::vector<Move>& reads) const;
  void leaf_sum(const Buffers& b, std::span<const Program::Part> parts, const Box& leaf, i64 thread,
                i64 place) const;
  Array leaf_room(const Buffers& b, const Box& leaf, i64 place) const {
    Layout layout = Layout::contiguous(kept(leaf.shape));
    layout.offset = place * count_of(kept(cut.leaf));
    return b({rounds, layout, dtype});
  }
  void tile_done(const Buffers& buffers, const Box& tile_box, i64 number) const;
  Array finished(const Buffers& buffers, bool keepdims) const;
};

void ReducePass::leaf_sum(const Buffers& b, std::span<const Program::Part> parts, const Box& leaf,
                          i64 thread, i64 place) const {
  const Array out = leaf_room(b, leaf, place);
  if (program->is_source())
    return reduce_into(kernel_of(reduction), program->source(parts, leaf), out);
  Layout own = Layout::contiguous({register_bytes});
  own.offset = thread * register_bytes;
  Layout layout = Layout::contiguous(leaf.shape);
  layout.offset = thread * value_bytes(cut) / size_of(program->dtype());
  const Array x = b({values, layout, program->dtype()});
  program->run(parts, leaf, b({registers, own, DType::u8}), x);
  reduce_into(kernel_of(reduction), x, out);
}

void ReducePass::compute(const Buffers& buffers, const Box& tile_box, const Box& box,
                         const std::vector<Move>& reads) const {
  const std::vector<Program::Part> parts = ring->parts(buffers, reads);
  const std::vector<Box> leaves = parts_of(box, cut.leaf);
  const i64 count = static_cast<i64>(leaves.size()), round = leaves_of_round(cut);
  const Program::Part sums{buffers(dense_view(total, kept(tile_box.shape), dtype)), kept(tile_box)};
  for (i64 first = 0; first < count; first += round) {
    const i64 n = std::min(round, count - first);
    const auto leaf = [&](i64 k) -> const Box& {
      return leaves[static_cast<std::size_t>(first + k)];
    };
    parallel_for(cut.threads, 1, [&](i64 begin, i64 end) {
      const OneThread alone;  // the order of a leaf's sum does not depend on who is free
      for (i64 t = begin; t < end; ++t)
        for (i64 k = n * t / cut.threads; k < n * (t + 1) / cut.threads; ++k)
          leaf_sum(buffers, parts, leaf(k), t, k);
    });
    for (i64 k = 0; k < n; ++k) {
      bool is_first = true;  // of those that are added to the same elements
      for (const i64 a : axes) is_first = is_first && leaf(k).begin[a] == tile_box.begin[a];
      const Array into = part_within(sums, kept(leaf(k)));
      const Array x = leaf_room(buffers, leaf(k), k);
      if (is_first)
        into.copy_from(x);
      else
        join_into(join_of(reduction), x, into);
    }
  }
}

// Tile `number` of those that are added to the same elements is complete.
void ReducePass::tile_done(const Buffers& buffers, const Box& tile_box, i64 number) const {
  const Shape shape = kept(tile_box.shape);
  const ElementOp join = join_of(reduction);
  const Array sum = buffers(dense_view(total, shape, dtype));
  const auto level = [&](i64 l) {
    return buffers(dense_view(levels[static_cast<std::size_t>(l)], shape, dtype));
  };
  const bool is_last = number + 1 == tiles_deep;
  const std::uint64_t before = static_cast<std::uint64_t>(number);
  i64 l = 0;
  for (; before >> l & 1; ++l) join_into(join, level(l), sum);
  if (!is_last) return level(l).copy_from(sum);
  for (; before >> l; ++l)
    if (before >> l & 1) join_into(join, level(l), sum);
  const Program::Part all{buffers(dense_view(result, kept(program->shape()), dtype)),
                          kept(Box{Shape(shape.size(), 0), program->shape()})};
  part_within(all, kept(tile_box)).copy_from(sum);
}

Array ReducePass::finished(const Buffers& buffers, bool keepdims) const {
  Array out = buffers(dense_view(result, kept(program->shape()), dtype)).copy();
  i64 n = 1;
  for (const i64 a : axes) n *= program->shape()[a];
  if (reduction == Reduction::mean) {
    const std::array<ArrayOrValue, 2> both{out, Value(static_cast<double>(n))};
    elementwise(ElementOp::divide, both, out);
  }
  if (reduction == Reduction::norm) {
    const std::array<ArrayOrValue, 1> one{out};
    elementwise(ElementOp::sqrt, one, out);
  }
  if (keepdims) return out;
  Layout l = out.layout();
  for (i64 a = l.ndim() - 1; a >= 0; --a)
    if (std::find(axes.begin(), axes.end(), a) != axes.end()) l = l.select(a, 0);
  return out.view(std::move(l));
}

// Tiles that are added to the same elements follow each other.
void add_reduce_steps(StreamPlan& plan, const std::shared_ptr<ReducePass>& pass,
                      const store::TileGrid& grid) {
  Shape outer = grid.counts(), inner(grid.counts().size(), 1);
  for (const i64 a : pass->axes) std::swap(outer[a], inner[a]);
  const store::TileGrid kept(outer, Shape(outer.size(), 1), DType::u8);
  const store::TileGrid deep(inner, Shape(inner.size(), 1), DType::u8);
  i64 number = 0;
  for (i64 k = 0; k < kept.tiles(); ++k)
    for (i64 d = 0; d < deep.tiles(); ++d) {
      Shape place = kept.tile(k).begin;
      for (const i64 a : pass->axes) place[a] = deep.tile(d).begin[a];
      const Box tile = grid.tile(place);
      const std::vector<Box> boxes = parts_of(tile, pass->cut.step);
      for (std::size_t s = 0; s < boxes.size(); ++s) {
        Step step;
        step.reads = pass->ring->reads(boxes[s], number++ % pass->cut.slots);
        const bool is_last = s + 1 == boxes.size();
        step.compute = [=, box = boxes[s], reads = step.reads](const Buffers& b) {
          pass->compute(b, tile, box, reads);
          if (is_last) pass->tile_done(b, tile, d);
        };
        plan.add_step(std::move(step));
      }
    }
  plan.add_note(cat("steps of ", pass->cut.step, " within tiles of ", grid.tile_shape(), ", ",
                    pass->cut.slots, " at a time; sums of tiles are added pairwise"));
}

// Of nothing: what arrays say to it.
Shape shape_without(const Shape& shape, const Axes& axes, bool keepdims) {
  Shape out;
  for (i64 d = 0; d < shape.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!goes || keepdims) out.push_back(goes ? 1 : shape[d]);
  }
  return out;
}

Array reduce_empty(Reduction r, const Array& x, const std::optional<Axes>& axes, bool keepdims) {
  if (r == Reduction::mean) return mean(x, axes, keepdims);
  const Array y = tessera::reduce(kernel_of(r), x, axes, keepdims);
  return r == Reduction::norm ? ops::sqrt(y) : y;
}

}  // namespace

std::string_view name(Reduction r) {
  static constexpr std::string_view names[] = {"sum", "mean", "min", "max", "norm"};
  return names[static_cast<int>(r)];
}

StreamPlan plan_reduce(Reduction reduction, const Expression& expression,
                       const std::optional<Axes>& axes, bool keepdims, const Options& options) {
  const std::string_view who = name(reduction);
  const DType given = expression.dtype();
  // Squares of integers do not wrap, and those of short floats do not overflow.
  const Expression e = reduction != Reduction::norm ? expression
                       : is_short(given)            ? expression.as(DType::f32)
                       : !is_inexact(given)         ? expression.as(DType::f64)
                                                    : expression;
  auto pass = std::make_shared<ReducePass>();
  pass->reduction = reduction;
  pass->program = std::make_shared<const Program>(e);
  pass->axes = normalized_axes(who, axes, e.shape().size());
  pass->dtype = accumulator(reduction, e.dtype());
  const DType result = is_short(given) ? given : pass->dtype;
  StreamPlan plan(cat(who, ": ", e.shape(), " ", name(given), " over axes ", pass->axes), options);
  plan.gives(shape_without(e.shape(), pass->axes, keepdims), result);
  if (count_of(e.shape()) == 0) {
    plan.at_end([=, shape = e.shape(), t = e.dtype()](const Buffers&) {
      return reduce_empty(reduction, Array::empty(shape, t), axes, keepdims);
    });
    return plan;
  }
  const PassTiles tiles = tiles_of_pass(*pass->program);
  const store::TileGrid& grid = tiles.grid;
  for (const i64 a : pass->axes) pass->tiles_deep *= grid.counts()[a];
  pass->cut = choose_cut(who, tiles, options, [&](const Cut& c) { return pass->held(c); });
  const Cut& cut = pass->cut;
  pass->ring.emplace(plan, pass->program, cut);
  pass->register_bytes = pass->program->register_bytes(count_of(cut.leaf));
  pass->registers = plan.add_buffer(cut.threads * pass->register_bytes);
  pass->values = plan.add_buffer(cut.threads * pass->value_bytes(cut));
  pass->rounds = plan.add_buffer(pass->leaves_of_round(cut) * pass->sum_bytes(cut.leaf));
  pass->total = plan.add_buffer(pass->sum_bytes(cut.tile));
  for (i64 l = 0; l < pass->level_count(); ++l)
    pass->levels.push_back(plan.add_buffer(pass->sum_bytes(cut.tile)));
  pass->result = plan.add_buffer(pass->sum_bytes(e.shape()));
  plan.add_held(2 * pass->sum_bytes(e.shape()));
  add_reduce_steps(plan, pass, grid);
  const i64 elements = count_of(e.shape());
  if (pass->program->operations() > 0)
    plan.add_work({.op = Operation::elementwise,
                   .dtype = e.dtype(),
                   .m = elements,
                   .batch = pass->program->operations()});
  plan.add_work({.op = Operation::reduce, .dtype = pass->dtype, .m = elements});
  plan.at_end([pass, keepdims, result](const Buffers& b) {
    return pass->finished(b, keepdims).astype(result);
  });
  return plan;
}

}  // namespace tessera::streaming
