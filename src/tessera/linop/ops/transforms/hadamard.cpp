// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/hadamard.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

// Of each pair of elements that are `apart` along an axis: the first ones, or the second ones.
View of_pairs(const View& v, i64 axis, i64 apart, i64 which) {
  Layout l = v.layout;
  const i64 step = l.strides[axis], pairs = l.shape[axis] / (2 * apart);
  l.offset += which * apart * step;
  l.shape[axis] = pairs;
  l.strides[axis] = 2 * apart * step;
  l = l.insert_axis(axis + 1);
  l.shape[axis + 1] = apart;
  l.strides[axis + 1] = step;
  return sub_view(v, l);
}

}  // namespace

Hadamard::Hadamard(Dims along, const Dims& ishape, const Dims& oshape) : over(std::move(along)) {
  require<DimError>(!over.empty(), "Hadamard ", to_text(ishape), ": no dims to transform");
  check_distinct("Hadamard", over);
  names = NamedShape(ishape, mixed_output("Hadamard", ishape, oshape, over));
}

Shape Hadamard::output_shape(const Shape& input) const {
  for (NamedDimension d : over) {
    const i64 n = input[*axis_of(names.ishape, d, input.size())];
    require<DimError>(n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)), "Hadamard ",
                      names.str(), ": dim '", d, "' has ", n, " elements, expected a power of two");
  }
  return input;
}

void Hadamard::apply(Recorder& r, const View& x, const View& y) const {
  struct Stage {
    i64 axis, apart;
  };
  std::vector<Stage> stages;
  double count = 1;
  for (NamedDimension d : over) {
    const i64 axis = *axis_of(names.ishape, d, x.layout.ndim()), n = x.shape()[axis];
    for (i64 apart = 1; apart < n; apart *= 2) stages.push_back({axis, apart});
    count *= static_cast<double>(n);
  }
  // Stages go to and fro between two arrays, so that the last one writes y.
  View other = y;
  if (!stages.empty()) other = r.temporary(y.shape(), y.dtype, r.device(y));
  bool to_y = stages.size() % 2 == 0;
  record::scale(r, Value(1 / std::sqrt(count)), x, to_y ? y : other);
  for (const Stage& s : stages) {
    const View &from = to_y ? y : other, &to = to_y ? other : y;
    const View a = of_pairs(from, s.axis, s.apart, 0), b = of_pairs(from, s.axis, s.apart, 1);
    record::add(r, a, b, of_pairs(to, s.axis, s.apart, 0));
    record::subtract(r, a, b, of_pairs(to, s.axis, s.apart, 1));
    to_y = !to_y;
  }
}

Hadamard Hadamard::adjoint() const {
  Dims back;
  for (NamedDimension d : over)
    back.push_back(names.oshape[*axis_of(names.ishape, d, names.ishape.size())]);
  return Hadamard(back, names.oshape, names.ishape);
}

NamedLinop Hadamard::normal() const { return Identity(names.ishape); }

Hadamard Hadamard::renamed(const Renames& r) const {
  return Hadamard(rename(over, r), rename(names.ishape, r), rename(names.oshape, r));
}

// None where one of its dims stands in front of "...": nobody knows how far from the right it is.
Shape Hadamard::separable_axes() const {
  Shape axes;
  const Dims& in = names.ishape;
  for (i64 back = 1; back <= in.size() && !in[in.size() - back].is_ellipses(); ++back)
    if (contains(over, in[in.size() - back])) axes.push_back(back);
  return axes.size() == over.size() ? axes : Shape{};
}

Hadamard Hadamard::without_axes(const Shape& from_the_right) const {
  Dims left, out = names.oshape;
  for (NamedDimension d : over) {
    const i64 at = *axis_of(names.ishape, d, names.ishape.size());
    const bool goes = std::find(from_the_right.begin(), from_the_right.end(),
                                names.ishape.size() - at) != from_the_right.end();
    if (goes)
      out[at] = d;
    else
      left.push_back(d);
  }
  return Hadamard(left, names.ishape, out);
}

}  // namespace tessera
