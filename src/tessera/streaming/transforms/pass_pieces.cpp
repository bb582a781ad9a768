// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/pass_pieces.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::streaming {
namespace {

Layout first_of(Layout whole, const Shape& sizes) {
  whole.shape = sizes;
  return whole;
}

// Elements of an axis in two, row `two.axis` and column behind it, of the columns from
// box.begin on: all full rows, and the beginning of the last one.
std::vector<StripPiece> rows_there(const AxisInTwo& two, const Box& box, const Layout& strip) {
  const i64 r = two.axis, c = two.axis + 1, full = two.length / two.columns,
            rest = two.length % two.columns;
  std::vector<StripPiece> out;
  const auto add = [&](i64 row, i64 rows, i64 columns) {
    StripPiece p{box, strip.slice(r, row, rows).slice(c, 0, columns)};
    p.box.begin[r] = row;
    p.box.shape[r] = rows;
    p.box.shape[c] = columns;
    if (rows > 0 && columns > 0) out.push_back(std::move(p));
  };
  add(0, full, box.shape[c]);
  add(full, 1, std::min(box.shape[c], rest - box.begin[c]));
  return out;
}

}  // namespace

PiecesRead read_pieces(const TransformPass& pass, const Box& box) {
  const Layout strip = Layout::contiguous(pass.strip(pass.work, box.shape));
  PiecesRead out;
  if (const auto& two = pass.read_in_two) {
    const Box all{box.begin, strip.shape};
    out.pieces = rows_there(*two, all, strip);
    const i64 r = two->axis, c = two->axis + 1, full = two->length / two->columns;
    const i64 columns = strip.shape[c];
    const i64 there = std::clamp<i64>(two->length % two->columns - box.begin[c], 0, columns);
    if (full < strip.shape[r]) {
      out.zeros.push_back(strip.slice(r, full, 1).slice(c, there, columns - there));
      out.zeros.push_back(strip.slice(r, full + 1, strip.shape[r] - full - 1));
    }
    return out;
  }
  const Shape there = pass.strip(pass.in, box.shape);
  out.pieces.push_back({{box.begin, there}, first_of(strip, there)});
  for (const i64 a : pass.axes)
    if (pass.in[a] < pass.work[a])
      out.zeros.push_back(strip.slice(a, pass.in[a], pass.work[a] - pass.in[a]));
  return out;
}

std::vector<StripPiece> written_pieces(const TransformPass& pass, const Box& box) {
  const Layout strip = Layout::contiguous(pass.strip(pass.out, box.shape));
  const auto& two = pass.written_in_two;
  if (!two) return {{{box.begin, strip.shape}, strip}};
  Shape order(strip.ndim(), 0);
  std::iota(order.begin(), order.end(), i64{0});
  std::swap(order[two->axis], order[two->axis + 1]);
  const Layout turned = strip.permute(order);
  Box all{box.begin, turned.shape};
  std::swap(all.begin[two->axis], all.begin[two->axis + 1]);
  return rows_there(*two, all, turned);
}

}  // namespace tessera::streaming
