// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/fill.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera::streaming {
namespace {

StoredArray written_once(const std::string& what, const Shape& shape, DType dtype,
                         const store::MakeTile& make) {
  const StoredArray out = StoredArray::create(shape, dtype);
  const StorePtr source = store::generated_store(what, out.store()->grid(), make);
  assign(Expression(source), out.store(), {.budget = stream_budget()});
  return out;
}

// The rows of a box of the whole array: `box` has begin and shape of the axes from `axis` on,
// `first` is the position of the element at which they begin.
void draw_box(RandomSpec spec, const Shape& whole, const Box& box, i64 axis, const Array& into) {
  const i64 left = whole.size() - axis;
  if (left > 2) {
    i64 inner = 1;
    for (i64 d = axis + 1; d < whole.size(); ++d) inner *= whole[d];
    for (i64 k = 0; k < box.shape[axis]; ++k) {
      RandomSpec one = spec;
      one.first += (box.begin[axis] + k) * inner;
      draw_box(one, whole, box, axis + 1, into.select(0, k));
    }
    return;
  }
  if (left == 2) {
    spec.row = box.shape[axis + 1];
    spec.pitch = whole[axis + 1];
    spec.first += box.begin[axis] * whole[axis + 1] + box.begin[axis + 1];
  } else if (left == 1) {
    spec.first += box.begin[axis];
  }
  draw_into(into, spec);
}

}  // namespace

StoredArray filled(const Shape& shape, const Value& value, DType dtype) {
  return written_once("full", shape, dtype,
                      [value](const Box&, const Array& into) { into.fill(value); });
}

StoredArray ranged(const Value& from, const Value& to, const Value& by, DType dtype) {
  return written_once(
      "arange", {arange_length(from, to, by)}, dtype, [=](const Box& box, const Array& into) {
        into.copy_from(arange_part(from, to, by, box.begin[0], box.shape[0], dtype));
      });
}

StoredArray spaced(double start, double stop, i64 n, i64 count, DType dtype) {
  return written_once("linspace", {count}, dtype, [=](const Box& box, const Array& into) {
    into.copy_from(linspace_part(start, stop, n, box.begin[0], box.shape[0], dtype));
  });
}

StoredArray ones_on_diagonal(i64 rows, i64 columns, i64 diagonal, DType dtype) {
  return written_once("eye", {rows, columns}, dtype, [=](const Box& box, const Array& into) {
    const i64 here = diagonal + box.begin[0] - box.begin[1];
    const i64 far = std::max(box.shape[0], box.shape[1]);
    into.copy_from(eye(box.shape[0], box.shape[1], std::clamp(here, -far, far), dtype));
  });
}

StoredArray drawn(const Shape& shape, DType dtype, const RandomSpec& spec) {
  return written_once("random", shape, dtype, [spec, shape](const Box& box, const Array& into) {
    draw_box(spec, shape, box, 0, into);
  });
}

}  // namespace tessera::streaming
