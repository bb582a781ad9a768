// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/transform_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/streaming/plan/sampled_boxes.hpp"
#include "tessera/streaming/transforms/between_passes.hpp"
#include "tessera/streaming/transforms/roots.hpp"
#include "tessera/streaming/transforms/split_axis.hpp"

namespace tessera::streaming {
namespace {

// Reading what is cut into thin slices this often costs more than moving it into other tiles.
constexpr double most_slices = 3;
// Lines of more bytes are not planned only to say how much memory they would take.
constexpr i64 planned_line = i64{16} << 20;

i64 largest_prime_factor(i64 n) {
  i64 largest = 1;
  for (i64 p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return std::max(n, largest);
}
// The largest factor up to the root.
i64 rows_of(i64 points) {
  auto rows = static_cast<i64>(std::sqrt(static_cast<double>(points)));
  while (rows * rows > points) --rows;
  while (points % rows != 0) --rows;
  return rows;
}

// Roots of unity that the kernel keeps for lines of a length; prime ones become convolutions of
// more than twice their length.
i64 kernel_tables(i64 points, DType working) {
  constexpr i64 small_prime = 13;
  return points * size_of(complex_of(working)) *
         (largest_prime_factor(points) > small_prime ? 6 : 1);
}

class LayoutMaker {
 public:
  LayoutMaker(const TransformSpec& spec, const store::TileStore& source)
      : spec_(spec), store_(source), source_(source.grid()), in_two_(spec.stages.size(), false) {}

  // The longest line that is whole yet, in two from now on; false where there is none.
  bool cut_one_more() {
    i64 longest = -1;
    for (std::size_t k = 0; k < in_two_.size(); ++k) {
      const i64 n = spec_.stages[k].points;
      if (in_two_[k] || rows_of(n) == 1) continue;
      if (longest < 0 || n > spec_.stages[static_cast<std::size_t>(longest)].points)
        longest = static_cast<i64>(k);
    }
    if (longest >= 0) in_two_[static_cast<std::size_t>(longest)] = true;
    return longest >= 0;
  }

  i64 tables() const {
    i64 bytes = 0;
    for (std::size_t k = 0; k < in_two_.size(); ++k) {
      const i64 n = spec_.stages[k].points, rows = in_two_[k] ? rows_of(n) : 1;
      bytes += kernel_tables(n / rows, spec_.working);
      if (in_two_[k]) bytes += kernel_tables(rows, spec_.working) + RootTable::bytes(n);
    }
    return bytes;
  }

  // The least that any pass holds, line by line.
  i64 least() {
    start();
    i64 most = 0;
    for (std::size_t k = 0; k < in_two_.size(); ++k)
      for (TransformPass& p : passes_of({k})) {
        const Shape one = p.strip(p.work, Shape(p.ndim(), 1));
        const i64 line = count_of(one) * size_of(p.working);
        most = std::max(most, line > planned_line ? p.slot_bytes(one) + 4 * line : p.held(one, 1));
        add(std::move(p));
      }
    if (in_two_.empty()) most = moving(spec_.working).slot_bytes(Shape(shape_.size(), 1));
    return most + tables();
  }

  std::optional<TransformLayout> within(i64 budget) {
    start();
    budget_ = budget - tables();
    std::vector<std::size_t> group;
    std::vector<TransformPass> ready;
    const auto flush = [&] {
      for (TransformPass& p : ready) add(std::move(p));
      group.clear();
      ready.clear();
    };
    for (std::size_t k = 0; k < in_two_.size(); ++k) {
      if (!group.empty() && !in_two_[k] && !in_two_[group.back()] && !is_among(group, k)) {
        std::vector<std::size_t> more = group;
        more.push_back(k);
        std::vector<TransformPass> together = passes_of(more);
        if (cut(together, 2)) {
          group = std::move(more);
          ready = std::move(together);
          continue;
        }
      }
      flush();
      group = {k};
      ready = passes_of(group);
      if (!cut(ready, 1)) return std::nullopt;
    }
    flush();
    if (layout_.passes.empty()) {
      TransformPass p = moving(spec_.working);
      if (!cut_along_source(p, source_.tile_shape(), 1)) return std::nullopt;
      add(std::move(p));
    }
    return finished();
  }

 private:
  void start() {
    layout_ = {};
    shape_ = spec_.in;
    dtype_ = source_.dtype();
  }
  bool is_among(const std::vector<std::size_t>& group, std::size_t k) const {
    return std::any_of(group.begin(), group.end(),
                       [&](std::size_t g) { return spec_.stages[g].axis == spec_.stages[k].axis; });
  }
  TransformPass moving(DType to) const {
    return {
        .in = shape_, .work = shape_, .out = shape_, .from = dtype_, .working = to, .result = to};
  }
  // What the numbers are in that a stage takes.
  DType taken() const {
    const bool is_first = layout_.passes.empty();
    return is_first ? spec_.working : dtype_;
  }

  std::vector<TransformPass> passes_of(const std::vector<std::size_t>& group) const {
    if (in_two_[group.front()]) return pair_of(spec_.stages[group.front()]);
    TransformPass p = moving(taken());
    p.sign = spec_.direction.sign;
    for (const std::size_t k : group) {
      const AxisTransform& s = spec_.stages[k];
      p.in[s.axis] = std::min(p.in[s.axis], s.in);
      p.work[s.axis] = s.in;
      p.out[s.axis] = s.out;
      if (s.kind == FftKind::complex) {
        p.axes.insert(0, s.axis);
        continue;
      }
      p.axes.push_back(s.axis);  // the kernel halves the last one
      p.kind = s.kind;
      p.result = s.kind == FftKind::real_to_complex ? complex_of(p.working) : real_of(p.working);
    }
    return {std::move(p)};
  }

  std::vector<TransformPass> pair_of(const AxisTransform& s) const {
    const i64 rows = rows_of(s.points), columns = s.points / rows, a = s.axis;
    Shape two;
    for (i64 d = 0; d < shape_.size(); ++d) {
      two.push_back(d == a ? rows : shape_[d]);
      if (d == a) two.push_back(columns);
    }
    const DType t = complex_of(taken());
    TransformPass down{.axes = {a},
                       .in = two,
                       .work = two,
                       .out = two,
                       .from = dtype_,
                       .working = t,
                       .result = t,
                       .sign = spec_.direction.sign};
    TransformPass along = down;
    down.read_in_two = AxisInTwo{a, columns, std::min(shape_[a], s.in)};
    down.rooted = s.points;
    along.axes = {a + 1};
    along.from = t;
    along.written_in_two = AxisInTwo{a, rows, s.out};
    if (s.kind == FftKind::complex_to_real) {
      down.counts_once = s.points % 2 == 0 ? s.points / 2 : 0;
      down.scale = 2;
      along.takes_real_part = true;
      along.result = real_of(t);
    }
    return {std::move(down), std::move(along)};
  }

  bool cut(std::vector<TransformPass>& passes, i64 least_slots) const {
    bool fits = true;
    for (std::size_t k = 0; fits && k < passes.size(); ++k) {
      TransformPass& p = passes[k];
      if (k > 0 || !layout_.passes.empty())
        // What passes write lies as those behind them read it.
        fits = cut_within(p, p.work, budget_, {least_slots});
      else
        fits = cut_along_source(
            p,
            p.read_in_two
                ? split_grid(source_, p.read_in_two->axis, p.read_in_two->columns).tile_shape()
                : source_.tile_shape(),
            least_slots);
    }
    return fits;
  }

  // Fewer and larger strips, and those filled by columns, where less is read so.
  bool cut_along_source(TransformPass& pass, const Shape& tile, i64 least_slots) const {
    constexpr double alone = 1.25;  // of one slot: nothing overlaps
    std::optional<TransformPass> best;
    double least = 0;
    for (i64 slots = SlotRange{}.most; slots >= least_slots; --slots)
      for (const bool by_columns : {false, true}) {
        if (best && least <= much_more) break;
        TransformPass p = pass;
        if (!cut_within(p, tile, budget_, {slots, slots}, by_columns)) continue;
        const double now = slices_of_tiles(p, store_) * (slots == 1 ? alone : 1);
        if (best && now * much_more >= least) continue;
        best = std::move(p);
        least = now;
      }
    if (best) pass = std::move(*best);
    return best.has_value();
  }

  void add(TransformPass p) {
    dtype_ = p.result;
    if (!p.rooted) {
      shape_ = p.out;
      if (const auto& two = p.written_in_two) {
        shape_.erase(two->axis + 1);
        shape_[two->axis] = two->length;
      }
    }
    layout_.shapes.push_back(p.rooted ? p.out : shape_);
    layout_.passes.push_back(std::move(p));
  }

  std::optional<TransformLayout> finished() {
    std::vector<TransformPass>& passes = layout_.passes;
    if (slices_of_tiles(passes.front(), store_) > most_slices) {
      shape_ = spec_.in;
      dtype_ = source_.dtype();
      TransformPass move = moving(dtype_);
      if (cut_along_source(move, source_.tile_shape(), 1) &&
          slices_of_tiles(move, store_) < most_slices) {
        passes.insert(passes.begin(), std::move(move));
        layout_.shapes.insert(layout_.shapes.begin(), shape_);
      }
    }
    passes.front().conjugates_in =
        spec_.direction.conjugate && spec_.direction.kind == FftKind::complex_to_real;
    passes.back().conjugates_out =
        spec_.direction.conjugate && spec_.direction.kind == FftKind::real_to_complex;
    passes.back().scale *= spec_.scale;
    layout_.tables = tables();
    for (std::size_t k = 0; k < passes.size(); ++k) {
      const TransformPass* next = k + 1 < passes.size() ? &passes[k + 1] : nullptr;
      layout_.tiles.push_back(
          next ? tiles_between(passes[k], *next, layout_.shapes[k])
               : tiles_of_result(passes[k], layout_.shapes[k], tile_bytes_for(budget_)));
    }
    return std::move(layout_);
  }

  const TransformSpec& spec_;
  const store::TileStore& store_;
  const store::TileGrid& source_;
  std::vector<bool> in_two_;  // of each stage
  i64 budget_ = 0;
  TransformLayout layout_;
  Shape shape_;  // after the passes so far
  DType dtype_ = DType::f32;
};

}  // namespace

TransformLayout transform_layout(const TransformSpec& spec, const store::TileStore& source,
                                 const Options& options) {
  LayoutMaker maker(spec, source);
  const i64 budget = budget_of(options);
  i64 least = 0;
  do {
    if (auto found = maker.within(budget)) return std::move(*found);
    const i64 now = maker.least();
    least = least == 0 ? now : std::min(least, now);
  } while (maker.cut_one_more());
  require_budget(name(spec.direction), options, least);
  return *maker.within(least);
}

}  // namespace tessera::streaming
