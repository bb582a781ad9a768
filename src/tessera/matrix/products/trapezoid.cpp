// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/trapezoid.hpp"

#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/zero.hpp"

namespace tessera {

void record_product(Recorder& r, const View& a, const View& b, const View& y,
                    const StoredProduct& p) {
  MatmulSpec spec;
  spec.a = operand_of(a);
  spec.b = operand_of(b);
  spec.out = operand_of(y);
  spec.conj_a = p.conj_a;
  spec.alpha = c128(p.sign, 0);
  spec.beta = c128(p.adds ? 1 : 0, 0);
  spec.stored = p.stored;
  spec.diagonal = p.diagonal;
  const View reads[] = {a, b};
  r.launch(&KernelTable::matmul, p.adds ? "matmul and add" : "matmul", spec, reads, y,
           {.updates = p.adds});
}

Trapezoid::Trapezoid(Array b, Stored s, i64 d, const Dims& ishape, const Dims& oshape, bool conj)
    : block(std::move(b)),
      stored(s),
      diagonal(d),
      sides(ishape, oshape),
      conjugated(conj && is_complex(block.dtype())) {
  require<ShapeError>(block.ndim() == 2, "Trapezoid ", sides.names.str(), ": a block of shape ",
                      block.shape(), ", expected rows and columns");
  require<ArgumentError>(stored != Stored::all, "Trapezoid ", sides.names.str(),
                         ": expected one side of a diagonal");
}

Trapezoid Trapezoid::from_state(Array block, bool upper, i64 diagonal, const NamedShape& names,
                                bool conjugated) {
  Trapezoid a(std::move(block), upper ? Stored::upper : Stored::lower, diagonal, names.ishape,
              names.oshape, conjugated);
  require<ShapeError>(diagonal > -a.block.shape(0) && diagonal < a.block.shape(1), "Trapezoid ",
                      names.str(), ": diagonal ", diagonal, " of a block of shape ",
                      a.block.shape());
  return a;
}

std::optional<i64> Trapezoid::size(NamedDimension d) const {
  if (d == sides.out) return block.shape(0);
  return d == sides.in ? std::optional(block.shape(1)) : std::nullopt;
}

void Trapezoid::record(Recorder& r, const Panels& p, bool adds) const {
  record_product(r, r.constant(block.astype(p.y.dtype)), p.x, p.y,
                 {.conj_a = conjugated, .adds = adds, .stored = stored, .diagonal = diagonal});
}

void Trapezoid::apply(Recorder& r, const View& x, const View& y) const {
  const Panels p = sides.panels(r, x, y, y.dtype);
  record(r, p, false);
  p.finish(r);
}

bool Trapezoid::apply_add(Recorder& r, const View& x, const View& y) const {
  if (!sides.in_place(y)) return false;
  record(r, sides.panels(r, x, y, y.dtype), true);
  return true;
}

Trapezoid Trapezoid::adjoint() const {
  Trapezoid a = *this;
  a.block = block.transpose();
  a.stored = stored == Stored::upper ? Stored::lower : Stored::upper;
  a.diagonal = -diagonal;
  a.sides = sides.adjoint();
  a.conjugated = is_complex(block.dtype()) && !conjugated;
  return a;
}

Trapezoid Trapezoid::renamed(const Renames& r) const {
  Trapezoid a = *this;
  a.sides = sides.renamed(r);
  return a;
}

NamedLinop Trapezoid::split(const Tile& tile) const {
  const Cut rows = cut_of(tile, sides.out, block.shape(0)),
            cols = cut_of(tile, sides.in, block.shape(1));
  return stored_block(block.slice(0, rows.start, rows.stop).slice(1, cols.start, cols.stop),
                      {stored, diagonal + rows.start - cols.start}, sides, conjugated);
}

std::string Trapezoid::details() const {
  return cat(block.shape(0), " x ", block.shape(1), " ", block.dtype(), ", ",
             stored == Stored::upper ? "upper" : "lower", " from diagonal ", diagonal,
             conjugated ? " conjugated" : "");
}

// column - row goes from 1 - rows to columns - 1.
bool StoredPart::is_empty(i64 rows, i64 columns) const {
  return side == MatmulSpec::Stored::upper ? diagonal >= columns : diagonal <= -rows;
}
bool StoredPart::is_all(i64 rows, i64 columns) const {
  return side == MatmulSpec::Stored::upper ? diagonal <= 1 - rows : diagonal >= columns - 1;
}

NamedLinop stored_block(const Array& block, const StoredPart& part, const MatrixSides& sides,
                        bool conjugated) {
  const i64 rows = block.shape(0), columns = block.shape(1);
  const Dims &ishape = sides.names.ishape, &oshape = sides.names.oshape;
  if (part.is_empty(rows, columns))
    return Zero(ishape, oshape, {{sides.in, columns}, {sides.out, rows}});
  if (part.is_all(rows, columns))
    return Dense(block, {sides.out, sides.in}, ishape, oshape, {}, conjugated);
  return Trapezoid(block, part.side, part.diagonal, ishape, oshape, conjugated);
}

}  // namespace tessera
