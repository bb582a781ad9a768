// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/rewrite.hpp"

#include <algorithm>
#include <span>

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/common.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/rewrite/normal_names.hpp"

namespace tessera {
namespace {

using Few = std::span<const NamedLinop>;
using Answer = std::optional<Rewritten>;

// The sizes that are known: those of the input, and what the parts of the chain say.
struct Sizes {
  const DimSizes& given;
  const std::vector<NamedLinop>& operators;
  std::optional<i64> of(NamedDimension d) const {
    if (d.is_wildcard()) return std::nullopt;
    const std::optional<i64> n = size_in(given, d);
    return n ? n : common_size("Chain", operators, d);
  }
};

// The names by which the chain went on, to those by which it goes on now, axis by axis.
Renames from_to(const Dims& was, const Dims& is) {
  Renames r;
  if (was.size() == is.size())
    for (i64 i = 0; i < was.size(); ++i) r.emplace_back(was[i], is[i]);
  return r;
}

Answer drop_identity(Few f, const Sizes&) {
  if (!f[0].offers().changes_nothing() || !(f[0].ishape() == f[0].oshape())) return {};
  return Rewritten{{}, {}, cat(f[0], " dropped: it changes nothing")};
}

// `c` multiplies before or after `a`, which does so itself from now on.
Answer fold(const NamedLinop& a, const NamedLinop& number, const Value& c, std::string why) {
  if (c.kind() == Value::Kind::complex && a.real_linear()) return {};
  const std::optional<NamedLinop> both = a.offers().scaled(c);
  if (!both) return {};
  return Rewritten{{settled(*both, number.shape())}, {}, std::move(why)};
}

Answer merge_scalars(Few f, const Sizes&) {
  const std::optional<Value> a = f[0].offers().factor(), b = f[1].offers().factor();
  if (!a || !b) return {};
  return fold(f[0], f[1], *b, cat("scalars ", *a, " and ", *b, " merged"));
}

Answer merge_neighbours(Few f, const Sizes&) {
  const std::optional<Value> a = f[0].offers().factor(), b = f[1].offers().factor();
  if (a && b) return {};
  if (a) return fold(f[1], f[0], *a, cat("scalar ", *a, " folded into ", f[1]));
  if (b) return fold(f[0], f[1], *b, cat("scalar ", *b, " folded into ", f[0]));
  const std::optional<NamedLinop> both = f[0].offers().merged_with(f[1]);
  if (!both) return {};
  return Rewritten{{*both}, {}, cat(f[0], " and ", f[1], " merged: one multiplication")};
}

Answer cancel_pair(Few f, const Sizes&) {
  if (!f[1].is_adjoint_of(f[0]) || !f[0].isometry()) return {};
  return Rewritten{{Identity(f[0].ishape())},
                   from_to(f[1].oshape(), f[0].ishape()),
                   cat(f[0], " and its adjoint cancel")};
}

Answer closed_normal(Few f, const Sizes&) {
  if (!f[1].is_adjoint_of(f[0])) return {};
  const std::optional<NamedLinop> stated = f[0].own_normal();
  if (!stated) return {};
  const NamedLinop own = under_normal_names(f[0], *stated, true);
  return Rewritten{
      {own}, from_to(f[1].oshape(), own.oshape()), cat(f[0], " and its adjoint became ", own)};
}

// A real factor between an operator and its adjoint commutes with both: it leaves them, and they
// are as one that is not scaled.
Answer around_scalar(Few f, const Sizes& sizes, decltype(cancel_pair)* pair) {
  const std::optional<Value> c = f[1].offers().factor();
  if (!c || c->kind() == Value::Kind::complex) return {};
  const NamedLinop both[] = {f[0], f[2]};
  Answer a = pair(Few(both), sizes);
  if (a) a->operators.insert(a->operators.begin(), Scalar(*c, f[0].ishape()));
  return a;
}
Answer cancel_around_scalar(Few f, const Sizes& sizes) {
  return around_scalar(f, sizes, cancel_pair);
}
Answer close_around_scalar(Few f, const Sizes& sizes) {
  return around_scalar(f, sizes, closed_normal);
}

Answer closed_weighted_normal(Few f, const Sizes&) {
  if (!f[2].is_adjoint_of(f[0])) return {};
  const std::optional<NamedLinop> own = f[0].own_normal(f[1]);
  if (!own) return {};
  return Rewritten{{*own},
                   from_to(f[2].oshape(), own->oshape()),
                   cat(f[0], ", ", f[1], " and the adjoint became ", *own)};
}

// The same with a real factor before or after what is inside: it leaves them, as above.
Answer close_weighted_around_scalar(Few f, const Sizes& sizes) {
  for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
    const std::optional<Value> c = f[at].offers().factor();
    if (!c || c->kind() == Value::Kind::complex) continue;
    const NamedLinop rest[] = {f[0], f[3 - at], f[3]};
    Answer a = closed_weighted_normal(Few(rest), sizes);
    if (a) a->operators.insert(a->operators.begin(), Scalar(*c, f[0].ishape()));
    return a;
  }
  return {};
}

// A, then W that sums over dims, and both adjoints: where A's normal takes matrices inside, W.H W is
// one, also with a weight in the middle.
Answer close_around_sums(Few f, const Sizes&) {
  const std::size_t last = f.size() - 1;
  if (!f[0].offers().normal_takes_matrices() || !f[last].is_adjoint_of(f[0])) return {};
  if (!f[last - 1].is_adjoint_of(f[1])) return {};
  const std::optional<NamedLinop> inner = f[1].offers().gram(last == 4 ? &f[2] : nullptr);
  const std::optional<NamedLinop> own = inner ? f[0].own_normal(*inner) : std::nullopt;
  if (!own) return {};
  return Rewritten{{*own},
                   from_to(f[last].oshape(), own->oshape()),
                   cat(f[0], ", ", f[1], " and their adjoints became ", *own)};
}

// F.H F of a transform with another norm than ortho is a number that depends on the grid's size.
std::optional<double> gain_of(const NamedLinop& a, const Sizes& sizes) {
  return a.offers().gain([&](NamedDimension d) { return sizes.of(d); });
}

Answer scale_of_pair(Few f, const Sizes& sizes) {
  if (!f[1].is_adjoint_of(f[0])) return {};
  const std::optional<double> gain = gain_of(f[0], sizes);
  if (!gain) return {};
  return Rewritten{{Scalar(Value(*gain), f[0].ishape())},
                   from_to(f[1].oshape(), f[0].ishape()),
                   cat(f[0], " and its adjoint are the factor ", *gain)};
}

// Note [idle axes]: F = F_x F_y, and what stands between F and F.H does not vary along y: F_y
// passes it and meets its adjoint. Along y the result acts point by point, so the name stays.
Answer skip_idle_axes(Few f, const Sizes& sizes) {
  if (!f[2].is_adjoint_of(f[0])) return {};
  const Shape axes = f[0].offers().separable_axes();
  Shape idle;
  for (i64 axis : axes)
    if (f[1].offers().ignores_axis(axis)) idle.push_back(axis);
  if (idle.empty()) return {};
  const Dims in = f[0].ishape(), out = f[0].oshape(), last = f[2].oshape();
  Dims idle_names;
  Renames inside, downstream;
  for (i64 axis : idle) {
    idle_names.push_back(out[out.size() - axis]);
    inside.emplace_back(out[out.size() - axis], in[in.size() - axis]);
    downstream.emplace_back(last[last.size() - axis], in[in.size() - axis]);
  }
  const NamedLinop inner = f[1].rename(inside);
  if (idle.size() == axes.size()) {
    const std::optional<double> gain = gain_of(f[0], sizes);
    if (!gain) return {};
    Rewritten all{{inner}, downstream, cat(f[0], " and its adjoint cancel around ", f[1])};
    if (*gain != 1) all.operators.push_back(Scalar(Value(*gain), inner.oshape()));
    return all;
  }
  const std::optional<NamedLinop> rest = f[0].offers().without_axes(idle);
  if (!rest) return {};
  const NamedLinop& first = *rest;
  Renames names = from_to(first.oshape(), rename(f[2].ishape(), inside));
  for (const auto& r : from_to(first.ishape(), rename(f[2].oshape(), downstream)))
    names.push_back(r);
  return Rewritten{{first, inner, first.H().rename(names)},
                   downstream,
                   cat(f[0], ": ", f[1], " does not vary along ", to_text(idle_names),
                       ", where the transforms cancel")};
}

struct Rule {
  Setting<bool> Config::*on;
  std::size_t width;  // how many neighbours it looks at
  Answer (*apply)(Few, const Sizes&);
  bool sized = false;  // may find more once the sizes are known
  // Takes what it made again, and holds all that went in: pairs first, then pairs of pairs.
  bool grows = false;
};
constexpr Rule rules[] = {
    {&Config::rewrite_identities, 1, drop_identity},
    {&Config::rewrite_isometries, 2, cancel_pair},
    {&Config::rewrite_normals, 2, closed_normal},
    {&Config::rewrite_normals, 2, scale_of_pair, true},
    {&Config::rewrite_scalars, 2, merge_scalars},
    {&Config::rewrite_diagonals, 2, merge_neighbours, false, true},
    {&Config::rewrite_isometries, 3, cancel_around_scalar},
    {&Config::rewrite_normals, 3, close_around_scalar},
    {&Config::rewrite_normals, 3, closed_weighted_normal},
    {&Config::rewrite_normals, 4, close_weighted_around_scalar},
    {&Config::rewrite_normals, 4, close_around_sums},
    {&Config::rewrite_normals, 5, close_around_sums},
    {&Config::rewrite_axes, 3, skip_idle_axes, true},
};

// Gives the parts from `at` on the names by which the chain goes on, as far as these are carried;
// nothing is done, and false, where a name would meet one that such a part has already.
bool carry_on(std::vector<NamedLinop>& ops, std::size_t at, Renames live) {
  std::erase_if(live, [](const auto& r) { return r.first == r.second; });
  std::vector<NamedLinop> renamed;
  for (std::size_t i = at; i < ops.size() && !live.empty(); ++i) {
    const NamedShape s = ops[i].shape();
    Renames mine, next;
    for (const auto& [from, to] : live) {
      if (contains(s.ishape, from)) mine.emplace_back(from, to);
      // A name ends where a part does not carry it on.
      if (!contains(s.ishape, from) || contains(s.oshape, from)) next.emplace_back(from, to);
    }
    const Dims own = dims_of(s);
    for (const auto& [from, to] : mine)
      if (contains(own, to) && rename({to}, mine)[0] == to) return false;
    renamed.push_back(ops[i].rename(mine));
    live = next;
  }
  std::move(renamed.begin(), renamed.end(), ops.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

// Note [one sweep per rule]: rules are tried in their order, each along the whole chain. What a
// rule changes can only concern the rules before it in the windows that reach the change, so only
// those are looked at again: the work is that of the chain's length, not of its square.
class Simplifier {
 public:
  Simplifier(std::vector<NamedLinop>& ops, std::vector<std::string>& notes, const DimSizes& sizes)
      : ops_(ops), notes_(notes), sizes_{sizes, ops} {}

  // True when something changed.
  bool sweep(bool sized_only) {
    bool any = false;
    for (std::size_t r = 0; r < std::size(rules); ++r) {
      if (sized_only && !rules[r].sized) continue;
      const std::size_t count = sized_only ? std::size(rules) : rules[r].grows ? r : r + 1;
      while (along(r, count)) {
        any = true;
        if (!rules[r].grows) break;
      }
    }
    return any;
  }

  // Real factors that another factor or a diagonal could take are brought to it.
  bool gather_scalars() {
    if (!config().rewrite_scalars) return false;
    bool any = false;
    std::size_t first = 0;
    while (first < ops_.size() && !takes_scalars(ops_[first])) ++first;
    for (std::size_t i = ops_.size(); i-- > first + 1;) {
      if (i >= ops_.size()) continue;  // fewer are left
      const std::optional<Value> c = ops_[i].offers().factor();
      if (!c || c->kind() == Value::Kind::complex || takes_scalars(ops_[i - 1])) continue;
      const Value weight = *c;
      std::size_t to = i;
      for (; to > first + 1 && !takes_scalars(ops_[to - 1]); --to)
        notes_.push_back(cat("scalar ", weight, " moved before ", ops_[to - 1]));
      ops_.erase(at(i));
      ops_.insert(at(to), Scalar(weight, ops_[to].ishape()));
      (void)settle({to, to + 1}, std::size(rules));
      any = true;
    }
    return any;
  }

 private:
  struct Region {
    std::size_t begin, end;  // of parts that were put in; may be empty
  };
  struct Change : Region {
    std::size_t removed;
  };
  static constexpr std::size_t widest = 4;

  // What waits for an event is not merged with what does not; it may vanish.
  static bool may_replace(Few window, const std::vector<NamedLinop>& by) {
    const auto listens = [](const NamedLinop& a) { return a.listens(); };
    const auto idle = [](const NamedLinop& a) { return a.offers().changes_nothing(); };
    return std::none_of(window.begin(), window.end(), listens) ||
           std::all_of(by.begin(), by.end(), idle);
  }
  static bool takes_scalars(const NamedLinop& a) { return a.offers().table().scaled; }
  std::vector<NamedLinop>::iterator at(std::size_t i) {
    return ops_.begin() + static_cast<std::ptrdiff_t>(i);
  }

  // One rule along the chain, with the first `count` again where it changed something.
  bool along(std::size_t r, std::size_t count) {
    bool any = false;
    for (std::size_t i = 0; i + rules[r].width <= ops_.size();) {
      const std::optional<Change> c = apply(r, i);
      const std::size_t again = c ? settle({c->begin, c->end}, count) : i + 1;
      i = rules[r].grows ? i + 1 : again;
      any = any || c;
    }
    return any;
  }

  std::optional<Change> apply(std::size_t r, std::size_t i) {
    const Rule& rule = rules[r];
    if (!(config().*rule.on) || i + rule.width > ops_.size()) return {};
    // Something must be left.
    if (rule.width == ops_.size() && rule.apply == drop_identity) return {};
    const Few window = Few(ops_).subspan(i, rule.width);
    const Answer answer = rule.apply(window, sizes_);
    if (answer && !may_replace(window, answer->operators)) return {};
    if (!answer || !carry_on(ops_, i + rule.width, answer->downstream)) return {};
    notes_.push_back(answer->why);
    ops_.erase(at(i), at(i + rule.width));
    ops_.insert(at(i), answer->operators.begin(), answer->operators.end());
    return Change{{i, i + answer->operators.size()}, rule.width};
  }

  // The first `count` rules again in all windows that reach the region; the place from which the
  // windows of the others are to be looked at.
  std::size_t settle(Region region, std::size_t count) {
    const auto before = [](std::size_t i) { return i < widest ? 0 : i - (widest - 1); };
    std::size_t leftmost = before(region.begin);
    for (std::size_t r = 0; r < count;) {
      std::optional<Change> c;
      for (std::size_t i = before(region.begin); i <= region.end && !c; ++i) c = apply(r, i);
      if (!c) {
        ++r;
        continue;
      }
      const bool inside = region.end > c->begin + c->removed;
      region = {std::min(region.begin, c->begin),
                inside ? region.end - c->removed + (c->end - c->begin) : c->end};
      leftmost = std::min(leftmost, before(region.begin));
      r = 0;
    }
    return leftmost;
  }

  std::vector<NamedLinop>& ops_;
  std::vector<std::string>& notes_;
  Sizes sizes_;
};

}  // namespace

void simplify(std::vector<NamedLinop>& operators, std::vector<std::string>& notes) {
  if (!config().rewrite) return;
  const DimSizes none;
  Simplifier s(operators, notes, none);
  while (s.sweep(false) || s.gather_scalars()) {
  }
}

void simplify_sized(std::vector<NamedLinop>& operators, const DimSizes& sizes,
                    std::vector<std::string>& notes) {
  if (!config().rewrite) return;
  Simplifier s(operators, notes, sizes);
  while (s.sweep(true)) simplify(operators, notes);
}

}  // namespace tessera
