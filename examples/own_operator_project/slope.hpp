// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences of neighbours along the last dim: n numbers of one dim become n - 1 of another. It is
// not part of Tessera: a plain struct outside of it, with all that operators can do.
//   NamedLinop S = mine::Slope(100, "X", "D");   Array y = S(x);   NamedLinop L = S.N();

#include <tessera/tessera.hpp>

namespace mine {
using namespace tessera;

struct Slope {
  i64 n;
  NamedShape names;

  static constexpr const char* kind = "Slope";
  Slope(i64 points, ND in, ND out) : n(points), names({"...", in}, {"...", out}) {
    require<ArgumentError>(n > 1, "Slope: needs two points or more, got ", n);
    require<DimError>(in != out, "Slope: mixes along its dim, so it needs two names, got ", in);
  }
  NamedShape shape() const { return names; }
  std::optional<i64> size(ND d) const {
    if (d == names.ishape.back()) return n;
    return d == names.oshape.back() ? std::optional(n - 1) : std::nullopt;
  }
  static View part(const View& v, i64 start, i64 count) {
    return sub_view(v, v.layout.slice(v.layout.ndim() - 1, start, count));
  }
  void apply(Recorder& r, const View& x, const View& y) const {
    record::subtract(r, part(x, 1, n - 1), part(x, 0, n - 1), y);
  }
  void apply_adjoint(Recorder& r, const View& y, const View& x) const {
    record::scale(r, -1.0, part(y, 0, 1), part(x, 0, 1));
    record::subtract(r, part(y, 0, n - 2), part(y, 1, n - 2), part(x, 1, n - 2));
    record::copy(r, part(y, n - 2, 1), part(x, n - 1, 1));
  }
  Slope renamed(const Renames& r) const {
    return {n, rename(names.ishape, r).back(), rename(names.oshape, r).back()};
  }
};

}  // namespace mine
