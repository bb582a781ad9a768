// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/window.hpp"

#include <algorithm>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/plan/record_moves.hpp"

namespace tessera {

Window::Window(Dims ioshape, std::vector<Range> kept)
    : names(std::move(ioshape)), ranges(std::move(kept)) {
  check_distinct(kind, names.ishape);
  for (const Range& k : ranges)
    require<ArgumentError>(
        contains(names.ishape, k.dim) && k.start >= 0 && k.start <= k.stop && k.stop <= k.size,
        "Window ", to_text(names.ishape), ": the part ", k.start, ":", k.stop, " of dim '", k.dim,
        "' with ", k.size, " elements");
}

std::optional<i64> Window::size(NamedDimension d) const {
  for (const Range& k : ranges)
    if (k.dim == d) return k.size;
  return std::nullopt;
}

void Window::apply(Recorder& r, const View& x, const View& y) const {
  Layout inside = x.layout;
  Shape start(x.layout.ndim(), 0);
  for (const Range& k : ranges) {
    const i64 axis = *axis_of(names.ishape, k.dim, x.layout.ndim());
    inside = inside.slice(axis, k.start, k.stop - k.start);
    start[axis] = k.start;
  }
  record::place(r, sub_view(x, inside), y, start);
}

Window Window::renamed(const Renames& r) const {
  Window w = *this;
  w.names = names.renamed(r);
  for (Range& k : w.ranges) k.dim = rename({k.dim}, r)[0];
  return w;
}

Window Window::split(const Tile& tile) const {
  Window part = *this;
  for (Range& k : part.ranges)
    if (const Cut* c = tile.find(k.dim)) {
      k.start = std::clamp(k.start, c->start, c->stop) - c->start;
      k.stop = std::clamp(k.stop, c->start, c->stop) - c->start;
      k.size = c->size();
    }
  return part;
}

std::string Window::details() const {
  std::string text = "keeps";
  for (const Range& k : ranges) text += cat(" ", k.dim, " ", k.start, ":", k.stop, " of ", k.size);
  return text;
}

}  // namespace tessera
