// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/placed_parts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/rewrite/join.hpp"
#include "tessera/linop/rewrite/lower.hpp"

namespace tessera {
namespace {

// Any order of places will do, as long as equal ones are found among many.
struct ByPlace {
  bool operator()(const View& a, const View& b) const {
    const auto key = [](const View& v) { return std::tuple(v.slot, v.dtype, v.layout.offset); };
    if (key(a) != key(b)) return key(a) < key(b);
    const auto less = [](const Shape& s, const Shape& t) {
      return std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end());
    };
    return a.layout.shape == b.layout.shape ? less(a.layout.strides, b.layout.strides)
                                            : less(a.layout.shape, b.layout.shape);
  }
};
using Places = std::set<View, ByPlace>;

// A part that is no container, and whether its place has been written before it.
struct Leaf {
  NamedLinop a;
  View in, out;
  bool adds;
};

// What lies side by side in memory is one operator again.
PlacedPart joined_part(const PlacedPart& p) {
  std::optional<NamedLinop> whole;
  if (const Concat* c = p.a.as<Concat>()) whole = joined(*c, p.in, p.out);
  if (const Stack* s = p.a.as<Stack>()) whole = joined(*s, p.in, p.out);
  return whole ? PlacedPart{*whole, p.in, p.out} : p;
}

// Nothing for an operator that records as a whole: not a container, one that leaves gaps, one whose
// result is cast.
std::vector<PlacedPart> parts_of(const PlacedPart& p) {
  if (p.a.output_dtype(p.in.dtype) != p.out.dtype) return {};
  if (const Add* add = p.a.as<Add>()) return add->placed(p.in, p.out);
  if (const Stack* s = p.a.as<Stack>(); s && s->covers_output()) return s->placed(p.in, p.out);
  const Concat* c = p.a.as<Concat>();
  return c && c->covers_output() ? c->placed(p.in, p.out) : std::vector<PlacedPart>{};
}

void flatten(Recorder& r, const std::vector<PlacedPart>& parts, bool adds, std::vector<Leaf>& to) {
  Places seen;
  for (const PlacedPart& given : parts) {
    const bool waits = waits_inside(r, given.a);
    const PlacedPart p = waits ? given : joined_part(given);
    const bool again = !seen.insert(p.out).second || adds;
    const std::vector<PlacedPart> inner = waits ? std::vector<PlacedPart>{} : parts_of(p);
    if (inner.empty()) {
      to.push_back({p.a, p.in, p.out, again});
      continue;
    }
    for (const std::string& n : p.a.notes()) r.note(n);
    flatten(r, inner, again, to);
  }
}

void record_one(Recorder& r, const NamedLinop& a, const View& in, const View& out, bool adds) {
  adds ? a.record_add(r, in, out) : a.record(r, in, out);
}

// A chain that goes to another device, computes there and comes back: what it does there.
struct Visit {
  Transfer go;
  NamedLinop back;
  std::span<const NamedLinop> there;
  Device device() const { return go.to.device; }
};
std::optional<Visit> visit_of(const Recorder& r, const Leaf& leaf) {
  const Chain* c = leaf.a.as<Chain>();
  if (!c || c->operators.size() < 3) return std::nullopt;
  const NamedLinop &first = c->operators.front(), &last = c->operators.back();
  const std::optional<Transfer> go = first.offers().transfer(), back = last.offers().transfer();
  // With a listener a transfer is one of its own.
  if (!go || !back || leaf.a.waits_apart(r) || first.waits_apart(r) || last.waits_apart(r) ||
      go->from.device != r.device(leaf.in) || back->to.device != r.device(leaf.out) ||
      go->to.device != back->from.device || go->to.device == go->from.device)
    return std::nullopt;
  return Visit{*go, last, std::span(c->operators).subspan(1, c->operators.size() - 2)};
}

// What the parts on one device add to one place, summed there.
struct Partial {
  NamedLinop back;
  Device device;
  View out;
  View sum{};
  int terms = 0;  // that are still to come
  bool begun = false;
};

// The partial sums worth keeping: two terms and more. None when places overlap without being the
// same: then the order of the terms is part of what they mean.
class Partials {
 public:
  Partials(const Recorder& r, const std::vector<Leaf>& leaves, bool adds) {
    Places seen;
    for (const Leaf& leaf : leaves) {
      const bool known = !seen.insert(leaf.out).second;
      if ((known || adds) != leaf.adds) {
        all_.clear();
        break;
      }
      const std::optional<Visit> v = visit_of(r, leaf);
      if (!v) continue;
      const auto [at, added] = where_[numbered(v->device())].try_emplace(leaf.out, all_.size());
      if (added) all_.push_back({.back = v->back, .device = v->device(), .out = leaf.out});
      ++all_[at->second].terms;
    }
    std::erase_if(all_, [](const Partial& p) { return p.terms < 2; });
    where_.clear();
    for (std::size_t i = 0; i < all_.size(); ++i)
      where_[numbered(all_[i].device)].emplace(all_[i].out, i);
  }
  const std::vector<Partial>& all() const { return all_; }
  Partial* find(Device device, const View& out) {
    const auto places = where_.find(numbered(device));
    if (places == where_.end()) return nullptr;
    const auto at = places->second.find(out);
    return at == places->second.end() ? nullptr : &all_[at->second];
  }

 private:
  static std::pair<Kind, int> numbered(Device d) { return {d.kind, d.index}; }
  std::vector<Partial> all_;
  std::map<std::pair<Kind, int>, std::map<View, std::size_t, ByPlace>> where_;
};

void add_to(Recorder& r, Partial& p, const Leaf& leaf, const Visit& v) {
  const Recorder::Scope scope(r, leaf.a.str());
  for (const std::string& n : leaf.a.notes()) r.note(n);
  const View in = [&] {
    const Recorder::Route route = v.go.route(r);
    return resident_for(r, v.there.front(), leaf.in, v.device());
  }();
  if (!p.begun) p.sum = r.temporary(p.out.shape(), p.out.dtype, v.device());
  const NamedLinop op = v.there.size() == 1 ? v.there.front()
                                            : NamedLinop(Chain{{v.there.begin(), v.there.end()},
                                                               v.there.front().ishape(),
                                                               v.there.back().oshape()});
  std::vector<Leaf> inner;
  flatten(r, {{op, in, p.sum}}, p.begun, inner);
  for (const Leaf& l : inner) record_one(r, l.a, l.in, l.out, l.adds);
  p.begun = true;
  --p.terms;
}

}  // namespace

void record_placed(Recorder& r, const std::vector<PlacedPart>& placed, Device base, bool adds) {
  std::vector<Leaf> leaves;
  flatten(r, placed, adds, leaves);
  Partials partials(r, leaves, adds);
  Places written;
  auto first = [&](const View& out) { return written.insert(out).second && !adds; };
  Recorder::Parts parts(r, base);
  for (const Leaf& leaf : leaves) {
    parts.next();
    const std::optional<Visit> v = visit_of(r, leaf);
    if (Partial* const p = v ? partials.find(v->device(), leaf.out) : nullptr) {
      add_to(r, *p, leaf, *v);
      // The last term takes the sum home: no device holds more of the result than it works on.
      if (p->terms == 0) record_one(r, p->back, p->sum, p->out, !first(p->out));
    } else {
      record_one(r, leaf.a, leaf.in, leaf.out,
                 partials.all().empty() ? leaf.adds : !first(leaf.out));
    }
  }
}

}  // namespace tessera
