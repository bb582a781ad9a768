// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/simple_linop.hpp"

#include <mutex>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {

// Output shapes learned by calling, by input shape.
struct SimpleLinop::Found {
  std::mutex mutex;
  std::vector<std::pair<Shape, Shape>> shapes;
};

namespace {
// A map from real to complex numbers may refuse complex ones.
Shape shape_of_zeros(const SimpleLinop::Function& f, const Shape& input, DType t) {
  if (is_complex(t)) try {
      return f(zeros(input, t)).shape();
    } catch (const std::exception&) {
    }
  return f(zeros(input, real_of(t))).shape();
}
}  // namespace

SimpleLinop::SimpleLinop(Function f, Function a, Function n, Dims ishape,
                         std::optional<Dims> oshape, std::string name, DimSizes s, DType dtype)
    : forward(std::move(f)),
      backward(std::move(a)),
      own_normal(std::move(n)),
      names(ishape, oshape.value_or(ishape)),
      label(std::move(name)),
      sizes(std::move(s)),
      least(dtype),
      found_(std::make_shared<Found>()) {
  const std::string who = cat("SimpleLinop ", names.str());
  require<ArgumentError>(forward && backward, who, ": forward and adjoint must both be given");
  check_distinct(who, names.ishape);
  check_distinct(who, names.oshape);
  check_sizes(who, sizes, dims_of(names));
}

Shape SimpleLinop::output_shape(const Shape& input) const {
  const std::string who = cat("SimpleLinop ", names.str());
  const Binding b = bind_dims(who, names.ishape, input);
  bool known = !has_ellipses(names.oshape) || has_ellipses(names.ishape);
  for (NamedDimension d : names.oshape)
    known = known && (d.is_ellipses() || b.size(d) || size_in(sizes, d));
  if (known)
    return sizes_of(who, names.oshape, b, [&](NamedDimension d) { return size_in(sizes, d); });
  {
    std::lock_guard lock(found_->mutex);
    for (const auto& [in, out] : found_->shapes)
      if (in == input) return out;
  }
  const Shape out = shape_of_zeros(forward, input, promote(DType::f32, least));
  (void)bind_dims(who, names.oshape, out);
  std::lock_guard lock(found_->mutex);
  found_->shapes.emplace_back(input, out);
  return out;
}

void SimpleLinop::apply(Recorder& r, const View& x, const View& y) const {
  const View reads[] = {x};
  r.call(
      label.empty() ? "call" : label,
      [f = forward, who = cat("SimpleLinop ", label, label.empty() ? "" : " ", names.str())](
          std::span<const Array> in, const Array& out) {
        const Array result = f(in[0]);
        require<ShapeError>(result && result.shape() == out.shape(), who,
                            ": the function gave an array of shape ",
                            result ? result.shape() : Shape{}, ", expected ", out.shape());
        require<DeviceError>(result.device() == out.device(), who,
                             ": the function gave an array on ", result.device(), ", expected ",
                             out.device());
        require<DTypeError>(can_cast_same_kind(result.dtype(), out.dtype()), who,
                            ": the function gave ", result.dtype(), " for ", in[0].dtype(),
                            ", expected ", out.dtype(), "; say so with dtype");
        out.copy_from(result);
      },
      reads, y);
}

SimpleLinop SimpleLinop::adjoint() const {
  const bool back = label.ends_with(".H");
  std::string name = label.empty() ? label
                     : back        ? label.substr(0, label.size() - 2)
                                   : label + ".H";
  return SimpleLinop(backward, forward, {}, names.oshape, names.ishape, std::move(name), sizes,
                     least);
}

std::optional<NamedLinop> SimpleLinop::normal() const {
  if (!own_normal) return std::nullopt;
  const NamedShape n = names.N();
  DimSizes known;
  for (i64 i = 0; i < n.ishape.size(); ++i)
    if (const auto size = size_in(sizes, n.ishape[i])) {
      known.emplace_back(n.ishape[i], *size);
      if (!(n.oshape[i] == n.ishape[i])) known.emplace_back(n.oshape[i], *size);
    }
  return SimpleLinop(own_normal, own_normal, {}, n.ishape, n.oshape,
                     label.empty() ? label : label + ".N", known, least);
}

SimpleLinop SimpleLinop::renamed(const Renames& r) const {
  SimpleLinop a = *this;
  a.names = names.renamed(r);
  a.sizes = renamed_sizes(sizes, r);
  return a;
}

NamedLinop SimpleLinop::split(const Tile& tile) const {
  throw SplitError(cat("SimpleLinop ", names.str(), " cannot be cut along dim '",
                       tile.cuts.front().dim, "': what its functions do along it is not known"));
}

}  // namespace tessera
