// SPDX-License-Identifier: Apache-2.0
#pragma once
// One pass over the boxes of an expression, with what it computes: into a store (assign), or
// reduced over axes, so that ((a - b) ** 2).sum() reads a and b once. Tiles are those of a
// store that has the whole shape, or others by which less is read; a small budget takes parts of them. A tile is worked on in leaves
// of fixed shape that stay in the cache, whatever the budget: sums are added leaf by leaf within a
// tile and pairwise over tiles, so the bits of a result do not depend on the budget.
//   assign(Expression(a) * 2.0, out, {.budget = 1 << 20});   Array m = reduce(Reduction::mean, a, Axes{0});

#include <optional>

#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/streaming/passes/expression.hpp"

namespace tessera::streaming {

// `out` has the expression's shape; converted as out= of arrays does (same kind).
TESSERA_API StreamPlan plan_assign(const Expression& expression, const StorePtr& out,
                                   const Options& options = {});
inline void assign(const Expression& e, const StorePtr& out, const Options& options = {}) {
  plan_assign(e, out, options).run();
}

enum class Reduction : std::uint8_t { sum, mean, min, max, norm };
TESSERA_API std::string_view name(Reduction r);

// The result comes from the plan's run(), in memory, with the dtype that arrays give.
TESSERA_API StreamPlan plan_reduce(Reduction reduction, const Expression& expression,
                                   const std::optional<Axes>& axes = {}, bool keepdims = false,
                                   const Options& options = {});
inline Array reduce(Reduction reduction, const Expression& expression,
                    const std::optional<Axes>& axes = {}, bool keepdims = false,
                    const Options& options = {}) {
  return plan_reduce(reduction, expression, axes, keepdims, options).run();
}

// How a pass is cut: steps within tiles, leaves within steps.
struct Cut {
  Shape tile, leaf, step;
  i64 slots = 1;    // of the ring: steps that are held at a time
  i64 threads = 1;  // leaves that are evaluated at a time
};
inline constexpr i64 leaf_elements = 32768;

// The tiles by which a pass goes, and how they are filled by parts: whole rows first (all of the last
// axes), or whole columns, as the numbers lie.
struct PassTiles {
  store::TileGrid grid;
  bool by_columns = false;
  Shape filled(i64 elements) const;  // a part of a tile with at most so many
};
// Those by which least is read of the files, whatever the budget is: bits follow from them.
PassTiles tiles_of_pass(const Program& program);

// What a pass holds for a cut, in bytes.
using HeldBytes = std::function<i64(const Cut&)>;
// The largest steps within the budget, with a ring as deep as helps; refuses with the least budget.
Cut choose_cut(std::string_view who, const PassTiles& tiles, const Options& options,
               const HeldBytes& held);
// The parts of a box, row-major, of at most the shape `by`.
std::vector<Box> parts_of(const Box& box, const Shape& by);
// Buffers of the sources for each slot of the ring, and the reads of a step into them.
class SourceRing {
 public:
  SourceRing(StreamPlan& plan, std::shared_ptr<const Program> program, const Cut& cut);
  static i64 bytes(const Program& program, const Cut& cut);  // of all slots
  std::vector<Move> reads(const Box& box, i64 slot) const;
  std::vector<Program::Part> parts(const Buffers& buffers, const std::vector<Move>& reads) const;

 private:
  std::shared_ptr<const Program> program_;
  std::vector<i64> stores_;
  std::vector<std::vector<i64>> buffers_;  // [slot][source]
};

}  // namespace tessera::streaming
