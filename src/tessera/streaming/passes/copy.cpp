// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/copy.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/streaming/passes/pass.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 most_slots = 4;

Shape permuted(const Shape& s, const Shape& axes) {
  Shape out;
  for (const i64 a : axes) out.push_back(s[a]);
  return out;
}

// The place of each axis of the source in the result.
Shape inverse_of(const Shape& axes) {
  Shape out(axes.size(), 0);
  for (i64 d = 0; d < axes.size(); ++d) out[axes[d]] = d;
  return out;
}

struct CopyCut {
  Shape step;
  i64 slots;
};

// Boxes that are whole tiles on both sides, then on one, then whatever fits.
CopyCut copy_cut(std::string_view who, const Shape& shape, const Shape& from, const Shape& to,
                 i64 element, const Options& options) {
  const i64 budget = budget_of(options);
  const auto held = [&](const Shape& s, i64 slots) {
    return slots * StreamPlan::rounded(count_of(s) * element);
  };
  Shape both = from, larger = from;
  for (i64 d = 0; d < shape.size(); ++d) {
    const i64 common = std::lcm(from[d], to[d]);  // tiles are not larger than the shape
    both[d] = std::min(shape[d], common);
    larger[d] = std::min(shape[d], std::max(from[d], to[d]));
  }
  for (Shape s : {both, larger, to, from}) {
    for (i64& n : s) n = std::max<i64>(n, 1);
    for (i64 slots = most_slots; slots >= 2; --slots)
      if (held(s, slots) <= budget) return {s, slots};
  }
  Shape s = larger;
  for (i64& n : s) n = std::max<i64>(n, 1);
  while (held(s, 2) > budget && count_of(s) > 1) {
    i64& longest = *std::max_element(s.begin(), s.end());
    longest = (longest + 1) / 2;
  }
  const i64 slots = held(s, 2) <= budget ? 2 : 1;
  require_budget(who, options, held(s, slots));
  return {s, slots};
}

StreamPlan plan_moves(std::string_view who, const StorePtr& from, const StorePtr& to,
                      const Shape& axes, const Options& options) {
  const store::TileGrid &source = from->grid(), &target = to->grid();
  const Shape shape = permuted(source.shape(), axes);
  require<ShapeError>(shape == target.shape(), who, ": the source gives shape ", shape,
                      ", the output has ", target.shape());
  require<DTypeError>(source.dtype() == target.dtype(), who, ": the source holds ",
                      name(source.dtype()), ", the output ", name(target.dtype()),
                      "; assign(Expression(source), output) converts");
  require<IoError>(to->writable(), who, ": the output is read-only: ", to->describe());
  require<ArgumentError>(from != to, who, ": source and output are the same store");
  const CopyCut cut = copy_cut(who, shape, permuted(source.tile_shape(), axes), target.tile_shape(),
                               size_of(source.dtype()), options);
  StreamPlan plan(cat(who, ": ", source.shape(), " ", name(source.dtype()), " to ", shape),
                  options);
  const i64 a = plan.add_store("source", from), b = plan.add_store("output", to);
  std::vector<i64> ring;
  for (i64 s = 0; s < cut.slots; ++s)
    ring.push_back(plan.add_buffer(count_of(cut.step) * size_of(source.dtype())));
  plan.add_note(cat("boxes of ", cut.step, ", ", cut.slots, " at a time"));
  if (count_of(shape) == 0) return plan;
  plan.add_work({.op = Operation::elementwise, .dtype = source.dtype(), .m = count_of(shape)});
  const Shape back = inverse_of(axes);
  std::size_t number = 0;
  for (const Box& box : parts_of(target.whole(), cut.step)) {
    const BufferView view = dense_view(ring[number++ % ring.size()], box.shape, source.dtype());
    BufferView turned = view;  // the elements come to where they belong
    turned.layout = view.layout.permute(back);
    Step step;
    step.reads.push_back({a, {permuted(box.begin, back), permuted(box.shape, back)}, turned});
    step.writes.push_back({b, box, view});
    step.restarts = true;
    plan.add_step(std::move(step));
  }
  return plan;
}

}  // namespace

StreamPlan plan_transpose(const StorePtr& from, const StorePtr& to,
                          const std::optional<Shape>& axes, const Options& options) {
  const i64 ndim = from->grid().shape().size();
  Shape order;
  for (i64 d = 0; d < ndim; ++d) order.push_back(ndim - 1 - d);
  if (axes) {
    Shape given = *axes;
    for (i64& a : given) a = normalize_axis(a, ndim, "transpose");
    Shape sorted = given;
    std::sort(sorted.begin(), sorted.end());
    std::reverse(sorted.begin(), sorted.end());
    require<ArgumentError>(sorted == order, "transpose: axes ", *axes, " do not name each of the ",
                           ndim, " axes once");
    order = given;
  }
  return plan_moves("transpose", from, to, order, options);
}

StreamPlan plan_copy(const StorePtr& from, const StorePtr& to, const Options& options) {
  Shape axes;
  for (i64 d = 0; d < from->grid().shape().size(); ++d) axes.push_back(d);
  return plan_moves("copy", from, to, axes, options);
}

}  // namespace tessera::streaming
