// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/distributed/array/axis_list.hpp"
#include "tessera/distributed/exchange/panels.hpp"
#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/distributed/sorting/select.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/select.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Positions of entries among all in order, ascending, each once.
using SortedPositions = std::vector<i64>;

Array on_device(const SortedPositions& positions, Device device) {
  const Array a = empty_dense({static_cast<i64>(positions.size())}, DType::i64);
  std::copy(positions.begin(), positions.end(), a.host<i64>());
  return a.to(device);
}

// Entries `positions` of every line of a local array in order, as rows along the axis.
Array entries_of(const Array& x, i64 axis, const SortedPositions& positions) {
  if (x.device() == cpu) return entries_in_order(x, axis, positions);
  return take(tessera::sort(x, axis), on_device(positions, x.device()), axis);
}

// Items `positions` of all ranks' items in order, on the host. Many items are counted, not sorted.
Array items_of_line(const Array& line, std::span<const i64> counts,
                    const SortedPositions& positions, const Communicator& comm) {
  const i64 most = *std::max_element(counts.begin(), counts.end()) * size_of(line.dtype());
  if (line.device() == cpu && most >= MemoryBudget{}.from)
    return Selection(line, counts, comm).items_at(positions);
  if (line.device() == cpu && counts.size() == 1) return entries_in_order(line, 0, positions);
  return merged_items(tessera::sort(line), counts, positions, comm);
}

// Rows `positions` of (entries, lines) sorted along the entries, which are distributed; on every
// rank.
Array rows_of_lines(const DNDarray& lines, const SortedPositions& positions) {
  const Communicator& comm = lines.comm();
  const i64 number = lines.shape(1), wanted = static_cast<i64>(positions.size());
  const Array rows = empty_dense({wanted, number}, lines.dtype(), lines.device());
  if (number >= comm.size()) {
    by_panels(lines, DNDarray::replicated(rows, comm),
              [&](const Array& some, i64) { return entries_of(some, 0, positions); });
    return rows;
  }
  const std::vector<i64> counts = lines.part().counts();
  for (i64 j = 0; j < number; ++j)
    rows.select(1, j).copy_from(
        items_of_line(lines.local().select(1, j), counts, positions, comm).to(lines.device()));
  return rows;
}

// Entries `positions` of every line of a local array in order, a part of its lines at a time.
Array rows_here(const Array& x, i64 axis, const SortedPositions& positions) {
  if (x.ndim() == 1 && x.size() > 0) {
    const std::vector<i64> counts{x.size()};
    return items_of_line(x, counts, positions, Communicator::self()).to(x.device());
  }
  Shape shape = x.shape();
  shape[axis] = static_cast<i64>(positions.size());
  const Array rows = empty_dense(shape, x.dtype(), x.device());
  const i64 other = x.ndim() > 1 ? longest_other(x.shape(), axis) : axis;
  const i64 bytes = x.size() * size_of(x.dtype()), pieces = 1 + bytes / (MemoryBudget{}.room / 2);
  const i64 step = other == axis ? x.shape(axis) : std::max<i64>(1, x.shape(other) / pieces);
  for (i64 begin = 0; begin < x.shape(other); begin += step) {
    const i64 end = std::min(begin + step, x.shape(other));
    const Array some = entries_of(x.slice(other, begin, end), axis, positions);
    (other == axis ? rows : rows.slice(other, begin, end)).copy_from(some);
  }
  return rows;
}

// x along one axis as the functions below need it: some of its entries in order.
struct Chosen {
  Array rows;                 // shape of x, `axis` counts the positions
  Shape shape;                // of x without the axis
  Distribution distribution;  // of the same
};

Chosen choose(const DNDarray& x, i64 axis, const SortedPositions& positions) {
  Chosen c{{}, x.shape(), x.distribution()};
  c.shape.erase(axis);
  const bool along = x.split() == axis;
  if (along) c.distribution = {};
  if (x.split() && !along && *x.split() > axis) c.distribution.split = *x.split() - 1;
  if (along && x.distributed()) {
    const Array local = lines_of(x.local(), axis);
    const DNDarray lines(local, {x.shape(axis), local.shape(1)}, {0, x.part()}, x.comm());
    Shape shape = x.shape();
    shape[axis] = static_cast<i64>(positions.size());
    c.rows = from_lines(rows_of_lines(lines, positions), shape, axis);
  } else {
    c.rows = rows_here(x.local(), axis, positions);
  }
  return c;
}

// Several axes as one, which is the last. In which order its entries lie does not matter here:
// nothing is sent.
DNDarray as_one_axis(const DNDarray& x, const Axes& axes) {
  Shape order, shape;
  Distribution distribution;
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (contains(axes, a)) continue;
    if (x.split() == a) distribution = {shape.size(), x.part()};
    order.push_back(a);
    shape.push_back(x.shape(a));
  }
  i64 number = 1, apart = 1;  // of entries; of those at each position of the split axis
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (!contains(axes, a)) continue;
    order.push_back(a);
    number *= x.shape(a);
    if (x.split() != a) apart *= x.shape(a);
  }
  if (x.split() && contains(axes, *x.split())) {
    std::vector<i64> counts = x.part().counts();
    for (i64& n : counts) n *= apart;
    distribution = {shape.size(), Partition::of(counts)};
  }
  shape.push_back(number);
  Shape local = shape;
  if (distribution.split) local[*distribution.split] = distribution.part.count(x.comm().rank());
  return DNDarray(x.local().permute(order).reshape(local), shape, distribution, x.comm());
}

// What a call reduces: its axes, counted from zero, and the array in which they are one.
struct Reduced {
  Axes axes;
  DNDarray x;
  i64 along;
};

Reduced reduced(const DNDarray& x, const std::optional<Axes>& given) {
  Axes axes;
  for (i64 i = 0; i < (given ? given->size() : x.ndim()); ++i) {
    const i64 a = given ? normalize_axis((*given)[i], x.ndim(), "") : i;
    require<ArgumentError>(!contains(axes, a), "repeated axis");
    axes.push_back(a);
  }
  if (axes.size() == 1) return {axes, x, axes[0]};
  return {axes, as_one_axis(x, axes), x.ndim() - axes.size()};
}

// Sorting puts NaNs last: where the last entry is one, so is the result.
Array with_nans(const Array& result, const Array& last) {
  if (!is_inexact(last.dtype())) return result;
  const Array nan =
      full({}, Value(std::numeric_limits<double>::quiet_NaN()), result.dtype(), result.device());
  return ops::where(ops::isnan(last), nan, result);
}

// Local results of shape lead + Chosen::shape as a distributed array, with the reduced axes kept.
DNDarray finished(const Array& result, const Chosen& c, const Shape& lead, const DNDarray& x,
                  const Axes& axes, bool keepdims) {
  Shape shape = lead;
  Distribution distribution = c.distribution;
  if (keepdims) {
    for (i64 a = 0; a < x.ndim(); ++a) shape.push_back(contains(axes, a) ? 1 : x.shape(a));
    if (distribution.split) distribution.split = x.split();
  } else {
    shape.append(c.shape);
  }
  if (distribution.split) *distribution.split += lead.size();
  Shape local = shape;
  if (distribution.split) local[*distribution.split] = distribution.part.count(x.comm().rank());
  return DNDarray(result.reshape(local), shape, distribution, x.comm());
}

// How a quantile lies between two entries.
struct Between {
  i64 low, high;
  double weight;  // of the higher
};

// Of whole fractions, 0 or 1 given as integers, the ends themselves: infinities, too.
DNDarray quantiles(const DNDarray& given, const Array& q, const std::vector<double>& fractions,
                   const std::optional<Axes>& axes, bool keepdims, bool whole = false) {
  require<DTypeError>(!is_complex(given.dtype()), "a must be an array of real numbers");
  require<DTypeError>(given.dtype() != DType::b1,
                      "quantile: differences of bool have no meaning; convert the array first");
  const Reduced over = reduced(given, axes);
  const DNDarray& x = over.x;
  const i64 along = over.along, n = x.shape(along);
  if (n == 0) throw_out_of_bounds(-1, 0, 0);
  std::vector<Between> wanted;
  SortedPositions positions{n - 1};  // for the NaNs
  for (const double f : fractions) {
    const double virtual_position = f * static_cast<double>(n - 1);
    const i64 low = std::min(static_cast<i64>(std::floor(virtual_position)), n - 1);
    wanted.push_back({low, std::min(low + 1, n - 1), virtual_position - static_cast<double>(low)});
    positions.insert(positions.end(), {wanted.back().low, wanted.back().high});
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  const Chosen c = choose(x, along, positions);

  const DType dtype =
      whole ? x.dtype() : promote(is_integer(x.dtype()) ? DType::f64 : x.dtype(), q.dtype());
  auto row = [&](i64 position) {
    const auto found = std::lower_bound(positions.begin(), positions.end(), position);
    return c.rows.select(along, found - positions.begin());
  };
  std::vector<Array> results;
  for (const Between& b : wanted) {
    if (whole) {
      results.push_back(with_nans(row(b.low), row(n - 1)));
      continue;
    }
    const Array low = row(b.low).astype(dtype), high = row(b.high).astype(dtype);
    const Array step = ops::subtract(high, low);  // from the nearer end, as NumPy
    const Array r = b.weight < 0.5 ? ops::add(low, ops::multiply(step, Value(b.weight)))
                                   : ops::subtract(high, ops::multiply(step, Value(1 - b.weight)));
    results.push_back(with_nans(r, row(n - 1)));
  }
  const Array none = Array::empty({0}, dtype, x.device());
  const Array all = results.empty() ? none : tessera::stack(results, 0);
  return finished(all, c, q.shape(), given, over.axes, keepdims);
}

std::vector<double> numbers(const Array& q) {
  const Array host = q.astype(DType::f64).to(cpu).contiguous();
  return {host.host<double>(), host.host<double>() + host.size()};
}

bool within(const std::vector<double>& q, double most) {
  return std::all_of(q.begin(), q.end(), [&](double v) { return v >= 0 && v <= most; });
}

}  // namespace

DNDarray median(const DNDarray& given, const std::optional<Axes>& axes, bool keepdims) {
  const Reduced over = reduced(given, axes);
  const DNDarray& x = over.x;
  const i64 along = over.along, n = x.shape(along);
  SortedPositions middle, positions;
  if (n > 0) middle = n % 2 ? SortedPositions{n / 2} : SortedPositions{n / 2 - 1, n / 2};
  positions = middle;
  if (n > 0 && middle.back() != n - 1) positions.push_back(n - 1);
  const Chosen c = choose(x, along, positions);
  const i64 used = static_cast<i64>(middle.size());
  Array result = tessera::mean(c.rows.slice(along, 0, used), Axes{along});
  if (n > 0) result = with_nans(result, c.rows.select(along, c.rows.shape(along) - 1));
  return finished(result, c, {}, given, over.axes, keepdims);
}

DNDarray quantile(const DNDarray& x, const Array& q, const std::optional<Axes>& axes,
                  bool keepdims) {
  const std::vector<double> fractions = numbers(q);
  require<ArgumentError>(within(fractions, 1), "Quantiles must be in the range [0, 1]");
  return quantiles(x, q, fractions, axes, keepdims, !is_inexact(q.dtype()));
}

DNDarray percentile(const DNDarray& x, const Array& q, const std::optional<Axes>& axes,
                    bool keepdims) {
  std::vector<double> fractions = numbers(q);
  require<ArgumentError>(within(fractions, 100), "Percentiles must be in the range [0, 100]");
  for (double& f : fractions) f /= 100;
  return quantiles(x, q, fractions, axes, keepdims);
}

}  // namespace tessera::dist
