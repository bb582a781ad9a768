// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/simple_linop.hpp"

#include <algorithm>
#include <mutex>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/algebra.hpp"

namespace tessera {

// What the functions told: output shapes by input shape, and sizes of dims (by their first names).
// Nobody is called under the lock.
struct SimpleLinop::Found {
  std::mutex mutex;
  std::vector<std::pair<Shape, Shape>> shapes;
  std::vector<std::pair<NamedDimension, std::optional<i64>>> sizes;
};

namespace {

// A map from real to complex numbers may refuse complex ones.
Shape shape_of_zeros(const SimpleLinop::Calls::OfArrays& f, const std::vector<Array>& held,
                     const Shape& input, DType t) {
  const Device where = held.empty() ? cpu : held.front().device();
  const auto shape = [&](DType dtype) { return f(zeros(input, dtype).to(where), held).shape(); };
  if (is_complex(t)) try {
      return shape(t);
    } catch (const std::exception&) {
    }
  return shape(real_of(t));
}

SimpleLinop::Calls::OfArrays without_arrays(SimpleLinop::Function f) {
  if (!f) return {};
  return [f = std::move(f)](const Array& x, std::span<const Array>) { return f(x); };
}

// The name in the same place of the other shape.
NamedDimension translated(NamedDimension d, const NamedShape& from, const NamedShape& to) {
  for (const auto& [a, b] : {std::pair(from.ishape, to.ishape), {from.oshape, to.oshape}})
    for (i64 i = 0; i < a.size(); ++i)
      if (a[i] == d) return b[i];
  return d;
}

// A part that somebody made, under the names of the whole, place by place.
NamedLinop under_names(const std::string& who, const NamedLinop& part, const NamedShape& names,
                       const Tile& tile) {
  Renames renames;
  for (const auto& [from, to] :
       {std::pair(part.ishape(), names.ishape), {part.oshape(), names.oshape}}) {
    require<DimError>(from.size() == to.size(), who, ": its part ", tile.str(), " is ", part,
                      ", expected an operator with as many dims as ", names);
    for (i64 i = 0; i < from.size(); ++i) {
      const auto known = std::find_if(renames.begin(), renames.end(),
                                      [&](const auto& r) { return r.first == from[i]; });
      const bool taken = std::any_of(renames.begin(), renames.end(), [&](const auto& r) {
        return r.second == to[i] && !(r.first == from[i]);
      });
      require<DimError>(from[i].is_wildcard() == to[i].is_wildcard() && !taken &&
                            (known == renames.end() || known->second == to[i]),
                        who, ": its part ", tile.str(), " is ", part,
                        ", whose dims are not those of ", names);
      if (!from[i].is_wildcard()) renames.emplace_back(from[i], to[i]);
    }
  }
  const NamedLinop named = part.rename(renames);
  for (const Cut& c : tile.cuts) {
    const std::optional<i64> n = named.size(c.dim);
    require<SplitError>(!n || *n == c.size(), who, ": its part ", tile.str(), " has ",
                        n.value_or(0), " along '", c.dim, "', expected ", c.size());
  }
  return named;
}

}  // namespace

SimpleLinop::SimpleLinop(Calls c, Dims ishape, std::optional<Dims> oshape, std::string name,
                         DimSizes s, DType dtype)
    : calls(std::move(c)),
      names(ishape, oshape.value_or(ishape)),
      label(std::move(name)),
      sizes(std::move(s)),
      least(dtype),
      first_(names),
      found_(std::make_shared<Found>()) {
  const std::string speaker = cat("SimpleLinop ", names.str());
  require<ArgumentError>(calls.forward && calls.backward, speaker,
                         ": forward and adjoint must both be given");
  check_distinct(speaker, names.ishape);
  check_distinct(speaker, names.oshape);
  check_sizes(speaker, sizes, dims_of(names));
}

SimpleLinop::SimpleLinop(Function f, Function a, Function n, Dims ishape,
                         std::optional<Dims> oshape, std::string name, DimSizes s, DType dtype)
    : SimpleLinop({.forward = without_arrays(std::move(f)),
                   .backward = without_arrays(std::move(a)),
                   .normal = without_arrays(std::move(n))},
                  std::move(ishape), std::move(oshape), std::move(name), std::move(s), dtype) {}

std::string SimpleLinop::who() const {
  return cat("SimpleLinop ", label, label.empty() ? "" : " ", names.str());
}

std::vector<Array> SimpleLinop::held() const {
  if (!moved_.empty() || !calls.arrays) return moved_;
  return calls.arrays();
}

std::optional<Device> SimpleLinop::device() const {
  const std::vector<Array> all = held();
  return all.empty() ? std::nullopt : std::optional(all.front().device());
}

std::optional<i64> SimpleLinop::size(NamedDimension d) const {
  if (const auto n = size_in(sizes, d)) return n;
  if (!calls.size || d.is_wildcard() || !contains(dims_of(names), d)) return std::nullopt;
  const NamedDimension asked = translated(d, names, first_);
  {
    std::lock_guard lock(found_->mutex);
    for (const auto& [known, n] : found_->sizes)
      if (known == asked) return n;
  }
  const std::optional<i64> n = calls.size(asked);
  require<ArgumentError>(!n || *n >= 0, who(), ": its size of dim '", asked, "' is ", n.value_or(0),
                         ", expected 0 or more, or nothing");
  std::lock_guard lock(found_->mutex);
  found_->sizes.emplace_back(asked, n);
  return n;
}

Shape SimpleLinop::output_shape(const Shape& input) const {
  const std::string speaker = cat("SimpleLinop ", names.str());
  const Binding b = bind_dims(speaker, names.ishape, input);
  bool known = !has_ellipses(names.oshape) || has_ellipses(names.ishape);
  for (NamedDimension d : names.oshape) known = known && (d.is_ellipses() || b.size(d) || size(d));
  if (known) return sizes_of(speaker, names.oshape, b, [&](NamedDimension d) { return size(d); });
  {
    std::lock_guard lock(found_->mutex);
    for (const auto& [in, out] : found_->shapes)
      if (in == input) return out;
  }
  const Shape out = shape_of_zeros(function(), held(), input, promote(DType::f32, least));
  (void)bind_dims(speaker, names.oshape, out);
  std::lock_guard lock(found_->mutex);
  found_->shapes.emplace_back(input, out);
  return out;
}

void SimpleLinop::apply(Recorder& r, const View& x, const View& y) const {
  std::vector<View> reads{x};
  // Arrays that are fetched have views of the plan's memory; others are what they are in each run.
  const std::vector<Array> arrays = held();
  std::vector<std::size_t> fetched;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const View v = r.constant(arrays[i]);
    if (r.device(v) == arrays[i].device()) continue;
    reads.push_back(v);
    fetched.push_back(i);
  }
  require<NotAvailable>(static_cast<int>(reads.size()) < max_operands, who(), " holds ",
                        fetched.size(), " arrays that each run would send; at most ",
                        max_operands - 2, " can be");
  r.call(
      label.empty() ? "call" : label,
      [f = function(), self = *this, count = arrays.size(), fetched, speaker = who()](
          std::span<const Array> in, const Array& out) {
        std::vector<Array> here = self.held();
        require<PlanError>(fetched.empty() || here.size() == count, speaker, " holds ", here.size(),
                           " arrays, when it was planned it held ", count);
        for (std::size_t k = 0; k < fetched.size(); ++k) here[fetched[k]] = in[k + 1];
        const Array result = f(in[0], here);
        require<ShapeError>(result && result.shape() == out.shape(), speaker,
                            ": the function gave an array of shape ",
                            result ? result.shape() : Shape{}, ", expected ", out.shape());
        require<DeviceError>(result.device() == out.device(), speaker,
                             ": the function gave an array on ", result.device(), ", expected ",
                             out.device());
        require<DTypeError>(can_cast_same_kind(result.dtype(), out.dtype()), speaker,
                            ": the function gave ", result.dtype(), " for ", in[0].dtype(),
                            ", expected ", out.dtype(), "; say so with dtype");
        out.copy_from(result);
      },
      reads, y);
}

SimpleLinop SimpleLinop::adjoint() const {
  SimpleLinop a = *this;
  const bool back = label.ends_with(".H");
  if (!label.empty()) a.label = back ? label.substr(0, label.size() - 2) : label + ".H";
  a.names = names.H();
  a.first_ = first_.H();
  a.flipped_ = !flipped_;
  a.found_ = std::make_shared<Found>();
  return a;
}

std::optional<NamedLinop> SimpleLinop::normal() const {
  if (!calls.normal || flipped_) return std::nullopt;
  SimpleLinop n = *this;
  n.names = n.first_ = names.N();
  n.sizes.clear();
  for (i64 i = 0; i < n.names.ishape.size(); ++i)
    if (const auto known = size(n.names.ishape[i])) {
      n.sizes.emplace_back(n.names.ishape[i], *known);
      if (!(n.names.oshape[i] == n.names.ishape[i]))
        n.sizes.emplace_back(n.names.oshape[i], *known);
    }
  n.calls.forward = n.calls.backward = calls.normal;
  n.calls.normal = {};
  n.calls.size = {};
  if (!label.empty()) n.label = label + ".N";
  n.normal_of_ = std::make_shared<const SimpleLinop>(*this);
  n.found_ = std::make_shared<Found>();
  return n;
}

SimpleLinop SimpleLinop::renamed(const Renames& r) const {
  SimpleLinop a = *this;
  a.names = names.renamed(r);
  a.sizes = renamed_sizes(sizes, r);
  return a;
}

Tile SimpleLinop::by_first_names(const Tile& tile) const {
  Tile t = tile;
  for (Cut& c : t.cuts) c.dim = translated(c.dim, names, first_);
  return t;
}

// Between a part of the input and a part of the output: what one part gives, the adjoint of another
// takes. Along dims of both sides the two are one part, which may know its own normal.
NamedLinop SimpleLinop::split_normal(const Tile& tile) const {
  const NamedLinop a = *normal_of_;
  Tile in, out;
  bool same = true;
  for (const Cut& c : by_first_names(tile).cuts) {
    const bool taken = contains(first_.ishape, c.dim), given = contains(first_.oshape, c.dim);
    if (taken) in.cuts.push_back(c);
    if (given)
      out.cuts.push_back({translated(c.dim, first_.H(), first_), c.start, c.stop, c.whole});
    same = same && taken && given;
  }
  return same ? a.split(in).N() : chain({a.split(in), a.split(out).H()});
}

NamedLinop SimpleLinop::split(const Tile& tile) const {
  if (!calls.split)
    throw SplitError(cat("SimpleLinop ", names.str(), " cannot be cut along dim '",
                         tile.cuts.front().dim, "': what its functions do along it is not known"));
  if (flipped_) return adjoint().split(tile).H();
  NamedLinop part = normal_of_ ? split_normal(tile) : calls.split(by_first_names(tile));
  // The caller makes it of the arrays that were given, wherever they were moved since.
  if (!moved_.empty()) part = part.to(moved_.front().device());
  return under_names(who(), part, names, tile);
}

}  // namespace tessera
