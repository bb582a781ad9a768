// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/join.hpp"

#include <algorithm>

#include "tessera/device/host_limits.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

using DNDarrays = std::span<const DNDarray>;

// The errors and the dtype of the local function, asked with arrays that have nothing along the
// axis.
DType asked_dtype(DNDarrays arrays, i64 axis) {
  std::vector<Array> empties;
  for (const DNDarray& a : arrays) {
    Shape shape = a.shape();
    const i64 along = axis < 0 ? axis + shape.size() : axis;
    if (along >= 0 && along < shape.size()) shape[along] = 0;
    empties.push_back(stand_in(shape, a.dtype()));
  }
  return tessera::concatenate(empties, axis).dtype();
}

const DNDarray* first_split(DNDarrays arrays) {
  for (const DNDarray& a : arrays)
    if (a.split()) return &a;
  return nullptr;
}

// Entries [offset, offset + a.shape(axis)) of `out`, which this rank holds from `part` on.
void place(const DNDarray& a, i64 axis, i64 offset, const Partition& part, const Array& out) {
  const int ranks = a.comm().size();
  Boxes to;
  for (int r = 0; r < ranks; ++r) {
    const i64 begin = std::clamp<i64>(part.begin(r) - offset, 0, a.shape(axis)),
              end = std::clamp<i64>(part.end(r) - offset, begin, a.shape(axis));
    to.push_back({axis, begin, end});
  }
  const Box mine = to[static_cast<std::size_t>(a.comm().rank())];
  const i64 at = mine.begin + offset - part.begin(a.comm().rank());
  const Array target = mine.begin < mine.end ? out.slice(axis, at, at + mine.end - mine.begin)
                                             : out.slice(axis, 0, 0);
  const Relayout move(a.shape(), boxes_of(a.shape(), a.distribution(), ranks), std::move(to));
  if (a.dtype() == out.dtype()) {
    move.run_into(a.local(), target, a.comm());
  } else {  // converted where it arrives: the narrower dtype travels
    target.copy_from(move.run(a.local(), a.dtype(), a.comm()));
  }
}

DNDarray joined_along_split(DNDarrays arrays, i64 axis, const Shape& shape, DType dtype) {
  const Communicator& comm = arrays[0].comm();
  const Distribution to{axis, Partition::even(shape[axis], comm.size())};
  Shape lshape = shape;
  lshape[axis] = to.part.count(comm.rank());
  const Array out = Array::empty(lshape, dtype, arrays[0].device());
  i64 offset = 0;
  for (const DNDarray& a : arrays) {
    place(a, axis, offset, to.part, out);
    offset += a.shape(axis);
  }
  return DNDarray(out, shape, to, comm);
}

std::vector<DNDarray> cut(const DNDarray& x, i64 axis, const std::vector<i64>& bounds) {
  std::vector<DNDarray> parts;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    const i64 begin = bounds[k], end = std::max(begin, bounds[k + 1]);
    const SliceRange range{begin, end - begin, 1};
    if (x.split() != axis) {
      parts.push_back(
          view_of(x, x.distribution(), [&](const Array& a) { return a.slice(axis, begin, end); }));
      continue;
    }
    const SliceRange mine = x.part().local_range(range, x.comm().rank());
    parts.push_back(x.with(x.local().slice(axis, mine.start, mine.start + mine.length),
                           x.whole().slice(axis, begin, range.length),
                           {axis, x.part().sliced(range)}));
  }
  return parts;
}

DNDarray at_least_1d(const DNDarray& x) { return x.ndim() == 0 ? expand_dims(x, 0) : x; }

}  // namespace

DNDarray concatenate(DNDarrays arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to concatenate");
  for (const DNDarray& a : arrays) require_same_group("concatenate", arrays[0], a);
  const DType dtype = asked_dtype(arrays, axis);
  axis = normalize_axis(axis, arrays[0].ndim(), "concatenate");
  Shape shape = arrays[0].shape();
  shape[axis] = 0;
  for (const DNDarray& a : arrays) shape[axis] += a.shape(axis);
  const DNDarray* first = first_split(arrays);
  if (first && *first->split() == axis) return joined_along_split(arrays, axis, shape, dtype);
  const Distribution to = first ? first->distribution() : Distribution{};
  std::vector<Array> parts;
  for (const DNDarray& a : arrays) parts.push_back(a.distributed_as(to).local());
  return DNDarray(tessera::concatenate(parts, axis), shape, to, arrays[0].comm());
}

DNDarray stack(DNDarrays arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to stack");
  for (const DNDarray& a : arrays)
    require<ShapeError>(a.shape() == arrays[0].shape(),
                        "all input arrays must have the same shape");
  axis = normalize_axis(axis, arrays[0].ndim() + 1, "stack");
  std::vector<DNDarray> wide;
  for (const DNDarray& a : arrays) wide.push_back(expand_dims(a, axis));
  return concatenate(wide, axis);
}

DNDarray hstack(DNDarrays arrays) {
  std::vector<DNDarray> all;
  for (const DNDarray& a : arrays) all.push_back(at_least_1d(a));
  return concatenate(all, !all.empty() && all[0].ndim() == 1 ? 0 : 1);
}

DNDarray vstack(DNDarrays arrays) {
  std::vector<DNDarray> all;
  for (const DNDarray& a : arrays) all.push_back(a.ndim() < 2 ? expand_dims(at_least_1d(a), 0) : a);
  return concatenate(all, 0);
}

DNDarray column_stack(DNDarrays arrays) {
  std::vector<DNDarray> all;
  for (const DNDarray& a : arrays) all.push_back(a.ndim() < 2 ? expand_dims(at_least_1d(a), 1) : a);
  return concatenate(all, 1);
}

std::vector<DNDarray> array_split(const DNDarray& x, i64 sections, i64 axis) {
  require<ArgumentError>(sections > 0, "number sections must be larger than 0.");
  const i64 a = normalize_axis(axis, x.ndim(), "split"), n = x.shape(a);
  constexpr i64 each = 512, most = i64{1} << 50;  // bytes of a view of nothing
  check_host_memory("array_split", std::min(sections, most) * each);
  std::vector<i64> bounds;
  for (i64 k = 0; k <= sections; ++k)
    bounds.push_back(k * (n / sections) + std::min(k, n % sections));
  return cut(x, a, bounds);
}

std::vector<DNDarray> split(const DNDarray& x, i64 sections, i64 axis) {
  require<ArgumentError>(sections > 0, "number sections must be larger than 0.");
  const i64 a = normalize_axis(axis, x.ndim(), "split");
  require<ArgumentError>(x.shape(a) % sections == 0,
                         "array split does not result in an equal division");
  return array_split(x, sections, a);
}

std::vector<DNDarray> split(const DNDarray& x, const Shape& positions, i64 axis) {
  const i64 a = normalize_axis(axis, x.ndim(), "split"), n = x.shape(a);
  std::vector<i64> bounds{0};
  for (i64 p : positions) bounds.push_back(std::clamp<i64>(p < 0 ? p + n : p, 0, n));
  bounds.push_back(n);
  return cut(x, a, bounds);
}

}  // namespace tessera::dist
