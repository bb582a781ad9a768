// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/side.hpp"

#include <algorithm>

#include "tessera/dist/create.hpp"

namespace tessera {

Side::Side(Shape shape, Device base, RanksPtr ranks)
    : shape_(std::move(shape)),
      pieces_{{0, shape_.empty() ? 1 : shape_[0], base}},
      base_(base),
      ranks_(std::move(ranks)) {}

Side::Side(Shape shape, i64 axis, std::vector<Piece> pieces, Device base)
    : shape_(std::move(shape)), axis_(axis), pieces_(std::move(pieces)), base_(base) {}

Shape Side::shape(std::size_t i) const {
  Shape s = shape_;
  if (spread()) s[axis_] = pieces_[i].size;
  return s;
}

i64 Side::size() const { return count_of(ranks_ ? ranks_->shape : shape_); }

Array Side::part(const Array& whole, std::size_t i) const {
  if (!spread()) return whole;
  const Piece& p = pieces_[i];
  return whole.slice(axis_, p.start, p.start + p.size);
}

vec::Vector Side::zeros(DType dtype) const {
  vec::Vector v;
  v.ranks = ranks_;
  for (std::size_t i = 0; i < count(); ++i)
    v.pieces.push_back(vec::zeros(shape(i), dtype, device(i)));
  return v;
}

std::vector<View> Side::temporaries(Recorder& r, DType dtype) const {
  std::vector<View> v;
  for (std::size_t i = 0; i < count(); ++i) v.push_back(r.temporary(shape(i), dtype, device(i)));
  return v;
}

Array Side::normal(Random& random, DType dtype) const {
  if (!ranks_) return random.normal(shape_, dtype, base_);
  const DNDarray all =
      dist::normal(random, ranks_->shape, dtype, {ranks_->spread.split, base_, ranks_->comm});
  return all.spread_as(ranks_->spread).local();
}

vec::Vector Side::pieces_of(const Array& whole) const {
  if (!spread()) {
    vec::Vector v(whole);
    v.ranks = ranks_;
    return v;
  }
  const vec::Vector v = zeros(whole.dtype());
  for (std::size_t i = 0; i < count(); ++i) v.pieces[i].copy_from(part(whole, i).to(device(i)));
  return v;
}

Array Side::whole(const vec::Vector& pieces, Device device) const {
  const Array a = vec::zeros(shape_, pieces.dtype(), device);
  for (std::size_t i = 0; i < count(); ++i) part(a, i).copy_from(pieces.pieces[i].to(device));
  return a;
}

void Side::scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(part(whole, i)), r.constant(pieces.pieces[i]));
}

void Side::gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(pieces.pieces[i]), r.constant(part(whole, i)));
}

Side Side::reduced(const Shape& axes) const {
  Side s = *this;
  for (i64 axis : axes) s.shape_[axis] = 1;
  if (spread() && std::find(axes.begin(), axes.end(), axis_) == axes.end()) return s;
  return Side(s.shape_, base_,
              ranks_ ? std::make_shared<const Ranks>(ranks_->reduced(axes)) : nullptr);
}

Side Side::stacked(i64 rows) const {
  Shape all{rows};
  all.append(shape_);
  if (spread()) return Side(std::move(all), axis_ + 1, pieces_, base_);
  return Side(std::move(all), base_,
              ranks_ ? std::make_shared<const Ranks>(ranks_->stacked(rows)) : nullptr);
}

void record_norms2(Recorder& r, const Side& side, const Side& groups, const std::vector<View>& x,
                   const std::vector<View>& to) {
  if (to.size() == x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) vec::reduce(r, ReduceOp::sum_abs2, x[i], to[i]);
    const RanksPtr& ranks = side.ranks();
    if (ranks && ranks->spread.split && !groups.ranks()->spread.split)
      ranks->combine(r, to.front());
    return;
  }
  const View& sums = to.front();
  Shape rows{static_cast<i64>(side.count())};
  rows.append(sums.shape());
  const View parts = r.temporary(rows, sums.dtype, side.base());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const View part = sub_view(parts, parts.layout.select(0, static_cast<i64>(i)));
    const View own = side.device(i) == side.base()
                         ? part
                         : r.temporary(sums.shape(), sums.dtype, side.device(i));
    vec::reduce(r, ReduceOp::sum_abs2, x[i], own);
    if (own.slot != part.slot) record::copy(r, own, part);
  }
  rows[0] = 1;
  View all = sums;
  all.layout = Layout::contiguous(rows);
  all.layout.offset = sums.layout.offset;
  vec::reduce(r, ReduceOp::sum, parts, all);
}

}  // namespace tessera
