// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/operators/apply_route.hpp"

#include <algorithm>

#include "tessera/distributed/operators/batched_ranks.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/split/split_linop.hpp"

namespace tessera::dist {
namespace {

// A function of the user's without names: by them it would act point by point along every axis,
// which nobody can know. An operator over ranks needs the same input on all of them.
bool has_open_function(const NamedLinop& a) {
  if (a.as<SimpleLinop>() || a.as<BatchedRanks>()) {
    const Dims names = a.ishape();
    return std::any_of(names.begin(), names.end(), [](ND d) { return d.is_wildcard(); });
  }
  const std::vector<NamedLinop> parts = a.parts();
  return std::any_of(parts.begin(), parts.end(), has_open_function);
}

// Which of A's dims each axis is; new names for the axes that have none.
Dims names_of_axes(const NamedLinop& a, i64 ndim) {
  const Dims in = a.ishape();
  Dims names, taken = a.dims();
  auto fresh = [&] {
    names.push_back(ND("Axis").next_unused(taken));
    taken.push_back(names.back());
  };
  for (const ND d : in) {
    if (d.is_ellipses())
      for (i64 k = ndim - (in.size() - 1); k > 0; --k) fresh();
    else if (d == ND("()"))
      fresh();
    else
      names.push_back(d);
  }
  return names;
}

}  // namespace

Cuttable::Cuttable(const NamedLinop& a, const Shape& input)
    : op_(a.copy()),
      in_(input),
      out_(a.output_shape(input)),
      names_(names_of_axes(a, input.size())),
      unknown_(has_open_function(a)) {
  if (names_ == a.ishape()) return;
  const NamedLinop named = chain({Identity(names_), op_});
  if (named.ishape() == names_) op_ = named;
}

std::optional<i64> Cuttable::size(ND d) const { return size_of_dim(op_, d, in_); }
std::optional<i64> Cuttable::in_axis(ND d) const {
  for (i64 i = 0; i < names_.size(); ++i)
    if (names_[i] == d) return i;
  return std::nullopt;
}
std::optional<i64> Cuttable::out_axis(ND d) const { return axis_of(op_.oshape(), d, out_.size()); }

Shape Cuttable::shape_of_part(const Shape& whole, std::optional<i64> axis, i64 n) const {
  Shape s = whole;
  if (axis) s[*axis] = n;
  return s;
}

NamedLinop Cuttable::part(const Cut& cut) const {
  require<SplitError>(!unknown_, op_, " cannot be cut along dim '", cut.dim,
                      "': what a function without names does along it is not known");
  const NamedLinop p = op_.split({{cut.dim, cut.start, cut.stop, size(cut.dim)}});
  const Shape takes = shape_of_part(in_, in_axis(cut.dim), cut.size()),
              gives = shape_of_part(out_, out_axis(cut.dim), cut.size());
  require<SplitError>(p.output_shape(takes) == gives, op_, " cannot be cut along dim '", cut.dim,
                      "': its part ", cut.start, ":", cut.stop, " gives shape ",
                      p.output_shape(takes), ", expected ", gives);
  return p;
}

bool Cuttable::has_part(const Cut& cut) const {
  try {
    (void)part(cut);
    return true;
  } catch (const SplitError&) {
  } catch (const DimError&) {
  } catch (const ShapeError&) {
  }
  return false;
}

bool Cuttable::can_cut(ND d) const {
  const std::optional<i64> n = size(d);
  if (!n || *n == 0) return false;
  if (*n == 1) return true;  // one rank has all of it
  return has_part({d, 0, *n - 1}) && has_part({d, 1, *n});
}

bool Cuttable::can_cut(ND d, const Partition& part) const {
  for (int r = 0; r < part.ranks(); ++r) {
    const bool some = part.count(r) > 0 && part.count(r) < part.size();
    if (some && !has_part({d, part.begin(r), part.end(r)})) return false;
  }
  return true;
}

namespace {

class Chooser {
 public:
  Chooser(const Cuttable& a, const DNDarray& x) : a_(a), x_(x), ranks_(x.comm().size()) {
    r_.shape = a.out();
    r_.dtype = a.op().output_dtype(x.dtype());
    r_.in = x.distribution();
  }

  ApplyRoute along(ND d) {
    const std::optional<i64> n = a_.size(d);
    require<DimError>(contains(a_.dims(), d) && n, "apply: ", a_.op(), " has no dim '", d,
                      "' of a known size to split the work along; it has ", to_text(a_.dims()));
    if (*n > 1) (void)a_.part({d, 0, *n - 1});  // says why not
    const std::optional<i64> axis = a_.in_axis(d);
    const bool there = axis && x_.split() == axis;
    return split_along(d, there ? x_.part() : Partition::even(*n, ranks_),
                       cat("the work is split along '", d, "', as asked for"));
  }

  ApplyRoute by_names() {
    if (!x_.split()) {
      r_.reason = "every rank has all of x";
      return std::move(r_);
    }
    const ND d = a_.dim(*x_.split());
    if (x_.size() == 0) return whole(d, "x has no elements");
    if (a_.can_cut(d))
      return split_along(d, x_.part(),
                         a_.out_axis(d)
                             ? cat("'", d, "' is on both sides: point by point along it")
                             : cat("'", d, "' is only in the input: each rank has a term"));
    return around(d);
  }

 private:
  // Each rank applies its part along d; x is laid out for that.
  ApplyRoute split_along(ND d, const Partition& part, std::string why) {
    const std::optional<i64> in = a_.in_axis(d), out = a_.out_axis(d);
    r_.in = in ? Distribution{in, part} : Distribution{};
    r_.out = out ? Distribution{out, part} : Distribution{};
    r_.reason = std::move(why);
    // Parts of some partitions may not exist (blocks of a Concat that are cut inside): the result
    // is laid out alike all the same.
    if (!a_.can_cut(d, part)) {
      r_.in = {};
      r_.reason += "; but A cannot be cut into these parts of it, so every rank applies all of A";
      return std::move(r_);
    }
    r_.cut = d;
    r_.part = part;
    r_.summed = !out;
    return std::move(r_);
  }

  // d is mixed: another dim takes its place.
  ApplyRoute around(ND d) {
    const std::string mixed = cat("A mixes along '", d, "'");
    if (const auto both = longest(true, true))
      return move_to(*both, cat(mixed, ": x moves to '", *both, "', which is on both sides"));
    const auto rows = longest(false, true), columns = longest(true, false),
               inner = longest(false, false);
    const i64 gathered = x_.size() * size_of(x_.dtype()),
              added = 2 * count_of(r_.shape) * size_of(r_.dtype);
    if (rows && (!columns || gathered <= added))
      return move_to(*rows,
                     cat(mixed, ": x is gathered, and each rank has its rows of '", *rows, "'"));
    if (columns)
      return move_to(*columns,
                     cat(mixed, ": x moves to '", *columns, "', and each rank has a term"));
    if (inner)
      return move_to(*inner, cat(mixed, ": x is gathered, and each rank has a term of '", *inner,
                                 "', inside the chain"));
    return whole(d, mixed + " and can be cut along no other dim");
  }

  ApplyRoute move_to(ND d, std::string why) {
    return split_along(d, Partition::even(*a_.size(d), ranks_), std::move(why));
  }

  // The longest dim that is on these sides and can be cut; of equals the first.
  std::optional<ND> longest(bool in, bool out) const {
    std::optional<ND> best;
    for (const ND d : a_.dims()) {
      if (d.is_ellipses() || a_.in_axis(d).has_value() != in || a_.out_axis(d).has_value() != out)
        continue;
      const std::optional<i64> n = a_.size(d);
      if (n && *n > 1 && (!best || *n > *a_.size(*best)) && a_.can_cut(d)) best = d;
    }
    return best;
  }

  // Everything everywhere; the result is cut along d, or along the axis in its place.
  ApplyRoute whole(ND d, std::string why) {
    r_.in = {};
    r_.reason = std::move(why);
    std::optional<i64> axis = a_.out_axis(d);
    if (!axis && a_.out().size() == a_.in().size()) axis = x_.split();
    if (axis) {
      const i64 n = a_.out()[*axis];
      r_.out = {axis, n == x_.part().size() ? x_.part() : Partition::even(n, ranks_)};
    }
    return std::move(r_);
  }

  const Cuttable& a_;
  const DNDarray& x_;
  int ranks_;
  ApplyRoute r_;
};

}  // namespace

ApplyRoute route_of(const Cuttable& a, const DNDarray& x, const ApplyOptions& options) {
  Chooser choose(a, x);
  ApplyRoute r = options.along ? choose.along(*options.along) : choose.by_names();
  r.moved = Relayout(x, r.in).movement(size_of(x.dtype()));
  return r;
}

std::string ApplyRoute::str() const {
  auto split_text = [](const Distribution& s) {
    return s.split ? cat("split ", *s.split, " (", join(s.part.counts()), ")")
                   : std::string("replicated");
  };
  std::string text = cat(reason, ". x ", split_text(in), ": ", moved.messages, " messages, ",
                         bytes_text(moved.bytes()));
  text +=
      cut ? cat("; each rank applies its part of '", *cut, "'") : "; every rank applies all of A";
  if (summed)
    text += cat("; a sum of ", bytes_text(count_of(shape) * size_of(dtype)), " over the ranks");
  return cat(text, "; result ", shape, " ", name(dtype), ", ", split_text(out));
}

}  // namespace tessera::dist
