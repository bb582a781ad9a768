// SPDX-License-Identifier: Apache-2.0
// The parts of a split, put together again, are the whole. Two tiles a dim, of unequal sizes, along
// every dim and every pair of dims.
#include "tessera/tessera.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

std::vector<Tile> tiles_along(const std::vector<Sized>& dims) {
  std::vector<Tile> tiles{Tile{}};
  for (const auto& [dim, n] : dims) {
    const i64 cut = n > 2 ? n - 1 : 1;
    std::vector<Tile> finer;
    for (const Tile& t : tiles)
      for (const auto& [start, stop] : {std::pair<i64, i64>(0, cut), std::pair(cut, n)}) {
        if (start == stop) continue;
        finer.push_back(t);
        finer.back().cuts.push_back({dim, start, stop, n});
      }
    tiles = std::move(finer);
  }
  return tiles;
}

void check_parts(Subject& s, const NamedLinop& A, const Array& x, const std::vector<Sized>& along) {
  const Array expected = A(x);
  const Array whole = ops::multiply(expected, Value(0));
  std::string where;
  for (const Tile& tile : tiles_along(along)) {
    const NamedLinop part = A.split(tile);
    const Array piece = part(x.view(part_of(x.layout(), A.ishape(), tile)));
    const Array place = whole.view(part_of(whole.layout(), A.oshape(), tile));
    if (!s.expect(piece.shape() == place.shape(), "the part ", tile, " gives shape ", piece.shape(),
                  ", expected ", place.shape(), "\n", A.tree()))
      return;
    place.copy_from(ops::add(place, piece));
    where += cat(where.empty() ? "" : "; ", tile);
  }
  s.expect_near(whole, expected, 4 * s.tolerance(),
                cat("the parts ", where, " are not the whole\n", A.tree(), "\n"));
}

void check_refusal(Subject& s, const NamedLinop& A, const std::vector<Sized>& along) {
  const Tile tile = tiles_along(along).front();
  try {
    (void)A.split(tile);
    s.expect(false, "was cut along ", tile, ", expected a SplitError\n", A.tree());
  } catch (const SplitError& e) {
    const std::string text = e.what();
    s.expect(text.find("dim '") != std::string::npos, "the error does not name the dim: ", text);
  }
}

}  // namespace

std::vector<Sized> sized_dims(const NamedLinop& a, const Shape& input) {
  const Binding in = bind_dims("law", a.ishape(), input),
                out = bind_dims("law", a.oshape(), a.output_shape(input));
  std::vector<Sized> all;
  for (NamedDimension d : a.dims()) {
    std::optional<i64> n = a.size(d);
    if (!n) n = in.size(d);
    if (!n) n = out.size(d);
    if (!d.is_wildcard() && n && *n > 1) all.push_back({d, *n});
  }
  return all;
}

void parts_make_the_whole(Subject& s) {
  for (const bool adjoint : {false, true}) {
    const NamedLinop a = adjoint ? s.A.H() : s.A;
    const Shape in = adjoint ? s.A.output_shape(s.sample.input) : s.sample.input;
    const DType t = adjoint ? s.A.output_dtype(s.dtype) : s.dtype;
    const Array x = Random(12).normal(in, t, adjoint ? s.A.output_device(s.device) : s.device);
    const std::vector<Sized> dims = sized_dims(a, in);
    for (std::size_t i = 0; i < dims.size(); ++i)
      for (std::size_t j = i; j < dims.size(); ++j) {
        std::vector<Sized> along{dims[i]};
        if (j > i) along.push_back(dims[j]);
        bool refused = false;
        for (const Sized& d : along) refused = refused || contains(s.sample.unsplittable, d.dim);
        refused ? check_refusal(s, a, along) : check_parts(s, a, x, along);
      }
  }
}

}  // namespace tessera::laws
