// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/diagonal.hpp"

namespace tessera {

Diagonal::Diagonal(Array w, Dims ioshape, Dims broadcast, bool conj)
    : weight(std::move(w)),
      names(std::move(ioshape)),
      broadcast_dims(std::move(broadcast)),
      conjugated(conj) {
  require<DimError>(has_ellipses(names.ishape) || weight.ndim() <= names.ishape.size(), "Diagonal ",
                    to_text(names.ishape), ": the weight has shape ", weight.shape(),
                    ", more axes than there are dims");
  for (NamedDimension d : broadcast_dims)
    require<DimError>(contains(names.ishape, d), "Diagonal ", to_text(names.ishape),
                      ": broadcast dim '", d, "' is not one of its dims");
}

std::optional<i64> Diagonal::size(NamedDimension d) const {
  if (contains(broadcast_dims, d)) return std::nullopt;
  for (i64 back = 1; back <= std::min<i64>(names.ishape.size(), weight.ndim()); ++back) {
    const NamedDimension name = names.ishape[names.ishape.size() - back];
    if (name.is_ellipses()) break;  // left of it the weight's axes are not named
    const i64 n = weight.shape(weight.ndim() - back);
    if (name == d) return n == 1 ? std::nullopt : std::optional(n);
  }
  return std::nullopt;
}

Shape Diagonal::output_shape(const Shape& input) const {
  require<DimError>(weight.ndim() <= input.size(), "Diagonal ", to_text(names.ishape),
                    ": the weight of shape ", weight.shape(),
                    " has more axes than the input of shape ", input);
  for (i64 back = 1; back <= weight.ndim(); ++back) {
    const i64 w = weight.shape(weight.ndim() - back), n = input[input.size() - back];
    require<DimError>(w == n || w == 1, "Diagonal ", to_text(names.ishape),
                      ": the weight has shape ", weight.shape(), ", the input ", input, "; axis ",
                      input.size() - back, " is ", n, ", expected ", w);
  }
  return input;
}

void Diagonal::apply(Recorder& r, const View& x, const View& y) const {
  if (squared) {
    const Array wide = weight.astype(promote(weight.dtype(), real_of(y.dtype)));
    return record::multiply(r, r.constant(ops::abs2(wide)), x, y);
  }
  const View w = r.constant(weight);
  conjugated ? record::conj_multiply(r, w, x, y) : record::multiply(r, w, x, y);
}

Diagonal Diagonal::adjoint() const {
  Diagonal a = *this;
  a.conjugated = !squared && !conjugated && is_complex(weight.dtype());
  return a;
}

std::optional<NamedLinop> Diagonal::normal() const {
  if (squared) return std::nullopt;  // two passes keep full precision
  Diagonal n = *this;
  n.squared = true;
  return n;
}

Diagonal Diagonal::to(Device d) const {
  Diagonal moved = *this;
  moved.weight = weight.to(d);
  return moved;
}

}  // namespace tessera
