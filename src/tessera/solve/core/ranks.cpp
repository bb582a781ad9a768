// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/ranks.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/binding.hpp"

namespace tessera {

Shape Ranks::local_shape() const {
  Shape s = shape;
  if (distribution.split) s[*distribution.split] = distribution.part.count(comm.rank());
  return s;
}

void Ranks::combine(Recorder& r, const View& to, Combine op) const {
  if (comm.alone()) return;
  const View reads[] = {to};
  r.call(
      "over ranks",
      [c = comm, op, apart = distribution.split.has_value()](std::span<const Array>,
                                                             const Array& cells) {
        const Array here = cells.to(cpu);
        if (apart)
          c.allreduce(here.host_data(), here.size(), here.dtype(), op);
        else
          c.broadcast(here.host_data(), here.bytes(), 0);
        if (cells.device().kind != Kind::cpu) cells.copy_from(here.to(cells.device()));
      },
      reads, to);
}

Ranks Ranks::reduced(const Shape& axes) const {
  Ranks r = *this;
  for (i64 axis : axes) r.shape[axis] = 1;
  if (distribution.split && std::find(axes.begin(), axes.end(), *distribution.split) != axes.end())
    r.distribution = {};
  return r;
}

Ranks Ranks::stacked(i64 rows) const {
  Ranks r = *this;
  r.shape = Shape{rows};
  r.shape.append(shape);
  if (r.distribution.split) ++*r.distribution.split;
  return r;
}

namespace {

bool can_be_cut(const NamedLinop& a, const Ranks& in, NamedDimension along) {
  // Routes are read from layouts: one number stands for the vector.
  const Array one = zeros({}, DType::f64).broadcast_to(in.local_shape());
  try {
    (void)dist::explain_apply(a, in.vector(one), {.along = along});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

LocalPart::LocalPart(NamedLinop a, RanksPtr input, RanksPtr output,
                     std::optional<NamedDimension> dim)
    : whole(std::move(a)), in(std::move(input)), out(std::move(output)), along(dim) {
  if (in->distribution.split || in->comm.alone()) return;
  if (!along && out->distribution.split)
    for (NamedDimension d : whole.oshape())
      if (!d.is_ellipses() &&
          axis_of(whole.oshape(), d, out->shape.size()) == *out->distribution.split)
        along = d;
  if (along && !can_be_cut(whole, *in, *along)) along.reset();
}

Shape LocalPart::output_shape(const Shape& input) const {
  require<ShapeError>(input == in->local_shape(), "LocalPart: ", whole, " on ", in->comm.str(),
                      " takes an array of shape ", in->local_shape(), ", got ", input);
  return out->local_shape();
}

void LocalPart::apply(Recorder& r, const View& x, const View& y) const {
  const View reads[] = {x};
  r.call(
      "over ranks",
      [op = *this](std::span<const Array> given, const Array& result) {
        const DNDarray all = dist::apply(op.whole, op.in->vector(given[0]), {.along = op.along});
        result.copy_from(all.distributed_as(op.out->distribution).local());
      },
      reads, y);
}

LocalPart LocalPart::renamed(const Renames& names) const {
  std::optional<NamedDimension> dim = along;
  if (dim) dim = rename({*dim}, names)[0];
  return LocalPart(whole.rename(names), in, out, dim);
}

}  // namespace tessera
