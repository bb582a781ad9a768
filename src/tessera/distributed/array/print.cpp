// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/print.hpp"

#include "tessera/array/print.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr int most_counts = 16;  // of a repr; beyond that the ends

// An interval of an array's axis and where it stands among what is shown.
struct Run {
  i64 begin, end;
};

// What is shown of an axis: all of it, or its two ends.
std::vector<Run> runs_of(i64 size, i64 shown) {
  if (size == shown) return {{0, size}};
  return {{0, print_edge}, {size - print_edge, size}};
}

// The same inside the block [begin, end) of the axis, counted from its begin.
std::vector<Run> inside(const std::vector<Run>& runs, i64 begin, i64 end) {
  std::vector<Run> mine;
  for (const Run& run : runs) {
    const i64 first = std::max(run.begin, begin), last = std::min(run.end, end);
    if (first < last) mine.push_back({first - begin, last - begin});
  }
  return mine;
}

i64 length_of(const std::vector<Run>& runs) {
  i64 n = 0;
  for (const Run& run : runs) n += run.end - run.begin;
  return n;
}

void copy_runs(const Array& from, const Array& to, const std::vector<std::vector<Run>>& runs,
               i64 axis) {
  if (axis == from.ndim()) return to.copy_from(from);
  i64 at = 0;
  for (const Run& run : runs[static_cast<std::size_t>(axis)]) {
    const i64 n = run.end - run.begin;
    copy_runs(from.slice(axis, run.begin, run.end), to.slice(axis, at, at + n), runs, axis + 1);
    at += n;
  }
}

// What this rank holds of what is shown, dense.
Array shown_of(const Array& block, const std::vector<std::vector<Run>>& runs) {
  Shape shape;
  for (const auto& r : runs) shape.push_back(length_of(r));
  const Array y = empty_dense(shape, block.dtype(), block.device());
  if (y.size() > 0) copy_runs(block, y, runs, 0);
  return y;
}

// What is shown of x, distributed as x is.
DNDarray shown_part(const DNDarray& x, const Shape& small) {
  std::vector<std::vector<Run>> runs;
  for (i64 a = 0; a < x.ndim(); ++a) runs.push_back(runs_of(x.shape(a), small[a]));
  if (x.owner())
    return DNDarray::owned_by_one_rank(x.resident() ? shown_of(x.resident(), runs) : Array(), small,
                                       x.dtype(), x.device(), *x.owner(), x.comm());
  const Partition& part = x.part();
  auto& along = runs[static_cast<std::size_t>(*x.split())];
  std::vector<i64> counts;
  counts.reserve(static_cast<std::size_t>(part.ranks()));
  for (int r = 0; r < part.ranks(); ++r)
    counts.push_back(length_of(inside(along, part.begin(r), part.end(r))));
  along = inside(along, part.begin(x.comm().rank()), part.end(x.comm().rank()));
  return DNDarray(shown_of(x.local(), runs), small, {x.split(), Partition::of(counts)}, x.comm());
}

}  // namespace

std::string to_text(const DNDarray& x) {
  if (!x.split() && x.known()) return tessera::to_text(x.local());
  return tessera::to_text(shown_part(x, printed_shape(x.shape())).gathered(), x.shape());
}

std::string repr(const DNDarray& x) {
  if (!x) return "DNDarray()";
  std::string s = cat("DNDarray(shape=", x.shape(), ", split=");
  if (x.split()) {
    s += cat(*x.split(), ", counts=[");
    const std::vector<i64> counts = x.counts();
    const auto n = static_cast<int>(counts.size());
    if (n <= most_counts) {
      s += join(counts) + "]";
    } else {
      const std::span<const i64> all(counts);
      s += cat(join(all.first(most_counts / 2)), ", ..., ", join(all.last(most_counts / 2)), "]");
    }
  } else {
    s += "None";
    if (x.owner()) s += cat(", owner=", *x.owner());
  }
  return s +
         cat(", dtype=", name(x.dtype()), ", device='", x.device(), "', comm='", x.comm(), "')");
}

}  // namespace tessera::dist
