// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/vector_space.hpp"

#include <algorithm>
#include <limits>

#include "tessera/distributed/array/create.hpp"
#include "tessera/solve/core/stored_vectors.hpp"

namespace tessera {
namespace {

// Sums of |x|^2, or the largest numbers: how those of a piece are found, and how they come together.
struct OfGroups {
  ReduceOp of_piece, of_pieces;
  ElementOp of_two;
  Combine of_ranks;
};
constexpr OfGroups sums{ReduceOp::sum_abs2, ReduceOp::sum, ElementOp::add, Combine::sum};
constexpr OfGroups maxima{ReduceOp::max, ReduceOp::max, ElementOp::maximum, Combine::max};

void record_piece(Recorder& r, const OfGroups& of, const View& x, const View& to) {
  if (of.of_piece == ReduceOp::max && count_of(x.shape()) == 0)
    record::fill(r, Value(-std::numeric_limits<double>::infinity()), to);
  else
    vec::reduce(r, of.of_piece, x, to);
}

// Groups that several pieces have in common: what is found of them comes together with the first of
// these pieces, and all of them get the result.
void record_shared(Recorder& r, const OfGroups& of, const VectorSpace& groups,
                   const std::vector<View>& to) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::size_t k = 0;
    while (groups.piece(k).start != groups.piece(i).start) ++k;
    first.push_back(k);
    const vec::Factor both[] = {to[k], to[i]};
    if (k != i) vec::apply(r, of.of_two, to[k].dtype, both, to[k]);
  }
  for (std::size_t i = 0; i < to.size(); ++i)
    if (first[i] != i) record::copy(r, to[first[i]], to[i]);
}

void record_groups(Recorder& r, const OfGroups& of, const VectorSpace& side,
                   const VectorSpace& groups, const std::vector<View>& x,
                   const std::vector<View>& to) {
  if (to.size() == x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) record_piece(r, of, x[i], to[i]);
    record_shared(r, of, groups, to);
    const RanksPtr& ranks = side.ranks();
    if (ranks && ranks->distribution.split && !groups.ranks()->distribution.split)
      ranks->combine(r, to.front(), of.of_ranks);
    return;
  }
  const View& found = to.front();
  Shape rows{static_cast<i64>(side.count())};
  rows.append(found.shape());
  const View parts = r.temporary(rows, found.dtype, side.base());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const View part = sub_view(parts, parts.layout.select(0, static_cast<i64>(i)));
    const View own = side.device(i) == side.base()
                         ? part
                         : r.temporary(found.shape(), found.dtype, side.device(i));
    record_piece(r, of, x[i], own);
    if (own.slot != part.slot) record::copy(r, own, part);
  }
  rows[0] = 1;
  View all = found;
  all.layout = Layout::contiguous(rows);
  all.layout.offset = found.layout.offset;
  vec::reduce(r, of.of_pieces, parts, all);
}

}  // namespace

VectorSpace::VectorSpace(Shape shape, Device base, RanksPtr ranks, StoredSolvePtr stored)
    : shape_(std::move(shape)),
      pieces_{{Shape(shape_.size(), 0), shape_, base}},
      base_(base),
      ranks_(std::move(ranks)),
      stored_(std::move(stored)) {}

VectorSpace::VectorSpace(Shape shape, std::vector<Piece> pieces, Device base)
    : shape_(std::move(shape)), pieces_(std::move(pieces)), base_(base) {}

std::vector<i64> VectorSpace::cut_axes() const {
  std::vector<i64> axes;
  for (i64 axis = 0; axis < shape_.size(); ++axis)
    if (pieces_.front().size[axis] != shape_[axis]) axes.push_back(axis);
  return axes;
}

bool VectorSpace::cut_like(const VectorSpace& other) const {
  return shape_ == other.shape_ && !ranks_ && !other.ranks_ &&
         std::equal(
             pieces_.begin(), pieces_.end(), other.pieces_.begin(), other.pieces_.end(),
             [](const Piece& a, const Piece& b) { return a.start == b.start && a.size == b.size; });
}

i64 VectorSpace::size() const { return count_of(ranks_ ? ranks_->shape : shape_); }

Array VectorSpace::part(const Array& whole, std::size_t i) const {
  if (!distribution()) return whole;
  const Piece& p = pieces_[i];
  Array part = whole;
  for (i64 axis : cut_axes()) part = part.slice(axis, p.start[axis], p.start[axis] + p.size[axis]);
  return part;
}

vec::Vector VectorSpace::zeros(DType dtype) const {
  if (stored_) return stored_->zeros(shape_, dtype);
  vec::Vector v;
  v.ranks = ranks_;
  for (std::size_t i = 0; i < count(); ++i)
    v.pieces.push_back(vec::zeros(shape(i), dtype, device(i)));
  return v;
}

std::vector<View> VectorSpace::temporaries(Recorder& r, DType dtype) const {
  std::vector<View> v;
  for (std::size_t i = 0; i < count(); ++i) v.push_back(r.temporary(shape(i), dtype, device(i)));
  return v;
}

Array VectorSpace::normal(Random& random, DType dtype) const {
  if (!ranks_) return random.normal(shape_, dtype, base_);
  const DNDarray all =
      dist::normal(random, ranks_->shape, dtype, {ranks_->distribution.split, base_, ranks_->comm});
  return all.distributed_as(ranks_->distribution).local();
}

vec::Vector VectorSpace::pieces_of(const Array& whole) const {
  if (!distribution()) {
    vec::Vector v(whole);
    v.ranks = ranks_;
    return v;
  }
  const vec::Vector v = zeros(whole.dtype());
  for (std::size_t i = 0; i < count(); ++i) v.pieces[i].copy_from(part(whole, i).to(device(i)));
  return v;
}

Array VectorSpace::whole(const vec::Vector& pieces, Device device) const {
  const Array a = vec::zeros(shape_, pieces.dtype(), device);
  for (std::size_t i = 0; i < count(); ++i) part(a, i).copy_from(pieces.pieces[i].to(device));
  return a;
}

void VectorSpace::scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const {
  if (stored_) return vec::copy(r, stored_->held(whole, pieces.dtype()), pieces);
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(part(whole, i)), r.constant(pieces.pieces[i]));
}

void VectorSpace::gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(pieces.pieces[i]), r.constant(part(whole, i)));
}

VectorSpace VectorSpace::reduced(const Shape& axes) const {
  const std::vector<i64> cut = cut_axes();
  const bool beside = std::any_of(cut.begin(), cut.end(), [&](i64 axis) {
    return std::find(axes.begin(), axes.end(), axis) == axes.end();
  });
  VectorSpace s = *this;
  for (i64 axis : axes) {
    s.shape_[axis] = 1;
    for (Piece& p : s.pieces_) {
      p.start[axis] = 0;
      p.size[axis] = 1;
    }
  }
  // One piece keeps its groups beside itself, wherever it is.
  if (beside || (count() == 1 && !ranks_)) return s;
  return VectorSpace(s.shape_, base_,
                     ranks_ ? std::make_shared<const Ranks>(ranks_->reduced(axes)) : nullptr);
}

VectorSpace VectorSpace::stacked(i64 rows) const {
  Shape all{rows};
  all.append(shape_);
  if (distribution()) {
    std::vector<Piece> pieces = pieces_;
    for (Piece& p : pieces) {
      p.start.insert(0, 0);
      p.size.insert(0, rows);
    }
    return VectorSpace(std::move(all), std::move(pieces), base_);
  }
  return VectorSpace(std::move(all), base_,
                     ranks_ ? std::make_shared<const Ranks>(ranks_->stacked(rows)) : nullptr);
}

void record_norms2(Recorder& r, const VectorSpace& side, const VectorSpace& groups,
                   const std::vector<View>& x, const std::vector<View>& to) {
  record_groups(r, sums, side, groups, x, to);
}

void record_largest(Recorder& r, const VectorSpace& side, const VectorSpace& groups,
                    const std::vector<View>& x, const std::vector<View>& to) {
  record_groups(r, maxima, side, groups, x, to);
}

}  // namespace tessera
