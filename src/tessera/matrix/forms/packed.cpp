// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/packed.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/zero.hpp"
#include "tessera/matrix/products/multiply_strips.hpp"
#include "tessera/matrix/products/trapezoid.hpp"

namespace tessera {
namespace {

View turned(const View& v) {
  constexpr i64 axes[] = {1, 0};
  return sub_view(v, v.layout.permute(axes));
}

View columns_of(const View& v, i64 begin, i64 end) {
  return sub_view(v, v.layout.slice(1, begin, end - begin));
}

}  // namespace

Packed::Packed(Kind k, Strips s, Array d, const Dims& ishape, const Dims& oshape, bool turn,
               bool conj)
    : structure(k),
      strips(std::move(s)),
      data(std::move(d)),
      sides(ishape, oshape),
      transposed(turn),
      conjugated(conj && is_complex(data.dtype())) {
  require<ShapeError>(data.ndim() == 1 && data.size() == strips.elements(), "Packed ",
                      sides.names.str(), ": data of shape ", data.shape(), ", expected (",
                      strips.elements(), ",)");
}

Packed Packed::from_state(Kind structure, i64 n, Array data, const NamedShape& names,
                          bool transposed, bool conjugated) {
  return Packed(structure, Strips(n, false), std::move(data), names.ishape, names.oshape,
                transposed, conjugated);
}

std::optional<i64> Packed::size(NamedDimension d) const {
  return d == sides.in || d == sides.out ? std::optional(strips.n()) : std::nullopt;
}

// Note [strips]: U is the packed triangle; what its strips hold below is not read. y = U x takes
// rows of y from one strip each; y = Uᵀ x adds what every strip has for the rows from its first on,
// the first strip for all rows.
void Packed::record_triangle(Recorder& r, const Panels& p, bool adds) const {
  using Stored = MatmulSpec::Stored;
  const i64 n = strips.n();
  const Array numbers = data.astype(p.y.dtype);
  for (const Strip& s : strips.list()) {
    const View a = r.constant(strips.part(numbers, s));
    const View here = rows_of(p.x, s.begin, s.end), beyond = rows_of(p.x, s.begin, n);
    if (transposed)
      record_product(r, turned(a), here, rows_of(p.y, s.begin, n),
                     {.conj_a = conjugated,
                      .adds = adds || s.begin > 0,
                      .stored = Stored::lower,
                      .diagonal = -diagonal()});
    else
      record_product(
          r, a, beyond, rows_of(p.y, s.begin, s.end),
          {.conj_a = conjugated, .adds = adds, .stored = Stored::upper, .diagonal = diagonal()});
  }
}

// The corner of a strip is filled up to a block with both halves; what is right of it counts twice,
// as it is and turned, one right after the other, so that the second reads it from the cache.
void Packed::record_both_halves(Recorder& r, const Panels& p, bool adds) const {
  const i64 n = strips.n();
  const bool anti = structure == Kind::antisymmetric;
  const double above = anti && transposed ? -1 : 1, below = anti ? -above : 1;
  const Array numbers = data.astype(p.y.dtype);
  for (const Strip& s : strips.list()) {
    const i64 h = s.end - s.begin;
    const Array part = strips.part(numbers, s);
    const View a = r.constant(part), corner = r.constant(whole_block(part.slice(1, 0, h), anti));
    const View x = rows_of(p.x, s.begin, s.end), y = rows_of(p.y, s.begin, s.end);
    const bool written = adds || s.begin > 0;  // by the strips before
    record_product(r, corner, x, y, {.conj_a = conjugated, .sign = above, .adds = written});
    if (s.end == n) continue;
    const View rest = columns_of(a, h, s.width);
    record_product(r, rest, rows_of(p.x, s.end, n), y,
                   {.conj_a = conjugated, .sign = above, .adds = true});
    record_product(r, turned(rest), x, rows_of(p.y, s.end, n),
                   {.conj_a = conjugated, .sign = below, .adds = written});
  }
}

void Packed::record_products(Recorder& r, const Panels& p, bool adds) const {
  is_triangle() ? record_triangle(r, p, adds) : record_both_halves(r, p, adds);
}

void Packed::apply(Recorder& r, const View& x, const View& y) const {
  if (strips.n() == 0) return;
  const Panels p = sides.panels(r, x, y, y.dtype);
  record_products(r, p, false);
  p.finish(r);
}

bool Packed::apply_add(Recorder& r, const View& x, const View& y) const {
  if (!sides.in_place(y)) return false;
  if (strips.n() > 0) record_products(r, sides.panels(r, x, y, y.dtype), true);
  return true;
}

Packed Packed::adjoint() const {
  Packed a = *this;
  a.sides = sides.adjoint();
  a.transposed = !transposed;
  a.conjugated = is_complex(data.dtype()) && !conjugated;
  return a;
}

Packed Packed::renamed(const Renames& r) const {
  Packed a = *this;
  a.sides = sides.renamed(r);
  return a;
}

// Rows and columns of the triangle, zeros where it has nothing; a view where one strip has it all.
Array Packed::upper(const Cut& rows, const Cut& cols) const {
  const Array all = zeros({rows.size(), cols.size()}, data.dtype(), data.device());
  for (const Strip& s : strips.list()) {
    const i64 top = std::max(rows.start, s.begin), bottom = std::min(rows.stop, s.end),
              left = std::max(cols.start, s.begin);
    if (top >= bottom || left >= cols.stop) continue;
    const Array part = strips.part(data, s)
                           .slice(0, top - s.begin, bottom - s.begin)
                           .slice(1, left - s.begin, cols.stop - s.begin);
    if (part.shape() == all.shape()) return part;
    all.slice(0, top - rows.start, bottom - rows.start)
        .slice(1, left - cols.start, cols.size())
        .copy_from(part);
  }
  return all;
}

Array Packed::block(const Cut& rows, const Cut& cols) const {
  if (is_triangle()) return transposed ? upper(cols, rows).transpose() : upper(rows, cols);
  const Array above = upper(rows, cols), below = upper(cols, rows);
  if (structure == Kind::antisymmetric)
    return transposed ? ops::subtract(below.transpose(), above)
                      : ops::subtract(above, below.transpose());
  // Only what lies strictly above the diagonal is mirrored.
  const Array strict = linalg::triangle(below, false, cols.start - rows.start + 1);
  return ops::add(above, strict.transpose());
}

NamedLinop Packed::split(const Tile& tile) const {
  const i64 n = strips.n();
  const Cut rows = cut_of(tile, sides.out, n), cols = cut_of(tile, sides.in, n);
  const Dims &ishape = sides.names.ishape, &oshape = sides.names.oshape;
  if (rows.size() == n && cols.size() == n) return *this;
  if (rows.start == cols.start && rows.stop == cols.stop) {
    const Strips smaller(rows.size(), false);
    return Packed(structure, smaller, smaller.pack(upper(rows, cols), false), ishape, oshape,
                  transposed, conjugated);
  }
  if (!is_triangle())
    return Dense(block(rows, cols), {sides.out, sides.in}, ishape, oshape, {}, conjugated);
  const i64 from = rows.start - cols.start, beside = transposed ? -diagonal() : diagonal();
  const StoredPart part{transposed ? MatmulSpec::Stored::lower : MatmulSpec::Stored::upper,
                        from + beside};
  if (part.is_empty(rows.size(), cols.size()))
    return Zero(ishape, oshape, {{sides.in, cols.size()}, {sides.out, rows.size()}});
  return stored_block(block(rows, cols), part, sides, conjugated);
}

std::string Packed::details() const {
  constexpr const char* names[] = {"triangular", "symmetric", "antisymmetric",
                                   "strictly triangular"};
  return cat(names[static_cast<int>(structure)], " ", strips.n(), " x ", strips.n(), " ",
             data.dtype(), transposed ? " transposed" : "", conjugated ? " conjugated" : "");
}

}  // namespace tessera
