// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/sort_lines.hpp"

namespace tessera::dist {
namespace {

// `axis` first, the others in order.
Shape axis_first(i64 axis, i64 ndim) {
  Shape order{axis};
  for (i64 a = 0; a < ndim; ++a)
    if (a != axis) order.push_back(a);
  return order;
}

}  // namespace

Distribution flat_distribution(const DNDarray& x) {
  if (!x.split()) return {};
  if (!flat_in_place(x)) return {0, Partition::even(x.size(), x.comm().size())};
  return {0, Partition::of(local_sizes(x))};
}

bool flat_in_place(const DNDarray& x) {
  i64 outer = 1;
  for (i64 a = 0; a < x.split().value_or(0); ++a) outer *= x.shape(a);
  return outer == 1;
}

std::vector<i64> local_sizes(const DNDarray& x) {
  std::vector<i64> sizes;
  sizes.reserve(static_cast<std::size_t>(x.comm().size()));
  for (int r = 0; r < x.comm().size(); ++r) sizes.push_back(count_of(x.lshape(r)));
  return sizes;
}

Array lines_of(const Array& local, i64 axis) {
  const i64 n = local.shape(axis);
  i64 lines = 1;
  for (i64 a = 0; a < local.ndim(); ++a)
    if (a != axis) lines *= local.shape(a);
  return local.permute(axis_first(axis, local.ndim())).reshape({n, lines});
}

Array from_lines(const Array& lines, const Shape& local_shape, i64 axis) {
  const Shape order = axis_first(axis, local_shape.size());
  Shape turned, back(local_shape.size(), 0);
  for (i64 a = 0; a < order.size(); ++a) {
    turned.push_back(local_shape[order[a]]);
    back[order[a]] = a;
  }
  return lines.reshape(turned).permute(back);
}

}  // namespace tessera::dist
