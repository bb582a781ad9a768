// SPDX-License-Identifier: Apache-2.0
// Distinct slices along an axis. They are numbered column by column: the number of a slice so far
// and the number of its next element, together, are one integer, whose distinct values in order are
// the numbers up to there. Only single columns travel, and none after all slices are told apart.
#include "tessera/distributed/array/create.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/sorting/take.hpp"
#include "tessera/distributed/sorting/unique.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// The positions of a list of things among their distinct ones in order.
struct Numbers {
  DNDarray of_each;
  i64 many = 0;
};

Numbers numbered(const DNDarray& things) {
  const Unique u = unique(things, {.index = false, .inverse = true, .counts = false});
  return {u.inverse, u.values.size()};
}

class SliceRows {
 public:
  // One row per slice, on one rank each.
  SliceRows(const DNDarray& x, i64 axis) : slices_(moveaxis(x, {axis}, {0})) {
    if (slices_.split()) slices_ = slices_.resplit(0);
    const Array& local = slices_.local();
    n_ = slices_.shape(0);
    columns_ = n_ == 0 ? 0 : slices_.size() / n_;
    rows_ = local.reshape({local.shape(0), columns_});
  }
  const DNDarray& slices() const { return slices_; }

  Numbers numbers() const {
    Numbers found{line(zeros({rows_.shape(0)}, DType::i64, rows_.device())), n_ > 0 ? 1 : 0};
    for (i64 j = 0; j < columns_ && found.many < n_; j += at_once())
      for (const Array& key : keys(j, std::min(j + at_once(), columns_))) refine(found, line(key));
    if (is_inexact(slices_.dtype())) tell_nans_apart(found);
    return found;
  }

 private:
  DNDarray line(const Array& mine) const {
    return DNDarray(mine, {n_}, slices_.split() ? slices_.distribution() : Distribution{},
                    slices_.comm());
  }

  void refine(Numbers& found, const DNDarray& key) const {
    const Numbers next = numbered(key);
    if (next.many <= 1) return;
    if (found.many <= 1)
      found = next;
    else
      found = numbered(add(multiply(found.of_each, next.many), next.of_each));
  }

  // Bits of an element where several of them fit into one integer.
  int bits() const {
    const DType t = slices_.dtype();
    if (t == DType::b1) return 1;
    return is_integer(t) && size_of(t) <= 2 ? static_cast<int>(8 * size_of(t)) : 0;
  }
  i64 at_once() const { return bits() == 0 ? 1 : 62 / bits(); }

  // What orders rows by some of their columns: several small elements as one integer; a complex
  // number as NumPy sorts it, by the parts that are NaN, the real part, the imaginary part.
  std::vector<Array> keys(i64 begin, i64 end) const {
    const Array first = rows_.select(1, begin);
    if (bits() == 0 && !is_complex(first.dtype())) return {first};
    if (is_complex(first.dtype())) {
      const auto nan = [](const Array& part) { return ops::isnan(part).astype(DType::u8); };
      return {ops::add(ops::multiply(nan(first.real()), Value(2)), nan(first.imag())), first.real(),
              first.imag()};
    }
    Array key = first.astype(DType::i64);
    for (i64 j = begin + 1; j < end; ++j)
      key = ops::add(ops::multiply(key, Value(i64{1} << bits())),
                     rows_.select(1, j).astype(DType::i64));
    return {key};
  }

  // A NaN equals nothing: rows with one are all distinct, in the order in which they stand.
  void tell_nans_apart(Numbers& found) const {
    if (columns_ == 0 || found.many == n_) return;
    const Array has_nan = tessera::reduce(ReduceOp::any, ops::isnan(rows_), Axes{1});
    const i64 begin = slices_.split() ? slices_.part().begin(slices_.comm().rank()) : 0;
    const Array position = tessera::arange(Value(begin + 1), Value(begin + 1 + rows_.shape(0)),
                                           Value(1), DType::i64, rows_.device());
    refine(found, line(ops::where(has_nan, position, Value(0))));
  }

  DNDarray slices_;  // the axis first
  Array rows_;       // of this rank: (slices, elements)
  i64 n_ = 0, columns_ = 0;
};

}  // namespace

Unique unique(const DNDarray& x, i64 axis, const UniqueParts& parts) {
  const i64 along = normalize_axis(axis, x.ndim(), "");
  if (x.ndim() == 1) return unique(x, parts);
  const SliceRows rows(x, along);
  const Numbers numbers = rows.numbers();
  Unique u = unique(numbers.of_each, {.index = true, .inverse = false, .counts = parts.counts});
  u.values = moveaxis(take(rows.slices(), u.index, 0), {0}, {along});
  if (!parts.index) u.index = DNDarray();
  if (parts.inverse) u.inverse = numbers.of_each;
  return u;
}

}  // namespace tessera::dist
