// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/operators/tile_choice.hpp"

#include <algorithm>

#include "tessera/split/batched.hpp"
#include "tessera/split/fit.hpp"
#include "tessera/split/split_linop.hpp"
#include "tessera/streaming/plan/pass_figures.hpp"
#include "tessera/streaming/plan/sampled_boxes.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 most_tiles = i64{1} << 16;
constexpr i64 looked_at = 16;  // tiles of a choice whose plans are made to see what they take
constexpr i64 unknown = std::numeric_limits<i64>::max();

// The part of an array that the cuts along its dims leave.
Box box_of(const Dims& names, const Shape& shape, const Tile& cuts) {
  Box box{Shape(shape.size(), 0), shape};
  for (const tessera::Cut& c : cuts.cuts)
    if (const auto axis =
            contains(names, c.dim) ? axis_of(names, c.dim, shape.size()) : std::nullopt) {
      box.begin[*axis] = c.start;
      box.shape[*axis] = c.size();
    }
  return box;
}

i64 tiles_in(i64 size, i64 chunk) { return (size + chunk - 1) / chunk; }

class TileSearch {
 public:
  TileSearch(const NamedLinop& a, const Shape& input, DType dtype, const ApplyOptions& o,
             const store::TileStore* x)
      : a_(a),
        x_(x),
        input_(input),
        output_(a.output_shape(input)),
        dtype_(dtype),
        out_dtype_(a.output_dtype(dtype)),
        options_(o),
        budget_(o.budget > 0 ? o.budget : stream_budget()) {
    find_dims();
  }

  // The dims are halved by what a tile gains; where files are then read in slices, by what is read.
  TileChoice best() {
    TileChoice found = by_gain();
    if (!x_ || found.sizes.empty()) return found;
    double least = bytes_read(found.sizes);
    if (least <= much_more * static_cast<double>(bytes_there())) return found;
    std::vector<DimSizes> ways{along_tiles(found.sizes)};
    if (const std::optional<DimSizes> other = by_bytes()) {
      ways.push_back(*other);
      ways.push_back(along_tiles(*other));
    }
    for (const DimSizes& way : ways) {
      std::optional<Cost> c = cost(chunks_of(way));
      if (!c || c->held(2) > budget_ || of_all_tiles(*c).held(2) > budget_) continue;
      const double now = bytes_read(way);
      if (now * much_more >= least) continue;
      found = c->chosen(2);
      least = now;
    }
    return found;
  }

 private:
  struct Sized {
    NamedDimension dim;
    i64 size;
    bool in, out;
  };
  // What a tile takes.
  struct Cost {
    i64 parts = 0;  // of input, output and arrays on disk: as often as there are slots
    i64 sum = 0;    // beside a part of the output to which it is added
    i64 workspace = unknown;
    TileChoice choice;
    i64 held(i64 slots = 1) const {
      return workspace == unknown ? unknown : slots * parts + sum + workspace;
    }
    TileChoice chosen(i64 slots) {
      choice.slots = slots;
      choice.workspace = workspace;
      choice.held = held(slots);
      return std::move(choice);
    }
    friend bool operator<(const Cost& a, const Cost& b) {
      return std::pair(a.held(), a.parts) < std::pair(b.held(), b.parts);
    }
  };

  // Whatever the budget is the way is the same: the smallest budget that a refusal names will do.
  TileChoice by_gain() {
    start();
    std::vector<Cost> ways;
    for (std::optional<Cost> now = cost(chunks_); now; now = halved()) {
      const i64 slots = now->choice.sizes.empty() ? 1 : 2;
      if (now->held(slots) <= budget_ && of_all_tiles(*now).held(slots) <= budget_)
        return now->chosen(slots);
      ways.push_back(std::move(*now));
    }
    for (Cost& way : ways) of_all_tiles(way);
    const auto least = std::min_element(ways.begin(), ways.end());
    if (least == ways.end() || least->held() > budget_)
      refuse(least == ways.end() ? nullptr : &*least);
    return least->chosen(1);
  }
  // The dim is halved that leaves least to read. Nothing where no such tiles fit.
  std::optional<DimSizes> by_bytes() {
    start();
    for (std::optional<Cost> now = cost(chunks_); now; now = halved(true))
      if (now->held(2) <= budget_) return now->choice.sizes;
    return std::nullopt;
  }
  void start() {
    chunks_.clear();
    for (const Sized& d : dims_) chunks_.push_back(d.size);
  }

  // What one application reads, by a part of the tiles where they are many.
  double bytes_read(const DimSizes& sizes) const {
    constexpr i64 window = 32;
    const OperatorTiles all(a_, input_, sizes);
    double sum = 0;
    i64 seen = 0;
    for (const i64 begin : {i64{0}, std::max(window, all.count() / 2)}) {
      OperatorTile before;
      if (begin > 0 && begin < all.count()) before = all[begin - 1];
      for (i64 i = begin; i < std::min(begin + window, all.count()); ++i, ++seen) {
        OperatorTile t = all[i];
        if (t.in != before.in) sum += read_of(*x_, t.in);
        for (const WeightBox& w : t.weights)
          if (std::find(before.weights.begin(), before.weights.end(), w) == before.weights.end())
            sum += read_of(*w.store, w.box);
        before = std::move(t);
      }
    }
    return sum * static_cast<double>(all.count()) / static_cast<double>(std::max<i64>(1, seen));
  }
  static double read_of(const store::TileStore& store, const Box& box) {
    return static_cast<double>(store.bytes_to_read(box, Layout::contiguous(box.shape)));
  }
  // Of the input and the arrays on disk, each once.
  i64 bytes_there() const {
    i64 sum = x_->grid().bytes();
    for (const WeightBox& w : weights_on_disk(a_)) sum += w.bytes();
    return sum;
  }
  // The same in whole tiles of the input, where they are longer than those.
  DimSizes along_tiles(DimSizes sizes) const {
    for (auto& [dim, chunk] : sizes)
      if (const auto axis =
              contains(a_.ishape(), dim) ? axis_of(a_.ishape(), dim, input_.size()) : std::nullopt)
        if (const i64 tile = x_->grid().tile_shape()[*axis]; chunk > tile)
          chunk = chunk / tile * tile;
    return sizes;
  }
  std::vector<i64> chunks_of(const DimSizes& sizes) const {
    std::vector<i64> chunks;
    for (const Sized& d : dims_) {
      chunks.push_back(d.size);
      for (const auto& [dim, chunk] : sizes)
        if (dim == d.dim) chunks.back() = chunk;
    }
    return chunks;
  }

  void find_dims() {
    for (NamedDimension d : a_.dims()) {
      if (d.is_ellipses())
        reasons_.push_back(
            "not along the dims of '...', which have no names: give the operator "
            "names for them");
      const std::optional<i64> n = d.is_wildcard() ? std::nullopt : size_of_dim(a_, d, input_);
      if (!n || *n < 2) continue;
      try {
        (void)a_.split(Tile{{d, 0, 1, *n}});
        dims_.push_back({d, *n, contains(a_.ishape(), d), contains(a_.oshape(), d)});
      } catch (const SplitError& e) {
        reasons_.push_back(cat("not along '", d, "': ", e.what()));
      }
    }
    // Of both sides, of the output, and what is summed.
    std::stable_sort(dims_.begin(), dims_.end(), [](const Sized& x, const Sized& y) {
      return std::pair(x.out, x.in) > std::pair(y.out, y.in);
    });
  }

  DimSizes sizes_of(const std::vector<i64>& chunks) const {
    DimSizes sizes;
    for (std::size_t k = 0; k < dims_.size(); ++k)
      if (chunks[k] < dims_[k].size) sizes.emplace_back(dims_[k].dim, chunks[k]);
    return sizes;
  }

  // What tiles of these sizes take, by the first of them, which is as large as any; nothing where
  // they cannot be made.
  std::optional<Cost> cost(const std::vector<i64>& chunks) const {
    i64 count = 1;
    Tile first;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      count *= tiles_in(dims_[k].size, chunks[k]);
      if (count > most_tiles) return std::nullopt;
      if (chunks[k] < dims_[k].size)
        first.cuts.push_back({dims_[k].dim, 0, chunks[k], dims_[k].size});
    }
    try {
      return measured(first, {.sizes = sizes_of(chunks)});
    } catch (const SplitError&) {
      return std::nullopt;
    }
  }

  bool sums(const Tile& cuts) const {
    return std::any_of(cuts.cuts.begin(), cuts.cuts.end(),
                       [&](const tessera::Cut& c) { return !contains(a_.oshape(), c.dim); });
  }

  Cost measured(const Tile& cuts, const TileChoice& choice) const {
    Cost c;
    c.choice = choice;
    const NamedLinop tile = a_.split(cuts);
    const Box in = box_of(a_.ishape(), input_, cuts), out = box_of(a_.oshape(), output_, cuts);
    const std::vector<WeightBox> weights = weights_on_disk(tile);
    const i64 out_bytes = StreamPlan::rounded(out.size() * size_of(out_dtype_));
    c.parts = StreamPlan::rounded(in.size() * size_of(dtype_)) + out_bytes;
    for (const WeightBox& w : weights) c.parts += StreamPlan::rounded(w.bytes());
    c.sum = sums(cuts) ? out_bytes : 0;
    try {
      std::vector<Array> arrays;
      arrays.reserve(weights.size());
      for (const WeightBox& w : weights)
        arrays.push_back(sketched(w.box.shape, w.store->grid().dtype()));
      const LentWeights scope(weights, arrays);
      if (!options_.devices.empty() && choice.specs.empty())
        c.choice.specs = fit(tile, {.shape = in.shape,
                                    .dtype = dtype_,
                                    .device = cpu,
                                    .budget = options_.devices,
                                    .devices = {}})
                             .specs;
      const Plan plan = plan_of_tile(tile, in.shape, dtype_, out.shape, out_dtype_, c.choice);
      c.workspace = plan.workspace(cpu) + formed(plan, tile, arrays);
    } catch (const OutOfMemory&) {  // of a device, or of what a plan forms: smaller ones may do
    }
    return c;
  }

  // What making the plan leaves in memory: weights that were multiplied.
  static i64 formed(const Plan& plan, const NamedLinop& tile, const std::vector<Array>& lent) {
    std::vector<const void*> known;
    for (const Array& a : tile.arrays()) known.push_back(a.storage().data());
    for (const Array& a : lent) known.push_back(a.storage().data());
    i64 bytes = 0;
    for (const Slot& s : plan.slots())
      if (s.kind == SlotKind::constant && s.device == cpu &&
          std::find(known.begin(), known.end(), s.constant.storage().data()) == known.end()) {
        known.push_back(s.constant.storage().data());
        bytes += s.constant.storage().bytes();
      }
    return bytes;
  }

  // The next tiles: halved along the dim that leaves least, in memory or to be read; nothing where all
  // are single elements.
  std::optional<Cost> halved(bool by_bytes = false) {
    std::optional<Cost> least;
    double least_read = 0;
    std::size_t along = 0;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (chunks_[k] == 1) continue;
      std::vector<i64> smaller = chunks_;
      smaller[k] = (chunks_[k] + 1) / 2;
      std::optional<Cost> c = cost(smaller);
      if (!c) continue;
      const double read = by_bytes ? bytes_read(c->choice.sizes) : 0;
      const bool less = read * much_more < least_read, more = least_read * much_more < read;
      if (least && !less && (more || !(*c < *least))) continue;
      least = std::move(c);
      least_read = read;
      along = k;
    }
    if (least) chunks_[along] = (chunks_[along] + 1) / 2;
    return least;
  }

  // The most that its tiles take, not the first alone: parts that stand side by side need not be
  // alike.
  Cost& of_all_tiles(Cost& way) const {
    if (way.workspace == unknown) return way;
    const OperatorTiles all(a_, input_, way.choice.sizes);
    const i64 step = std::max<i64>(1, all.count() / looked_at);
    for (i64 i = all.count() - 1; i > 0; i -= step) {
      const Cost c = measured(all[i].cuts, way.choice);
      way.workspace = std::max(way.workspace, c.workspace);
      way.parts = std::max(way.parts, c.parts);
    }
    return way;
  }

  [[noreturn]] void refuse(const Cost* least) const {
    std::vector<std::string> names;
    for (const Sized& d : dims_) names.push_back(cat("'", d.dim, "'"));
    const std::string cuts =
        names.empty() ? "it has no dim to be cut along" : cat("cut along ", join(names, ", "));
    const std::string why = reasons_.empty() ? "" : cat("; ", join(reasons_, "; "));
    require<OutOfMemory>(least && least->workspace != unknown, a_, " over arrays on disk: ", cuts,
                         ", no tile fits the devices under a budget of ", exact_bytes(budget_),
                         why);
    throw OutOfMemory(
        cat(a_, " over arrays on disk: ", cuts, ", a tile holds ", exact_bytes(least->held()), " (",
            bytes_text(least->parts), " of input, output and arrays), the budget is ", budget_,
            "; the smallest budget that would do is ", exact_bytes(least->held()), why));
  }

  const NamedLinop& a_;
  const store::TileStore* x_;  // the input, where it is known
  const Shape &input_, output_;
  DType dtype_, out_dtype_;
  const ApplyOptions& options_;
  i64 budget_;
  std::vector<Sized> dims_;
  std::vector<i64> chunks_;  // of the tiles, dim by dim
  std::vector<std::string> reasons_;
};

}  // namespace

TileChoice choose_tiles(const NamedLinop& a, const Shape& input, DType dtype,
                        const ApplyOptions& options, const store::TileStore* x) {
  return TileSearch(a, input, dtype, options, x).best();
}

OperatorTiles::OperatorTiles(const NamedLinop& a, const Shape& input, const DimSizes& sizes)
    : a_(a),
      input_(input),
      output_(a.output_shape(input)),
      weights_on_disk_(!weights_on_disk(a).empty()) {
  for (const auto& [dim, chunk] : sizes) {
    dims_.push_back(dim);
    ranges_.push_back(batch_ranges(*size_of_dim(a, dim, input), chunk));
    const i64 along = static_cast<i64>(ranges_.back().size());
    count_ *= along;
    if (!contains(a.oshape(), dim)) summed_ *= along;
  }
}

OperatorTile OperatorTiles::operator[](i64 number) const {
  OperatorTile t;
  i64 rest = number;
  for (std::size_t k = ranges_.size(); k-- > 0;) {
    const auto& along = ranges_[k];
    const i64 tiles = static_cast<i64>(along.size());
    const auto& [start, stop] = along[static_cast<std::size_t>(rest % tiles)];
    t.cuts.cuts.push_back({dims_[static_cast<i64>(k)], start, stop, along.back().second});
    rest /= tiles;
  }
  std::reverse(t.cuts.cuts.begin(), t.cuts.cuts.end());
  t.in = box_of(a_.ishape(), input_, t.cuts);
  t.out = box_of(a_.oshape(), output_, t.cuts);
  if (weights_on_disk_) t.weights = streaming::weights_on_disk(a_.split(t.cuts));
  t.first = number % summed_ == 0;
  t.last = (number + 1) % summed_ == 0;
  return t;
}

Plan plan_of_tile(const NamedLinop& tile, const Shape& in, DType dtype, const Shape& out,
                  DType out_dtype, const TileChoice& c) {
  Recorder r;
  const View x = r.input(Layout::contiguous(in), dtype, cpu),
             y = r.output(Layout::contiguous(out), out_dtype, cpu);
  if (c.specs.empty())
    tile.record(r, x, y);
  else
    create_batched_linop(tile, c.specs, in).record(r, x, y);
  return Plan(std::move(r), tile.str());
}

}  // namespace tessera::streaming
