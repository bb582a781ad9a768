// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/copy.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/streaming/passes/pass.hpp"
#include "tessera/streaming/plan/sampled_boxes.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 most_slots = 4;
constexpr double about_once = 1.05;   // read so often is as good as once
constexpr double cost_of_run = 1024;  // bytes that pass in the time of one more request

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

// The boxes of a copy from a store to one whose axes are `axes` of the source.
class CopyBoxes {
 public:
  CopyBoxes(const store::TileStore& from, const store::TileGrid& to, const Shape& axes)
      : from_(from),
        to_(to),
        shape_(to.shape()),
        back_(inverse_of(axes)),
        element_(size_of(to.dtype())),
        source_tile_(permuted(from.grid().tile_shape(), axes)) {
    for (const i64 a : axes) source_place_.push_back(a);
  }

  CopyCut cut(std::string_view who, const Options& options) const {
    const i64 budget = budget_of(options);
    std::optional<CopyCut> best;
    double least = 0;
    const auto consider = [&](const Shape& step) {  // whether all is read about once
      i64 slots = most_slots;
      while (slots > 2 && held(step, slots) > budget) --slots;
      if (held(step, slots) > budget) return false;
      const auto [read, all] = moved(step);
      if (!best || all * much_more < least) {
        best = CopyCut{step, slots};
        least = all;
      }
      return read <= about_once && best->step == step;
    };
    for (const Shape& step : whole_tiles())
      if (consider(step)) return *best;
    for (const Shape& step : that_fill(budget)) consider(step);
    if (best) return *best;
    const Shape one(shape_.size(), 1);
    require_budget(who, options, held(one, 1));
    return {one, 1};
  }

 private:
  i64 held(const Shape& s, i64 slots) const {
    return slots * StreamPlan::rounded(count_of(s) * element_);
  }
  i64 at_least_one(i64 n) const { return std::max<i64>(n, 1); }

  // Elements of the largest box of which so many fit.
  i64 room_within(i64 budget, i64 slots) const {
    i64 bytes = budget / slots;
    while (bytes > element_ && slots * StreamPlan::rounded(bytes) > budget)
      bytes -= std::min<i64>(4096, (bytes + 1) / 2);
    return at_least_one(bytes / element_);
  }

  Shape larger() const {
    Shape s = to_.tile_shape();
    for (i64 d = 0; d < shape_.size(); ++d)
      s[d] = std::min(at_least_one(shape_[d]), std::max(source_tile_[d], s[d]));
    return s;
  }
  // On both sides, then on one.
  std::vector<Shape> whole_tiles() const {
    const Shape& target = to_.tile_shape();
    Shape both = target;
    for (i64 d = 0; d < shape_.size(); ++d)
      both[d] = std::min(at_least_one(shape_[d]), std::lcm(source_tile_[d], target[d]));
    return {both, larger(), target, source_tile_};
  }
  // Rows of the source and of the result, columns, tiles of the source, and squares.
  std::vector<Shape> that_fill(i64 budget) const {
    const Shape most = larger();
    Shape all = shape_;
    for (i64& n : all) n = at_least_one(n);
    std::vector<Shape> out;
    Shape first, last, of_source = source_place_;  // orders in which axes are filled
    for (i64 d = 0; d < shape_.size(); ++d) {
      first.push_back(d);
      last.push_back(shape_.size() - 1 - d);
      of_source[shape_.size() - 1 - source_place_[d]] = d;
    }
    for (const i64 slots : {most_slots, i64{2}}) {
      const i64 room = room_within(budget, slots);
      for (const Shape& within : {most, all})
        for (const Shape& order : {of_source, last, first})
          out.push_back(filled(within, order, room));
      out.push_back(of_source_tiles(most, room));
      Shape square = most;
      while (count_of(square) > room && count_of(square) > 1) {
        i64& longest = *std::max_element(square.begin(), square.end());
        longest = (longest + 1) / 2;
      }
      out.push_back(std::move(square));
    }
    return out;
  }
  // Whole tiles of the source, about as long along each axis as `like`, or equally shorter.
  Shape of_source_tiles(const Shape& like, i64 room) const {
    Shape s = source_tile_;
    const auto more = [&](i64 d) {  // larger steps as it grows
      return source_tile_[d] * std::max<i64>(1, s[d] / source_tile_[d] / 16);
    };
    while (true) {
      std::optional<i64> shortest;  // compared with what it shall be
      for (i64 d = 0; d < s.size(); ++d)
        if (2 * s[d] <= 2 * like[d] - source_tile_[d] &&
            count_of(s) / s[d] * (s[d] + more(d)) <= room &&
            (!shortest || s[d] * like[*shortest] < s[*shortest] * like[d]))
          shortest = d;
      if (!shortest) return s;
      s[*shortest] = std::min(shape_[*shortest], s[*shortest] + more(*shortest));
    }
  }
  static Shape filled(const Shape& within, const Shape& order, i64 room) {
    Shape s(within.size(), 1);
    for (const i64 d : order) {
      s[d] = std::min(within[d], room);
      room = std::max<i64>(1, room / s[d]);
    }
    return s;
  }

  // What is read for each byte that is wanted, with those read along; and what is moved in all, with
  // the bytes that pass in the time of one more request for each run that is written.
  std::pair<double, double> moved(const Shape& step) const {
    ReadAlong along;
    double written = 0;
    each_sampled({shape_, step, to_.dtype()}, step, [&](const Box& box) {
      along.add(from_, {permuted(box.begin, back_), permuted(box.shape, back_)},
                Layout::contiguous(box.shape).permute(back_));
      written += with_requests(box.shape);
    });
    const double wanted = static_cast<double>(std::max<i64>(1, along.wanted));
    return {along.share(), along.share() + written / wanted};
  }
  double with_requests(const Shape& box) const {
    i64 run = 1, d = box.size() - 1;
    for (; d >= 0; --d) {
      run *= std::min(box[d], to_.tile_shape()[d]);
      if (box[d] < to_.tile_shape()[d]) break;
    }
    const double bytes = static_cast<double>(count_of(box) * element_);
    return bytes + cost_of_run * bytes / static_cast<double>(std::max<i64>(1, run) * element_);
  }

  const store::TileStore& from_;
  const store::TileGrid& to_;
  const Shape& shape_;
  Shape back_;
  i64 element_;
  Shape source_tile_, source_place_;
};

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
  const CopyCut cut = CopyBoxes(*from, target, axes).cut(who, options);
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
