// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/pass.hpp"

#include <algorithm>

#include "tessera/device/threads.hpp"

namespace tessera::streaming {
namespace {

i64 multiple_of(i64 n, i64 of) { return (n + of - 1) / of * of; }

// The largest step with this ring that fits, from leaves that do.
Cut grown(Cut cut, bool by_columns, i64 budget, const HeldBytes& held) {
  for (i64 k = 0; k < cut.tile.size(); ++k) {
    const i64 d = by_columns ? k : cut.tile.size() - 1 - k;
    const i64 unit = cut.leaf[d];
    const auto with = [&](i64 units) {
      Cut c = cut;
      c.step[d] = std::min(cut.tile[d], units * unit);
      return c;
    };
    i64 fits = 1, all = multiple_of(cut.tile[d], unit) / unit;
    if (held(with(all)) <= budget) {
      cut = with(all);
      continue;
    }
    for (i64 above = all; above - fits > 1;) {
      const i64 middle = fits + (above - fits) / 2;
      (held(with(middle)) <= budget ? fits : above) = middle;
    }
    return with(fits);
  }
  return cut;
}

}  // namespace

Cut choose_cut(std::string_view who, const PassTiles& tiles, const Options& options,
               const HeldBytes& held) {
  const Shape& tile = tiles.grid.tile_shape();
  Cut cut;
  cut.tile = tile;
  cut.leaf = tiles.filled(leaf_elements);
  const i64 budget = budget_of(options);
  const i64 threads = num_threads();
  for (const i64 slots : {4, 3, 2}) {  // whole tiles
    cut.step = tile;
    cut.slots = slots;
    cut.threads = threads;
    if (held(cut) <= budget) return cut;
  }
  cut.step = cut.leaf;
  for (const auto& [slots, workers] : {std::pair<i64, i64>{3, threads}, {2, threads}, {2, 1}}) {
    cut.slots = slots;
    cut.threads = workers;
    if (held(cut) <= budget) return grown(cut, tiles.by_columns, budget, held);
  }
  cut.slots = 1;
  require_budget(who, options, held(cut));
  return cut;
}

std::vector<Box> parts_of(const Box& box, const Shape& by) {
  std::vector<Box> out;
  const store::TileGrid grid(box.shape, by, DType::u8);
  for (i64 t = 0; t < grid.tiles(); ++t) {
    Box part = grid.tile(t);
    for (i64 d = 0; d < part.begin.size(); ++d) part.begin[d] += box.begin[d];
    out.push_back(std::move(part));
  }
  return out;
}

SourceRing::SourceRing(StreamPlan& plan, std::shared_ptr<const Program> program, const Cut& cut)
    : program_(std::move(program)) {
  const Box whole{Shape(cut.step.size(), 0), cut.step};
  for (std::size_t i = 0; i < program_->sources().size(); ++i)
    stores_.push_back(plan.add_store(cat("source ", i), program_->sources()[i]));
  for (i64 slot = 0; slot < cut.slots; ++slot) {
    buffers_.emplace_back();
    for (const StorePtr& s : program_->sources())
      buffers_.back().push_back(
          plan.add_buffer(beside(whole, s->grid().shape()).size() * size_of(s->grid().dtype())));
  }
}

i64 SourceRing::bytes(const Program& program, const Cut& cut) {
  const Box whole{Shape(cut.step.size(), 0), cut.step};
  i64 sum = 0;
  for (const StorePtr& s : program.sources())
    sum +=
        StreamPlan::rounded(beside(whole, s->grid().shape()).size() * size_of(s->grid().dtype()));
  return cut.slots * sum;
}

std::vector<Move> SourceRing::reads(const Box& box, i64 slot) const {
  std::vector<Move> out;
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    const store::TileGrid& grid = program_->sources()[i]->grid();
    Box mine = beside(box, grid.shape());
    const BufferView view =
        dense_view(buffers_[static_cast<std::size_t>(slot)][i], mine.shape, grid.dtype());
    out.push_back({stores_[i], std::move(mine), view});
  }
  return out;
}

std::vector<Program::Part> SourceRing::parts(const Buffers& buffers,
                                             const std::vector<Move>& reads) const {
  std::vector<Program::Part> out;
  out.reserve(reads.size());
  for (const Move& m : reads) out.push_back({buffers(m.view), m.box});
  return out;
}

}  // namespace tessera::streaming
