// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/chain.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/common.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/rewrite/lower.hpp"
#include "tessera/linop/rewrite/rewrite.hpp"

namespace tessera {
namespace {

// One dim on its way through the chain: what the parts call it, and which dim it is.
struct Flowing {
  NamedDimension name;
  int dim;
};
using Flow = std::vector<Flowing>;

Dims names_of(const Flow& flow) {
  Dims d;
  for (const Flowing& f : flow) d.push_back(f.name);
  return d;
}

// Follows every dim through the parts, as a compiler follows values: `dims[k]` is the name that dim
// k was born with, `seen[i]` says which dims part i means by its names.
class Naming {
 public:
  explicit Naming(const Dims& in) {
    for (NamedDimension d : in) flow_.push_back({d, born(d)});
    inputs_ = flow_;
  }

  void through(const NamedLinop& a, const NamedLinop* before) {
    const NamedShape s = a.shape();
    const Match m = isequal(s.ishape, names_of(flow_));
    require<DimError>(m.matched, "Chain: Mismatched shape: ", a, " expects ", to_text(s.ishape),
                      ", got ", to_text(names_of(flow_)), before ? cat(" from ", *before) : "");
    std::vector<std::pair<NamedDimension, int>> mine;
    std::vector<Flow> carried(static_cast<std::size_t>(s.ishape.size()));
    for (i64 i = 0; i < s.ishape.size(); ++i) {
      Flow& c = carried[static_cast<std::size_t>(i)];
      for (i64 j : m.map[static_cast<std::size_t>(i)])
        c.push_back(flow_[static_cast<std::size_t>(j)]);
      if (s.ishape[i].is_wildcard()) continue;
      // Where the flow is still open, the part's name settles it.
      if (c.size() != 1 || c[0].name.is_wildcard()) c = {{s.ishape[i], born(s.ishape[i])}};
      mine.emplace_back(s.ishape[i], c[0].dim);
    }
    Flow next;
    for (NamedDimension d : s.oshape) {
      const auto* at = std::find(s.ishape.begin(), s.ishape.end(), d);
      if (at != s.ishape.end()) {
        const Flow& c = carried[static_cast<std::size_t>(at - s.ishape.begin())];
        next.insert(next.end(), c.begin(), c.end());
        continue;
      }
      next.push_back({d, born(d)});
      if (!d.is_wildcard()) mine.emplace_back(d, next.back().dim);
    }
    for (std::size_t i = 0; i < next.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        require<DimError>(next[i].name.is_wildcard() || !(next[i].name == next[j].name),
                          "Chain: ", a, " on ", to_text(names_of(flow_)),
                          ": two dims of its output would be called '", next[i].name,
                          "'; rename one of them");
    before_.push_back(std::move(flow_));
    flow_ = std::move(next);
    seen_.push_back(std::move(mine));
  }

  // Inputs keep their names, then outputs choose, then what is inside.
  void settle() {
    final_.assign(dims_.size(), std::nullopt);
    std::unordered_set<std::uint32_t> taken, used;  // ids
    std::unordered_map<std::uint32_t, NamedDimension>
        next;  // where the search for a free one goes on
    for (NamedDimension d : dims_)
      if (!d.is_wildcard()) taken.insert(d.id());
    auto choose = [&](int k) {
      auto& name = final_[static_cast<std::size_t>(k)];
      const NamedDimension own = dims_[static_cast<std::size_t>(k)];
      if (name || own.is_wildcard()) return;
      name = own;
      if (used.contains(own.id())) {
        NamedDimension& free = next.emplace(own.id(), own).first->second;
        while (taken.contains(free.id())) free = free + 1;
        name = free;
        taken.insert(free.id());
      }
      used.insert(name->id());
    };
    for (const Flowing& f : inputs_) choose(f.dim);
    for (const Flowing& f : flow_) choose(f.dim);
    for (std::size_t k = 0; k < dims_.size(); ++k) choose(static_cast<int>(k));
  }

  Renames renames_of(std::size_t part) const {
    Renames r;
    for (const auto& [name, k] : seen_[part])
      r.emplace_back(name, *final_[static_cast<std::size_t>(k)]);
    return r;
  }
  Dims input_of(std::size_t part) const { return settled(before_[part]); }
  Dims output() const { return settled(flow_); }

 private:
  Dims settled(const Flow& flow) const {
    Dims d;
    for (const Flowing& f : flow)
      d.push_back(f.name.is_wildcard() ? f.name : *final_[static_cast<std::size_t>(f.dim)]);
    return d;
  }
  int born(NamedDimension d) {
    dims_.push_back(d);
    return static_cast<int>(dims_.size()) - 1;
  }
  std::vector<NamedDimension> dims_;
  std::vector<std::optional<NamedDimension>> final_;
  std::vector<std::vector<std::pair<NamedDimension, int>>> seen_;
  Flow flow_, inputs_;
  std::vector<Flow> before_;  // what reaches each part
};

// A weight under "..." learns which dims it is aligned to, so that it can be split along them.
NamedLinop settled_weight(const NamedLinop& a, const Dims& reaching) {
  if (!a.offers().weight_shape() || !has_ellipses(a.ishape())) return a;
  for (NamedDimension n : reaching)
    if (n.is_wildcard()) return a;
  return a.offers().settled(NamedShape(reaching)).value_or(a);
}

// Dims inside a part that is not a chain give way to dims of the chain, and to those inside of
// others: within a chain a name means one dim.
void make_inner_names_distinct(std::vector<NamedLinop>& ops) {
  Dims taken;
  for (const NamedLinop& a : ops)
    for (NamedDimension d : dims_of(a.shape()))
      if (!contains(taken, d)) taken.push_back(d);
  for (NamedLinop& a : ops) {
    const Dims outer = dims_of(a.shape());
    Renames apart;
    for (NamedDimension d : a.dims()) {
      if (d.is_wildcard() || contains(outer, d)) continue;
      const NamedDimension own = contains(taken, d) ? d.next_unused(taken) : d;
      if (!(own == d)) apart.emplace_back(d, own);
      taken.push_back(own);
    }
    if (!apart.empty()) a = a.rename(apart);
  }
}

// The input's names: an open first part takes what its neighbours expect.
Dims input_names(const std::vector<NamedLinop>& ops) {
  Dims in = ops.front().ishape();
  for (std::size_t i = 0; i + 1 < ops.size() && has_ellipses(in); ++i) {
    if (!(ops[i].ishape() == ops[i].oshape())) break;
    in = resolve_wildcards(in, ops[i + 1].ishape());
  }
  return in;
}

Naming follow(const Dims& in, const std::vector<NamedLinop>& ops) {
  Naming names(in);
  for (std::size_t i = 0; i < ops.size(); ++i) names.through(ops[i], i ? &ops[i - 1] : nullptr);
  return names;
}

// Goes with a dim through the parts, to the end or (not forward) to the start, under the names of
// dims that are as long; `seen(part, name)` ends it by true. The name at the end; nothing where a
// part does not keep the size.
template <class Seen>
std::optional<NamedDimension> followed(const std::vector<NamedLinop>& ops, NamedDimension d,
                                       bool forward, Seen&& seen) {
  bool met = false;
  for (std::size_t k = 0; k < ops.size(); ++k) {
    const NamedLinop& a = ops[forward ? k : ops.size() - 1 - k];
    const NamedShape s = forward ? a.shape() : a.shape().H();
    if (!contains(s.ishape, d)) {
      if (met && !has_ellipses(s.ishape)) return std::nullopt;
      met = met || contains(s.oshape, d);
      continue;
    }
    met = true;
    if (seen(a, d)) return d;
    if (contains(s.oshape, d)) continue;
    const std::optional<NamedDimension> other = a.same_size(d);
    if (!other) return std::nullopt;
    d = *other;
    if (seen(a, d)) return d;
  }
  return met ? std::optional(d) : std::nullopt;
}

// Chains inside are replaced by their parts; the notes of what was replaced are kept.
std::vector<NamedLinop> flattened(std::vector<NamedLinop>&& operators,
                                  std::vector<std::string>& notes) {
  std::vector<NamedLinop> ops;
  for (NamedLinop& a : operators) {
    const Chain* c = a.as<Chain>();
    if (!c) {
      ops.push_back(std::move(a));
      continue;
    }
    ops.insert(ops.end(), c->operators.begin(), c->operators.end());
    notes.insert(notes.end(), a.notes().begin(), a.notes().end());
  }
  return ops;
}

}  // namespace

NamedLinop chain(std::vector<NamedLinop> operators) {
  require<DimError>(!operators.empty(), "Chain: no operators given");
  for (std::size_t i = 1; i < operators.size(); ++i)
    require<DTypeError>(
        !takes_real(operators[i]) || !is_complex(operators[i - 1].output_dtype(DType::f64)),
        "Chain: ", operators[i], " takes real numbers, ", operators[i - 1], " gives complex ones");
  std::vector<std::string> notes;
  std::vector<NamedLinop> ops = flattened(std::move(operators), notes);
  for (const NamedLinop& a : ops) notes.insert(notes.end(), a.notes().begin(), a.notes().end());
  (void)follow(input_names(ops),
               ops);  // names are checked on what was written, not on what is left of it
  const Dims written = input_names(ops);
  simplify(ops, notes);
  // What a rule put in may be a chain itself.
  while (std::any_of(ops.begin(), ops.end(), [](const NamedLinop& a) { return a.as<Chain>(); })) {
    ops = flattened(std::move(ops), notes);
    simplify(ops, notes);
  }
  const Dims in = resolve_wildcards(written, input_names(ops));
  Naming names = follow(in, ops);
  names.settle();
  for (std::size_t i = 0; i < ops.size(); ++i)
    ops[i] = settled_weight(ops[i].rename(names.renames_of(i)), names.input_of(i));
  const Dims out = names.output();
  make_inner_names_distinct(ops);
  if (config().shape_inference)
    for (std::size_t i = 0; i < ops.size(); ++i)
      ops[i] =
          settled(ops[i], {names.input_of(i), i + 1 < ops.size() ? names.input_of(i + 1) : out});
  if (ops.size() == 1) {
    const NamedShape own = ops.front().shape();
    if (own.ishape == in && own.oshape == out) return ops.front().noted(std::move(notes));
    if (ops.front().offers().changes_nothing())
      return NamedLinop(Identity(in, out)).noted(std::move(notes));
    return NamedLinop(Relabel{ops.front(), NamedShape(in, out)}).noted(std::move(notes));
  }
  // Notes are the whole's: they are said once.
  for (NamedLinop& a : ops) a = a.noted({});
  (void)CommonSizes("Chain", ops);
  return NamedLinop(Chain{std::move(ops), in, out}).noted(std::move(notes));
}

Dims Chain::dims() const {
  Dims all = dims_of(shape());
  std::unordered_set<std::uint32_t> known;
  for (NamedDimension d : all) known.insert(d.id());
  for (const NamedLinop& a : operators)
    for (NamedDimension d : a.dims())
      if (!d.is_wildcard() && known.insert(d.id()).second) all.push_back(d);
  return all;
}

std::optional<i64> Chain::size(NamedDimension d) const {
  // A wildcard is each part's own: parts that use the same one need not mean the same dim.
  if (d.is_wildcard())
    return contains(in, d)    ? operators.front().size(d)
           : contains(out, d) ? operators.back().size(d)
                              : std::nullopt;
  // What no part says of d, it may say of a dim that is as long.
  std::optional<i64> n = common_size("Chain", operators, d);
  for (const bool forward : {true, false})
    (void)followed(operators, d, forward, [&](const NamedLinop& a, NamedDimension as_long) {
      if (!n) n = a.size(as_long);
      return n.has_value();
    });
  return n;
}

std::optional<NamedDimension> Chain::same_size(NamedDimension d) const {
  if (d.is_wildcard() || (contains(in, d) && contains(out, d))) return std::nullopt;
  const bool forward = contains(in, d);
  const auto end =
      followed(operators, d, forward, [](const NamedLinop&, NamedDimension) { return false; });
  return end && contains(forward ? out : in, *end) ? end : std::nullopt;
}
std::optional<Device> Chain::device() const { return common_device_of(operators); }
bool Chain::is_real_linear() const { return any_real_linear(operators); }

Shape Chain::output_shape(const Shape& input) const {
  Shape s = input;
  for (const NamedLinop& a : operators) s = a.output_shape(s);
  return s;
}

DType Chain::output_dtype(DType t) const {
  for (const NamedLinop& a : operators) t = a.output_dtype(t);
  return t;
}

Device Chain::output_device(Device d) const {
  for (const NamedLinop& a : operators) d = a.output_device(d);
  return d;
}

void Chain::apply(Recorder& r, const View& x, const View& y) const {
  record_parts(r, operators, x, y, false);
}

bool Chain::apply_add(Recorder& r, const View& x, const View& y) const {
  record_parts(r, operators, x, y, true);
  return true;
}

NamedLinop Chain::adjoint() const {
  // A sum, or a zero, learns from its neighbours how long the dims are that its adjoint gives.
  std::vector<NamedLinop> parts = operators;
  const CommonSizes told("Chain", operators);
  const auto known_size = [&](NamedDimension d) {
    const auto n = told(d);
    return n ? n : size(d);  // passed on by parts that keep it
  };
  for (NamedLinop& a : parts)
    if (const auto known = a.offers().informed(known_size)) a = *known;
  Chain h{adjoints(parts), out, in};
  std::reverse(h.operators.begin(), h.operators.end());
  return h;
}

Chain Chain::renamed(const Renames& r) const {
  return {renamed_all(operators, r), rename(in, r), rename(out, r)};
}

std::optional<NamedLinop> Chain::opened() const {
  std::vector<NamedLinop> parts;
  for (const NamedLinop& a : operators) {
    const Dims names = a.ishape();
    const bool open = !names.empty() && names[0].is_ellipses();
    const auto many = open ? std::optional(a) : a.offers().opened();
    if (!many) return std::nullopt;
    parts.push_back(*many);
  }
  return chain(std::move(parts));
}

NamedLinop Chain::split(const Tile& tile) const {
  for (const Cut& c : tile.cuts)
    require<SplitError>(!c.dim.is_wildcard(), "Chain ", shape().str(), " cannot be cut along dim '",
                        c.dim, "': it has no name that all parts share");
  Chain part{{}, in, out};
  for (const NamedLinop& a : operators) part.operators.push_back(a.split(tile.only(a.dims())));
  return part;
}

}  // namespace tessera
