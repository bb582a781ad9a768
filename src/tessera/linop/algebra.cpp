// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/algebra.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/linop/ops/fft.hpp"
#include "tessera/linop/ops/identity.hpp"
#include "tessera/linop/ops/scalar.hpp"

namespace tessera {
namespace {

std::optional<i64> common_size(std::string_view who, const std::vector<NamedLinop>& operators,
                               NamedDimension d) {
  std::optional<i64> known;
  for (const NamedLinop& a : operators) {
    const std::optional<i64> n = a.size(d);
    require<DimError>(!n || !known || *n == *known, who, ": dim '", d, "' is ", known.value_or(0),
                      " in one part and ", n.value_or(0), " in ", a);
    if (n) known = n;
  }
  return known;
}

std::optional<Device> common_device_of(const std::vector<NamedLinop>& operators) {
  std::optional<Device> d;
  for (const NamedLinop& a : operators)
    if (!d) d = a.device();
  return d;
}

std::vector<NamedLinop> moved(const std::vector<NamedLinop>& operators, Device d) {
  std::vector<NamedLinop> all;
  for (const NamedLinop& a : operators) all.push_back(a.to(d));
  return all;
}

// The output names of a map whose input has names `in`: "..." and "()" carry over what they
// matched.
Dims image(const NamedShape& s, const Dims& in) {
  const Match m = isequal(s.ishape, in);
  Dims out;
  for (NamedDimension d : s.oshape) {
    const auto* at = std::find(s.ishape.begin(), s.ishape.end(), d);
    if (!d.is_wildcard() || at == s.ishape.end() || !m) {
      out.push_back(d);
      continue;
    }
    for (i64 j : m.map[static_cast<std::size_t>(at - s.ishape.begin())]) out.push_back(in[j]);
  }
  return out;
}

Dims flow_through(const std::vector<NamedLinop>& ops, Dims names) {
  for (const NamedLinop& a : ops) names = image(a.shape(), names);
  return names;
}

bool is_identity(const NamedLinop& a) {
  const Identity* i = a.as<Identity>();
  return i && i->names.ishape == i->names.oshape;
}

bool cancels(const NamedLinop& first, const NamedLinop& second) {
  const FFT *f = first.as<FFT>(), *g = second.as<FFT>();
  return f && g && f->norm == Norm::ortho && g->norm == Norm::ortho && f->ndim == g->ndim &&
         f->centered == g->centered && f->backward != g->backward;
}

// One pass of local simplifications over the sequence; true when something changed.
bool simplify(std::vector<NamedLinop>& ops, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops.size() > 1 && is_identity(ops[i])) {
      notes.push_back(cat(ops[i], " dropped: it changes nothing"));
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    if (i + 1 == ops.size()) break;
    const Scalar *a = ops[i].as<Scalar>(), *b = ops[i + 1].as<Scalar>();
    if (a && b) {
      const c128 w = a->weight.as<c128>() * b->weight.as<c128>();
      notes.push_back(cat("scalars ", a->weight, " and ", b->weight, " merged"));
      const bool real =
          a->weight.kind() != Value::Kind::complex && b->weight.kind() != Value::Kind::complex;
      ops[i] = Scalar(real ? Value(w.re) : Value(w),
                      resolve_wildcards(a->names.ishape, b->names.ishape));
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return true;
    }
    if (cancels(ops[i], ops[i + 1])) {
      notes.push_back(cat(ops[i], " and its adjoint cancel"));
      ops[i] = Identity(ops[i].ishape(), ops[i + 1].oshape());
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return true;
    }
  }
  return false;
}

// Note [dead names]: a name that an inner part does not carry means something else when it comes
// back; the output gets the next free name, so that a name on both sides always means point by
// point.
Dims fresh_output(const std::vector<NamedLinop>& ops, const Dims& in, const Dims& out) {
  Dims flow = in, alive = in;
  for (const NamedLinop& a : ops) {
    flow = image(a.shape(), flow);
    Dims next;
    for (NamedDimension d : alive)
      if (contains(flow, d)) next.push_back(d);
    alive = next;
  }
  Dims result, taken = in;
  taken.append(out);
  for (NamedDimension d : out) {
    const bool reborn = !d.is_wildcard() && contains(in, d) && !contains(alive, d);
    result.push_back(reborn ? d.next_unused(taken) : d);
    if (reborn) taken.push_back(result.back());
  }
  return result;
}

}  // namespace

NamedLinop chain(std::vector<NamedLinop> operators) {
  require<DimError>(!operators.empty(), "Chain: no operators given");
  std::vector<NamedLinop> ops;
  std::vector<std::string> notes;
  for (const NamedLinop& a : operators) {
    // A chain whose output was renamed would not fit its neighbour's names: it stays whole.
    if (const Chain* c = a.as<Chain>(); c && isequal(c->operators.front().ishape(), c->in) &&
                                        flow_through(c->operators, c->in) == c->out) {
      ops.insert(ops.end(), c->operators.begin(), c->operators.end());
      notes.insert(notes.end(), c->notes.begin(), c->notes.end());
      continue;
    }
    ops.push_back(a);
  }
  Dims in = ops.front().ishape();
  if (has_ellipses(in) && ops.front().ishape() == ops.front().oshape() && ops.size() > 1)
    in = resolve_wildcards(in, ops[1].ishape());
  Dims flow = in;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    require<DimError>(isequal(ops[i].ishape(), flow).matched, "Chain: Mismatched shape: ", ops[i],
                      " expects ", to_text(ops[i].ishape()), ", got ", to_text(flow),
                      i ? cat(" from ", ops[i - 1]) : std::string());
    flow = image(ops[i].shape(), flow);
  }
  const Dims out = fresh_output(ops, in, flow);
  if (config().rewrite)
    while (simplify(ops, notes)) {
    }
  if (ops.size() == 1) {
    const NamedShape own = ops.front().shape();
    if (own.ishape == in && own.oshape == out) return ops.front();
    if (const Identity* i = ops.front().as<Identity>(); i && out == i->names.oshape)
      return Identity(in, out);
    return Relabel{ops.front(), NamedShape(in, out)};
  }
  Chain c{std::move(ops), in, out, std::move(notes)};
  for (NamedDimension d : c.shape().ishape)
    if (!d.is_wildcard()) (void)common_size("Chain", c.operators, d);
  return c;
}

std::optional<i64> Chain::size(NamedDimension d) const {
  if (const std::optional<i64> n = common_size("Chain", operators, d)) return n;
  // A renamed output dim keeps the size it has in the last part.
  const Dims& last = operators.back().oshape();
  for (i64 i = 0; i < out.size() && out.size() == last.size(); ++i)
    if (out[i] == d) return operators.back().size(last[i]);
  return std::nullopt;
}
std::optional<Device> Chain::device() const { return common_device_of(operators); }

Shape Chain::output_shape(const Shape& input) const {
  Shape s = input;
  for (const NamedLinop& a : operators) s = a.output_shape(s);
  return s;
}

DType Chain::output_dtype(DType t) const {
  for (const NamedLinop& a : operators) t = a.output_dtype(t);
  return t;
}

void Chain::apply(Recorder& r, const View& x, const View& y) const {
  for (const std::string& n : notes) r.note(n);
  View from = x;
  for (std::size_t i = 0; i + 1 < operators.size(); ++i) {
    const NamedLinop& a = operators[i];
    const View to =
        r.temporary(a.output_shape(from.shape()), a.output_dtype(from.dtype), r.device(x));
    a.record(r, from, to);
    from = to;
  }
  operators.back().record(r, from, y);
}

NamedLinop Chain::adjoint() const {
  Chain h{{}, out, in, {}};
  for (auto it = operators.rbegin(); it != operators.rend(); ++it) h.operators.push_back(it->H());
  return h;
}

NamedLinop Chain::normal() const {
  // Folded from the inside: what the inner part leaves decides what the outer part meets.
  std::vector<NamedLinop> folded;
  for (auto it = operators.rbegin(); it != operators.rend(); ++it) {
    if (folded.empty()) {
      const std::optional<NamedLinop> own = it->own_normal();
      if (own && is_identity(*own)) continue;
      if (own && own->ishape() == own->oshape()) {
        folded.push_back(*own);
        continue;
      }
    }
    folded.insert(folded.begin(), *it);
    folded.push_back(it->H());
  }
  if (folded.empty()) return Identity(in);
  const NamedLinop n = chain(std::move(folded));
  return n.ishape() == in
             ? n
             : NamedLinop(Relabel{n, NamedShape(in, n.oshape() == n.ishape() ? in : n.oshape())});
}

NamedLinop Chain::to(Device d) const { return Chain{moved(operators, d), in, out, notes}; }

NamedLinop sum(std::vector<NamedLinop> operators) {
  require<DimError>(!operators.empty(), "Add: no operators given");
  if (operators.size() == 1) return operators.front();
  Add add;
  for (const NamedLinop& a : operators) {
    if (const Add* inner = a.as<Add>())
      add.operators.insert(add.operators.end(), inner->operators.begin(), inner->operators.end());
    else
      add.operators.push_back(a);
  }
  for (const NamedLinop& a : add.operators)
    require<DimError>(a.shape() == add.operators.front().shape(), "Add: ", a, " does not fit ",
                      add.operators.front());
  return add;
}

NamedShape Add::shape() const {
  NamedShape s = operators.front().shape();
  for (const NamedLinop& a : operators)
    s = NamedShape(resolve_wildcards(s.ishape, a.ishape()),
                   resolve_wildcards(s.oshape, a.oshape()));
  return s;
}

std::optional<i64> Add::size(NamedDimension d) const { return common_size("Add", operators, d); }
std::optional<Device> Add::device() const { return common_device_of(operators); }

Shape Add::output_shape(const Shape& input) const {
  const Shape s = operators.front().output_shape(input);
  for (const NamedLinop& a : operators)
    require<ShapeError>(a.output_shape(input) == s, "Add: ", operators.front(), " gives shape ", s,
                        ", ", a, " gives ", a.output_shape(input));
  return s;
}

DType Add::output_dtype(DType t) const {
  DType out = operators.front().output_dtype(t);
  for (const NamedLinop& a : operators) out = promote(out, a.output_dtype(t));
  return out;
}

void Add::apply(Recorder& r, const View& x, const View& y) const {
  operators.front().record(r, x, y);
  for (std::size_t i = 1; i < operators.size(); ++i) {
    const View t = r.temporary(y.shape(), y.dtype, r.device(y));
    operators[i].record(r, x, t);
    record::add(r, y, t, y);
  }
}

NamedLinop Add::adjoint() const {
  Add h;
  for (const NamedLinop& a : operators) h.operators.push_back(a.H());
  return h;
}

NamedLinop Add::to(Device d) const { return Add{moved(operators, d)}; }

std::optional<i64> Relabel::size(NamedDimension d) const {
  const NamedShape old = a.shape();
  auto look = [&](const Dims& fresh, const Dims& was) -> std::optional<i64> {
    if (fresh.size() != was.size()) return std::nullopt;
    for (i64 i = 0; i < fresh.size(); ++i)
      if (fresh[i] == d) return a.size(was[i]);
    return std::nullopt;
  };
  const std::optional<i64> n = look(names.ishape, old.ishape);
  return n ? n : look(names.oshape, old.oshape);
}

}  // namespace tessera
