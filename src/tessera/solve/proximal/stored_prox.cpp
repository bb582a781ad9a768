// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/stored_prox.hpp"

namespace tessera {
namespace {

// Shrinks all of x by t in length.
void shrink_all(Engine& e, Recorder& r, const vec::Vector& x, double t, const vec::Vector& y) {
  ScalarProgram& b = e.scalars;
  const DeviceScalar size = b.cell("prox size"), factor = b.cell("prox factor");
  vec::norm2(r, x, e.target(r, size));
  b.store(size, root(size));
  b.store(factor, larger(size - t, b.constant(0)) / larger(size, b.constant(1e-300)));
  b.record(r);
  vec::scale(r, e.factor(r, factor), x, y);
}

Array part_of(const Array& whole, const store::Box& box) {
  Array part = whole;
  for (i64 d = 0; d < box.shape.size(); ++d)
    part = part.slice(d, box.begin[d], box.begin[d] + box.shape[d]);
  return part;
}

}  // namespace

void record_on_disk(Engine& e, Recorder& r, const Prox& p, const vec::Vector& x, double t,
                    const vec::Vector& y) {
  const StoredVector& from = *x.stored;
  const Shape& shape = from.store->grid().shape();
  require<ArgumentError>(!p.maker.empty(), e.name, ": the proximal map '", p.name,
                         "' is a function, which would have to see a vector that is on disk; give "
                         "one of ts.solve.prox");
  if (p.maker == "none") {
    if (from.store != y.stored->store) vec::copy(r, x, y);
    return;
  }
  if (p.maker == "l2") return shrink_all(e, r, x, p.numbers.front() * t, y);
  if (p.center) {
    require<ShapeError>(p.center.shape() == shape, "prox.l2_squared: center has shape ",
                        p.center.shape(), ", expected ", shape);
    return from.solve->map(
        r, p.name, x, y,
        [lam = p.numbers.front(), center = p.center, t](const Array& v, const store::Box& box) {
          return apply_prox(prox::l2_squared(lam, part_of(center, box)), v, t);
        });
  }
  require<DTypeError>(p.maker != "box" || !is_complex(x.dtype()),
                      "prox.box: complex numbers have no order");
  Axes groups;
  for (const i64 axis : p.axes) groups.push_back(normalize_axis(axis, shape.size(), "prox.group"));
  from.solve->map(
      r, p.name, x, y, [p, t](const Array& v, const store::Box&) { return apply_prox(p, v, t); },
      groups);
}

}  // namespace tessera
