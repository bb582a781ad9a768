// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/repr_html.hpp"

#include "tessera/base/report/html.hpp"

namespace tessera::dist {
namespace {

using html::element;
using html::escaped;

constexpr std::string_view cell = "padding:0 1em 0 0;text-align:left";
constexpr int rows_shown = 16;  // the first and the last half of more ranks

std::string heading(const DNDarray& x) {
  const std::string title = element("b", "DNDarray");
  return cat(title, " ", element("code", escaped(cat(x.shape(), " ", x.dtype()))), ", ",
             bytes_text(x.size() * size_of(x.dtype())));
}

std::string where(const DNDarray& x) {
  if (x.owner()) return cat("the memory of rank ", *x.owner(), " of ", x.comm().size());
  if (!x.split()) return cat("whole on each of ", x.comm().size(), " ranks");
  return cat("axis ", *x.split(), " over ", x.comm().size(), " ranks, ",
             x.balanced() ? "balanced" : "not balanced");
}

std::string row(const DNDarray& x, int rank) {
  const Partition& part = x.part();
  const bool here = rank == x.comm().rank();
  const std::string name = here ? element("b", to_text(rank)) : to_text(rank);
  return element("tr", cat(element("td", name, cell),
                           element("td", cat(part.begin(rank), " … ", part.end(rank)), cell),
                           element("td", escaped(to_text(x.lshape(rank))), cell)));
}

std::string parts(const DNDarray& x) {
  const int ranks = x.comm().size();
  std::string rows = element("tr", cat(element("th", "rank", cell), element("th", "entries", cell),
                                       element("th", "part", cell)));
  for (int rank = 0; rank < ranks; ++rank) {
    if (ranks > rows_shown && rank == rows_shown / 2) {
      rows += element("tr", element("td", "…", cell));
      rank = ranks - rows_shown / 2;
    }
    rows += row(x, rank);
  }
  return element("table", rows, "border-collapse:collapse;margin:.3em 0");
}

}  // namespace

std::string repr_html(const DNDarray& x) {
  std::string text = cat(element("div", heading(x)), element("div", where(x)));
  if (x.split()) text += parts(x);
  text += element("div", cat("on ", escaped(x.device().str())));
  return html::framed("tessera-array", text);
}

}  // namespace tessera::dist
