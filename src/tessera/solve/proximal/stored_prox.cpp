// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/stored_prox.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/solve/disk/block_sweep.hpp"
#include "tessera/store/tiles/slab.hpp"

namespace tessera {
namespace {

using store::Box;
using streaming::StreamPlan;

// What is asked of a step: y = p(x, t) in a part of both.
struct Wanted {
  Engine& e;
  Recorder& r;
  const vec::Vector& x;
  double t;
  const vec::Vector& y;
  std::function<i64()> iteration;
  Box part;

  const Shape& shape() const { return x.stored->store->grid().shape(); }
  StoredSolve& solve() const { return *x.stored->solve; }
};

// A pass over the numbers of a part. Only what `f` writes to the second vector is kept.
template <class F>
StreamPlan pass(const std::vector<SweptVector>& over, i64 budget, const Box& part, F f) {
  return plan_sweep("proximal maps of vectors on disk", over, sweep_work(std::move(f)), budget, {},
                    part);
}

// y = x max(1 - t / |x|, 0) of a part: one pass for its length, one for y.
struct ShrunkPart {
  double t, sum = 0, factor = 0;
  StreamPlan measure, scale;

  ShrunkPart(const Wanted& w, double t_)
      : t(t_),
        measure(pass({{w.x.stored->store}}, w.solve().budget, w.part,
                     [this](const auto& box, const Box&) {
                       for (i64 i = 0; i < box.count; ++i) {
                         const double v = static_cast<double>(box.vectors[0][i]);
                         sum += v * v;
                       }
                     })),
        scale(pass({{w.x.stored->store}, {w.y.stored->store, true, false}}, w.solve().budget,
                   w.part, [this](const auto& box, const Box&) {
                     using T = std::remove_cvref_t<decltype(box.vectors[0][0])>;
                     for (i64 i = 0; i < box.count; ++i)
                       box.vectors[1][i] = static_cast<T>(factor) * box.vectors[0][i];
                   })) {}
  void operator()() {
    sum = 0;
    measure.run();
    const double size = std::sqrt(sum);
    factor = size == 0 ? 0.0 : std::max(1 - t / size, 0.0);
    scale.run();
  }
};

// The projection of prox_simplex.cpp with all of a part as its group. The level rises from -total by
// Newton's method to where the sum is `total`: that sum is convex, so a step never goes too far, and
// once no further number falls below the level it is exact.
struct SimplexPart {
  double total, largest = 0, level = 0, sum = 0;
  i64 count = 0;
  StreamPlan find, exceed, project;

  SimplexPart(const Wanted& w, double total_)
      : total(total_),
        find(pass({{w.x.stored->store}}, w.solve().budget, w.part,
                  [this](const auto& box, const Box&) {
                    for (i64 i = 0; i < box.count; ++i) {
                      const double v = static_cast<double>(box.vectors[0][i]);
                      if (v > largest || std::isnan(v)) largest = v;
                    }
                  })),
        exceed(pass({{w.x.stored->store}}, w.solve().budget, w.part,
                    [this](const auto& box, const Box&) {
                      for (i64 i = 0; i < box.count; ++i) {
                        const double v = static_cast<double>(box.vectors[0][i]) - largest - level;
                        if (v > 0) sum += v, ++count;
                      }
                    })),
        project(pass({{w.x.stored->store}, {w.y.stored->store, true, false}}, w.solve().budget,
                     w.part, [this](const auto& box, const Box&) {
                       using T = std::remove_cvref_t<decltype(box.vectors[0][0])>;
                       for (i64 i = 0; i < box.count; ++i) {
                         const double v = static_cast<double>(box.vectors[0][i]) - largest - level;
                         box.vectors[1][i] = static_cast<T>(v < 0 ? 0.0 : v);  // NaN stays
                       }
                     })) {}
  void operator()() {
    largest = -std::numeric_limits<double>::infinity();
    find.run();
    level = -total;
    for (i64 before = -1;;) {
      sum = 0;
      count = 0;
      exceed.run();
      if (count == 0 || count == before) break;
      before = count;
      level = std::max(level, level + (sum - total) / static_cast<double>(count));
    }
    project.run();
  }
};

template <class Part>
void record_passes(const Wanted& w, const Prox& p, double number) {
  const auto part = std::make_shared<Part>(w, number);
  w.solve().passes(w.r, p.name, [part] { (*part)(); });
}

// Shrinks all of x by t in length; the sum shares a pass with what is before it, y with what follows.
void shrink_all(const Wanted& w, double t) {
  ScalarProgram& b = w.e.scalars;
  const DeviceScalar size = b.cell("prox size"), factor = b.cell("prox factor");
  vec::norm2(w.r, w.x, w.e.target(w.r, size));
  b.store(size, root(size));
  b.store(factor, larger(size - t, b.constant(0)) / larger(size, b.constant(1e-300)));
  b.record(w.r);
  vec::scale(w.r, w.e.factor(w.r, factor), w.x, w.y);
}

// The map for the numbers of a box of the part.
Prox on_box(const Prox& p, const Box& part, const Box& box) {
  return p.center ? prox::l2_squared(p.numbers.front(), store::part_of(p.center, part, box)) : p;
}

// Raises now, and not within the solve, what the map says against such vectors.
void try_one_number(const Wanted& w, const Prox& p) {
  require<ShapeError>(!p.center || p.center.shape() == w.part.shape, "prox.", p.name,
                      ": center has shape ", p.center ? p.center.shape() : Shape(), ", expected ",
                      w.part.shape);
  const Box one{w.part.begin, Shape(w.part.shape.size(), 1)};
  (void)apply_prox(on_box(p, w.part, one), vec::zeros(one.shape, w.x.dtype(), cpu), w.t);
}

// Box by box, each whole along the axes of groups.
void map_boxes(const Wanted& w, const Prox& p, const Axes& groups) {
  const auto on = [p, t = w.t, part = w.part](const Array& v, const Box& box) {
    return apply_prox(on_box(p, part, box), v, t);
  };
  w.solve().map(w.r, p.name, w.x, w.y, on, w.part, groups);
}

void record_groups(const Wanted& w, const Prox& p) {
  const i64 rank = w.shape().size();
  std::vector<bool> along(static_cast<std::size_t>(rank), !p.axes);
  for (const i64 axis : p.axes.value_or(Axes{}))
    along[static_cast<std::size_t>(normalize_axis(axis, rank, cat("prox.", p.name)))] = true;
  Axes groups;
  for (i64 axis = 0; axis < rank; ++axis)
    if (along[static_cast<std::size_t>(axis)]) groups.push_back(axis);
  const bool one = groups.size() == rank;
  if (one && p.maker == "simplex") return record_passes<SimplexPart>(w, p, p.numbers.front());
  if (!one || (p.maker != "l2" && p.maker != "group")) return map_boxes(w, p, groups);
  const double t = p.numbers.front() * w.t;
  if (t == 0) return map_boxes(w, prox::none(), {});
  if (w.part.shape == w.shape()) return shrink_all(w, t);
  record_passes<ShrunkPart>(w, p, t);
}

// The passes that a function says itself, in place. They are planned by every run: where blocks begin
// may follow from the iteration.
struct OwnPasses {
  // Of the budget of a solve: buffers of a pass and, in them, a box. What functions make of a box may
  // take thirty times as much beside it; where single blocks are larger, less must do.
  static constexpr i64 share = 16, boxes = 32, most_share = 4;

  Prox p;
  StoredSolve& solve;
  streaming::StorePtr vector;
  double t;
  std::function<i64()> iteration;
  Box part;
  streaming::StorePtr kept{};

  // The bytes that a box of whole pages may have.
  i64 room() const { return solve.budget / boxes & ~i64{4095}; }
  std::vector<ProxPass> of(i64 number) const {
    return p.passes(part.shape, vector->grid().dtype(), t, number, room());
  }
  void run(const ProxPass& pass) {
    const bool keeps = pass.target == ProxPass::Target::kept;
    if (keeps && !kept)
      kept = solve.zeros(vector->grid().shape(), vector->grid().dtype()).stored->store;
    std::vector<SweptVector> over{{vector, pass.target == ProxPass::Target::vector}};
    if (keeps || pass.reads_kept) over.push_back({kept, keeps, pass.reads_kept});
    const auto work = [&pass](const std::vector<Array>& v, const Shape& begin) {
      const Array found = pass.map(v.front(), pass.reads_kept ? v.back() : Array(), begin);
      if (pass.target == ProxPass::Target::nothing) return;
      (pass.target == ProxPass::Target::kept ? v.back() : v.front()).copy_from(found);
    };
    Box whole = part;
    for (i64 axis = 0; axis < whole.shape.size(); ++axis) {
      whole.begin[axis] += pass.begin[axis];
      whole.shape[axis] = pass.shape[axis];
    }
    plan_block_sweep(p.name, over, {whole, pass.blocks, pass.shift}, work,
                     {solve.budget / share, solve.budget / most_share})
        .run();
  }
  void operator()() {
    for (const ProxPass& pass : of(iteration())) run(pass);
  }
};

void record_own_passes(const Wanted& w, const Prox& p) {
  const auto own = std::make_shared<OwnPasses>(
      OwnPasses{p, w.solve(), w.y.stored->store, w.t, w.iteration, w.part});
  (void)own->of(0);
  if (w.x.stored->store != w.y.stored->store) map_boxes(w, prox::none(), {});
  w.solve().passes(w.r, p.name, [own] { (*own)(); });
}

void record_part(const Wanted& w, const Prox& p) {
  if (p.passes) {
    if (count_of(w.part.shape) > 0) record_own_passes(w, p);
    return;
  }
  require<ArgumentError>(p.reach != Prox::Reach::whole, w.e.name, ": the proximal map '", p.name,
                         "' is a function, which would have to see a vector that is on disk; give "
                         "one of ts.solve.prox");
  if (p.reach == Prox::Reach::block) {
    const i64 axis = normalize_axis(p.axes->front(), w.shape().size(), "prox.blocks");
    Wanted block = w;
    for (std::size_t i = 0; i < p.parts.size(); ++i) {
      block.part.shape[axis] = static_cast<i64>(p.numbers[i]);
      record_part(block, p.parts[i]);
      block.part.begin[axis] += block.part.shape[axis];
    }
    const i64 given = block.part.begin[axis] - w.part.begin[axis];
    require<ShapeError>(given == w.part.shape[axis], "prox.blocks: blocks of ", given,
                        " in all along axis ", p.axes->front(), " of a vector of shape ",
                        w.part.shape);
    return;
  }
  if (count_of(w.part.shape) == 0) return;
  try_one_number(w, p);
  if (p.maker == "none" && w.x.stored->store == w.y.stored->store) return;
  if (p.reach == Prox::Reach::number) return map_boxes(w, p, {});
  record_groups(w, p);
}

}  // namespace

void record_on_disk(Engine& e, Recorder& r, const Prox& p, const vec::Vector& x, double t,
                    const vec::Vector& y, std::function<i64()> iteration) {
  record_part({e, r, x, t, y, std::move(iteration), x.stored->store->grid().whole()}, p);
}

}  // namespace tessera
