// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/lower.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "tessera/base/config.hpp"
#include "tessera/kernels/fft/power_lines.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/linop/rewrite/pruned_fft.hpp"
#include "tessera/linop/rewrite/rewrite.hpp"

namespace tessera {
namespace {

using Operators = std::vector<NamedLinop>;

// Phases of one grid, made once: a transform and its adjoint share them, so that where they meet
// they are seen to cancel.
class Phases {
 public:
  explicit Phases(DType dtype) : dtype_(dtype) {}
  const FFT::Phases& of(const Shape& grid, Device device) {
    const std::pair key(device, to_text(grid));
    auto it = known_.find(key);
    if (it == known_.end()) it = known_.emplace(key, FFT::phases(grid, dtype_, device)).first;
    return it->second;
  }

 private:
  DType dtype_;
  std::map<std::pair<Device, std::string>, FFT::Phases> known_;
};

Diagonal phase(const Array& weight, bool conjugated, const Dims& names) {
  const Diagonal d(weight, names);
  return conjugated ? d.adjoint() : d;
}

void expand(const NamedLinop& a, const Shape& input, Device device, Phases& phases, Operators& to) {
  const FFT* f = a.as<FFT>();
  if (!f || !f->centered || f->real) {
    to.push_back(a);
    return;
  }
  const FFT::Phases& p = phases.of(f->transformed_grid(input), device);
  FFT plain = *f;
  plain.centered = false;
  // A forward transform is P_out F P_in, its adjoint conj(P_in) F^H conj(P_out).
  to.push_back(phase(f->backward ? p.out : p.in, f->backward, f->names.ishape));
  to.push_back(plain);
  to.push_back(phase(f->backward ? p.in : p.out, f->backward, f->names.oshape));
}

// The diagonal with its factors changed one by one; nullopt when one cannot be.
template <class F>
std::optional<Diagonal> with_weights(const Diagonal& d, const Dims& names, F&& change) {
  Diagonal moved = d;
  moved.names = NamedShape(names);
  moved.broadcast_dims = {};
  for (Diagonal::Factor& f : moved.factors) {
    const std::optional<Array> w = change(f.weight);
    if (!w) return std::nullopt;
    f.weight = *w;
  }
  return moved;
}

// A map that spreads its input over new leading dims (coil maps) lets weights of the input's dims
// pass: there they multiply the smaller array.
std::optional<Diagonal> before_spreading(const NamedLinop& a, const Diagonal& d, bool adjoint) {
  const Dense* s = a.as<Dense>();
  if (!s) return std::nullopt;
  const Dims &small = adjoint ? s->names.oshape : s->names.ishape,
             &large = adjoint ? s->names.ishape : s->names.oshape;
  if (small.size() >= large.size() || has_ellipses(large) ||
      !std::equal(small.begin(), small.end(), large.end() - small.size()))
    return std::nullopt;
  return with_weights(d, small, [&](const Array& w) -> std::optional<Array> {
    if (w.ndim() <= small.size()) return w;
    for (i64 i = 0; i < w.ndim() - small.size(); ++i)
      if (w.shape(i) != 1) return std::nullopt;
    return w.reshape(Shape(w.shape().end() - small.size(), w.shape().end()));
  });
}

// The first pair of neighbours from `i` on that merges or changes places: where it stood, or the
// end.
std::size_t merge_step(Operators& ops, std::size_t i) {
  for (; i + 1 < ops.size(); ++i) {
    const Diagonal *a = ops[i].as<Diagonal>(), *b = ops[i + 1].as<Diagonal>();
    std::optional<Diagonal> d;
    if (a && b) {
      if (!config().rewrite_diagonals || !(d = a->times(*b))) continue;
      ops[i] = *d;
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return i;
    }
    if (b) {
      if (const Pad* p = ops[i].as<Pad>()) d = p->inside(*b);
      if (!d) d = before_spreading(ops[i], *b, false);
    }
    if (a) {
      if (const Crop* c = ops[i + 1].as<Crop>()) d = c->pad.inside(*a);
      if (!d) d = before_spreading(ops[i + 1], *a, true);
    }
    if (!d) continue;
    std::swap(ops[i], ops[i + 1]);
    ops[b ? i : i + 1] = *d;
    return i;
  }
  return ops.size();
}

// Note [filters]: F^H D F over one grid is a filter, which devices in host memory do in one pass
// over the array: the weight is multiplied while the lines of the last axis are in the cache.
struct Filter {
  const FFT *first, *second;
  const Diagonal* weight;
};
std::optional<Filter> filter_at(const Operators& ops, std::size_t i, Device device) {
  if (!config().rewrite || !config().rewrite_filters || i + 2 >= ops.size() ||
      kernels_of(device).fft.prepare != cpu_kernels().fft.prepare)
    return {};
  const Filter f{ops[i].as<FFT>(), ops[i + 2].as<FFT>(), ops[i + 1].as<Diagonal>()};
  const bool fits = f.first && f.second && f.weight && f.first->ndim == f.second->ndim &&
                    f.first->along == f.second->along && !f.first->centered &&
                    !f.second->centered && !f.first->real && !f.second->real &&
                    f.first->backward != f.second->backward;
  return fits ? std::optional(f) : std::nullopt;
}

void record_filter(Recorder& r, const Filter& f, const View& x_given, const View& y) {
  const Recorder::Scope scope(r, cat("FFT ", f.first->names.str(), " and back around Diagonal"),
                              x_given, y);
  View x = x_given;
  if (x.dtype != y.dtype) {
    x = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x_given, x);
  }
  const Shape axes = f.first->axes(y.layout.ndim());
  const double scale = f.first->scale(y.shape()) * f.second->scale(y.shape());
  Array w = f.weight->product(y.dtype);
  w = w.astype(is_complex(w.dtype()) ? y.dtype : real_of(y.dtype));
  // Its lines are read along the axis that comes last in the transform: the first of them.
  if (const i64 axis = axes[0] - y.layout.ndim() + w.ndim();
      axis >= 0 && axis < w.ndim() && w.shape(axis) > 1 && !uses_power_lines(w.shape(axis))) {
    Axes there, back(w.ndim(), 0);
    for (i64 a = 0; a < w.ndim(); ++a)
      if (a != axis) there.push_back(a);
    there.push_back(axis);
    for (i64 a = 0; a < w.ndim(); ++a) back[there[a]] = a;
    w = w.permute(there).contiguous().permute(back);
  }
  r.note(cat(NamedLinop(*f.first), " and its inverse around a weight: one filter"));
  record::filter(r, x, r.constant(w), y, axes, f.first->backward ? 1 : -1, scale);
}

// The operators again, with what the sizes of an input of this shape allow to simplify.
Operators sized(Recorder& r, const Operators& operators, const Shape& input) {
  Operators ops = operators;
  DimSizes sizes;
  std::unordered_set<std::uint32_t> known;
  Shape s = input;
  auto learn = [&](const Dims& names) {
    const Binding b = bind_dims("Chain", names, s);
    for (i64 i = 0; i < b.dims.size(); ++i)
      if (!b.dims[i].is_wildcard() && known.insert(b.dims[i].id()).second)
        sizes.emplace_back(b.dims[i], b.sizes[i]);
  };
  for (const NamedLinop& a : operators) {
    learn(a.ishape());
    s = a.output_shape(s);
    learn(a.oshape());
  }
  std::vector<std::string> notes;
  simplify_sized(ops, sizes, notes);
  for (std::string& n : notes) r.note(std::move(n));
  return ops;
}

// Where weights are merged: beside those of the operators, which may be fetched from elsewhere.
Device beside_weights(const Operators& operators, Device device) {
  for (const NamedLinop& a : operators)
    if (a.output_device(device) != device) return device;
  for (const NamedLinop& a : operators)
    if (const std::optional<Device> d = a.device()) return *d;
  return device;
}

}  // namespace

Operators lowered(const Operators& operators, const Shape& input, DType dtype, Device device) {
  if (!config().rewrite || !config().rewrite_phases) return operators;
  DType widest = dtype;
  for (const NamedLinop& a : operators) widest = promote(widest, a.output_dtype(widest));
  Phases phases(complex_of(widest));
  Operators ops;
  Shape s = input;
  device = beside_weights(operators, device);
  for (const NamedLinop& a : operators) {
    expand(a, s, device, phases, ops);
    s = a.output_shape(s);
    device = a.output_device(device);
  }
  // Pairs before the last change are as they were.
  for (std::size_t i = 0; (i = merge_step(ops, i)) < ops.size();) i -= i > 0 ? 1 : 0;
  return ops;
}

bool waits_inside(const Recorder& r, const NamedLinop& a) {
  if (!a.listens()) return false;
  if (a.waits_apart(r)) return true;
  const Operators parts = a.parts();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const NamedLinop& part) { return waits_inside(r, part); });
}

View resident_for(Recorder& r, const NamedLinop& next, const View& v, Device device) {
  std::optional<Recorder::Residence> streams;
  if (next.as<Fetched>()) streams.emplace(r, device, Recorder::Constants::fetched);
  return r.resident(v, device);
}

void record_parts(Recorder& r, const Operators& operators, const View& x, const View& y,
                  bool adds) {
  Operators ops = sized(r, operators, x.shape());
  const bool alone =
      std::any_of(ops.begin(), ops.end(), [&](const NamedLinop& a) { return waits_inside(r, a); });
  if (!alone) ops = lowered(ops, x.shape(), x.dtype, r.device(x));
  View from = x;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    // A transfer with a listener is one of its own: others were sent at other times.
    if (const ToDevice* move = ops[i].as<ToDevice>();
        move && i + 1 < ops.size() && !ops[i].waits_apart(r)) {
      const Recorder::Scope scope(r, ops[i].str(), from, from);
      require<DeviceError>(r.device(from) == move->idevice(), ops[i], " takes arrays on ",
                           move->idevice(), ", the input is on ", r.device(from));
      const Recorder::Route route = move->route(r);
      from = resident_for(r, ops[i + 1], from, move->odevice());
      continue;
    }
    const std::optional<Filter> filter = alone ? std::nullopt : filter_at(ops, i, r.device(from));
    const bool pruned = !alone && !filter && i + 1 < ops.size() && can_prune(ops[i], ops[i + 1]);
    const std::size_t last = filter ? i + 2 : pruned ? i + 1 : i;
    const bool ends = last + 1 == ops.size();
    if (ends && adds && !filter && !pruned) return ops[i].record_add(r, from, y);
    View to = y;
    if (!ends || adds) {
      Shape shape = from.shape();
      DType dtype = from.dtype;
      Device device = r.device(from);
      for (std::size_t k = i; k <= last; ++k) {
        shape = ops[k].output_shape(shape);
        dtype = ops[k].output_dtype(dtype);
        device = ops[k].output_device(device);
      }
      to = r.temporary(shape, dtype, device);
    }
    if (filter)
      record_filter(r, *filter, from, to);
    else if (pruned)
      record_pruned(r, ops[i], ops[i + 1], from, to);
    else
      ops[i].record(r, from, to);
    if (ends && adds) record::add(r, y, to, y);
    from = to;
    i = last;
  }
}

}  // namespace tessera
