// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/take.hpp"

#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/sorting/take_keys.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

DNDarray as_positions(const DNDarray& indices) {
  require<DTypeError>(is_integer(indices.dtype()) || indices.dtype() == DType::b1,
                      "Cannot cast array data from dtype('", name(indices.dtype()),
                      "') to dtype('int64') according to the rule 'safe'");
  return indices.dtype() == DType::b1 ? indices.astype(DType::i64) : indices;
}

// The values that go to n positions in the distribution `to`: given ones repeated or cut.
DNDarray repeated(const DNDarray& values, i64 n, const Distribution& to) {
  const Communicator& comm = values.comm();
  const DNDarray flat = ravel(values);
  const i64 have = flat.size();
  if (have == n) return flat.distributed_as(to);
  if (have > n && flat.split()) return flat[DistIndex(Slice{0, n})].distributed_as(to);
  const i64 begin = to.split ? to.part.begin(comm.rank()) : 0;
  const i64 end = to.split ? to.part.end(comm.rank()) : n;
  const Array counted =
      tessera::arange(Value(begin), Value(end), Value(1), DType::i64, values.device());
  const Array cycled = ops::remainder(counted, Value(have));
  return DNDarray(tessera::take(flat.gathered(), cycled, 0), {n}, to, comm);
}

}  // namespace

DNDarray take(const DNDarray& x, const DNDarray& given, std::optional<i64> axis) {
  require_same_group("take", x, given);
  const DNDarray indices = as_positions(given);
  if (!axis && x.ndim() != 1 && !flat_in_place(x)) return x[flat_key(x, indices)];
  if (!axis) return take(ravel(x), indices, 0);
  const i64 along = normalize_axis(*axis, x.ndim(), "");
  require<IndexError>(x.shape(along) > 0 || indices.size() == 0,
                      "cannot do a non-empty take from an empty axes.");
  DistIndex key;
  for (i64 a = 0; a < along; ++a) key.add(Slice{});
  key.add(indices);
  const DNDarray taken = x[key];
  return indices.ndim() == 0 ? taken.copy() : taken;  // a key of one position gives a view
}

void put(const DNDarray& x, const DNDarray& given, const DNDarray& values) {
  require_same_group("put", x, given);
  require_same_group("put", x, values);
  const DNDarray indices = ravel(as_positions(given));
  if (indices.size() == 0 || values.size() == 0) return;
  const DNDarray distribution = repeated(values, indices.size(), indices.distribution());
  const DistIndex key = x.ndim() == 1 ? DistIndex(indices) : flat_key(x, indices);
  if (x.ndim() > 0) return x.assign(key, distribution);
  x.assign(key, distribution[DistIndex(-1)]);  // all positions are the one element
}

DNDarray compress(const DNDarray& condition, const DNDarray& x, std::optional<i64> axis) {
  require_same_group("compress", condition, x);
  require<ArgumentError>(condition.ndim() == 1, "condition must be a 1-d array");
  if (!axis && x.ndim() != 1) return take(x, nonzero(condition)[0]);
  const i64 along = normalize_axis(axis.value_or(0), x.ndim(), "");
  if (condition.size() != x.shape(along)) return take(x, nonzero(condition)[0], along);
  DistIndex key;
  for (i64 a = 0; a < along; ++a) key.add(Slice{});
  key.add(condition.astype(DType::b1));
  return x[key];
}

DNDarray extract(const DNDarray& condition, const DNDarray& x) {
  require_same_group("extract", condition, x);
  if (condition.shape() == x.shape() && x.ndim() > 0)
    return x[DistIndex(condition.astype(DType::b1))];
  return take(x, nonzero(ravel(condition))[0]);
}

}  // namespace tessera::dist
