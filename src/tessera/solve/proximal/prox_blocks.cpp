// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/solve/core/vector_space.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera::prox {
namespace {

struct Span {
  i64 start, stop;
};

// The part of [start, stop) in a piece that begins at `begin`, in the piece's own numbers.
Span within(const Span& block, i64 begin, i64 size) {
  const i64 start = std::clamp<i64>(block.start - begin, 0, size),
            stop = std::clamp<i64>(block.stop - begin, 0, size);
  return {start, stop};
}

// A block of vectors that lie as `side` says: where it lies, and which part of which piece it is.
struct BlockSpace {
  VectorSpace side;
  std::vector<std::pair<std::size_t, Span>> of;
};

BlockSpace over_ranks(const VectorSpace& side, i64 axis, const Span& block) {
  Ranks own = *side.ranks();
  i64 begin = 0;
  if (own.distribution.split == axis) {
    begin = own.distribution.part.begin(own.comm.rank());
    own.distribution.part =
        own.distribution.part.sliced({block.start, block.stop - block.start, 1});
  }
  own.shape[axis] = block.stop - block.start;
  const Shape local = own.local_shape();
  return {VectorSpace(local, side.base(), std::make_shared<const Ranks>(std::move(own))),
          {{0, within(block, begin, side.shape()[axis])}}};
}

BlockSpace block_of(const VectorSpace& side, i64 axis, const Span& block) {
  if (side.ranks()) return over_ranks(side, axis, block);
  std::vector<VectorSpace::Piece> pieces;
  std::vector<std::pair<std::size_t, Span>> of;
  for (std::size_t i = 0; i < side.count(); ++i) {
    VectorSpace::Piece p = side.piece(i);
    const Span own = within(block, p.start[axis], p.size[axis]);
    if (own.start == own.stop && side.count() > 1) continue;
    p.start[axis] = std::max<i64>(p.start[axis] - block.start, 0);
    p.size[axis] = own.stop - own.start;
    pieces.push_back(p);
    of.emplace_back(i, own);
  }
  Shape shape = side.shape();
  shape[axis] = block.stop - block.start;
  return {VectorSpace(std::move(shape), std::move(pieces), side.base()), std::move(of)};
}

void record_block(Recorder& r, const BlockSpace& block, i64 axis, const Prox& f,
                  const vec::Vector& x, double t, const vec::Vector& y) {
  if (block.of.empty()) return;
  // Steps work on dense vectors: a block that is not one is copied.
  vec::Vector in;
  in.ranks = block.side.ranks();
  std::vector<Array> from, to;
  for (std::size_t k = 0; k < block.of.size(); ++k) {
    const auto& [i, own] = block.of[k];
    from.push_back(x.pieces[i].slice(axis, own.start, own.stop));
    to.push_back(y.pieces[i].slice(axis, own.start, own.stop));
    in.pieces.push_back(vec::zeros(from.back().shape(), x.dtype(), block.side.device(k)));
    record::copy(r, r.constant(from.back()), r.constant(in.pieces.back()));
  }
  f.record(r, block.side, in, t, in);
  for (std::size_t k = 0; k < to.size(); ++k)
    record::copy(r, r.constant(in.pieces[k]), r.constant(to[k]));
}

struct Blocks {
  std::vector<Block> of;
  i64 axis;

  i64 checked_axis(const Shape& shape) const {
    const i64 along = normalize_axis(axis, shape.size(), "prox.blocks");
    i64 sum = 0;
    for (const Block& b : of) sum += b.size;
    require<ShapeError>(sum == shape[along], "prox.blocks: blocks of ", sum, " in all along axis ",
                        axis, " of a vector of shape ", shape);
    return along;
  }
  void record(Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
              const vec::Vector& y) const {
    const i64 along = checked_axis(side.ranks() ? side.ranks()->shape : side.shape());
    i64 start = 0;
    for (const Block& b : of) {
      if (b.size > 0)
        record_block(r, block_of(side, along, {start, start + b.size}), along, b.f, x, t, y);
      start += b.size;
    }
  }
  Array call(const Array& v, double t, std::optional<i64> iteration = {}) const {
    const i64 along = checked_axis(v.shape());
    const Array y = v.copy();
    i64 start = 0;
    for (const Block& b : of) {
      if (b.size > 0) {
        const Array part = v.slice(along, start, start + b.size);
        const Array found = apply_prox(b.f, part, t, iteration);
        require<ShapeError>(found.shape() == part.shape(), "prox.blocks: '", b.f.name,
                            "' gave shape ", found.shape(), ", expected ", part.shape());
        y.slice(along, start, start + b.size).copy_from(found);
      }
      start += b.size;
    }
    return y;
  }
};

}  // namespace

Prox blocks(const std::vector<Block>& of, i64 axis) {
  require<ArgumentError>(!of.empty(), "prox.blocks: no blocks");
  std::string name = cat("blocks(", axis);
  bool recorded = true, told = true, numbered = false;
  Prox p;
  for (const Block& b : of) {
    require<ArgumentError>(b.size >= 0, "prox.blocks: a block of size ", b.size);
    name += cat(", ", b.size, ": ", b.f.name);
    recorded = recorded && b.f.record;
    told = told && b.f.told_by_name;
    numbered = numbered || b.f.numbered;
    p.numbers.push_back(static_cast<double>(b.size));
    p.parts.push_back(b.f);
  }
  const Blocks all{of, axis};
  p.name = name + ")";
  if (recorded)
    p.record = [all](Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                     const vec::Vector& y) { all.record(r, side, x, t, y); };
  else
    p.call = [all](const Array& v, double t) { return all.call(v, t); };
  if (numbered) p.numbered = [all](const Array& v, double t, i64 i) { return all.call(v, t, i); };
  p.told_by_name = recorded && told;
  p.maker = "blocks";
  p.reach = Prox::Reach::block;
  p.axes = Axes{axis};
  return p;
}

}  // namespace tessera::prox
