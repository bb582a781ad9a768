// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/placed_parts.hpp"

#include <algorithm>
#include <span>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/join.hpp"
#include "tessera/linop/ops/to_device.hpp"

namespace tessera {
namespace {

bool same(const View& a, const View& b) {
  return a.slot == b.slot && a.dtype == b.dtype && a.layout == b.layout;
}

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
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PlacedPart p = joined_part(parts[i]);
    const bool again =
        adds || std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i),
                            [&](const PlacedPart& q) { return same(q.out, p.out); });
    const std::vector<PlacedPart> inner = parts_of(p);
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
  ToDevice go, back;
  std::span<const NamedLinop> there;
  Device device() const { return go.odevice(); }
};
std::optional<Visit> visit_of(const Recorder& r, const Leaf& leaf) {
  const Chain* c = leaf.a.as<Chain>();
  if (!c || c->operators.size() < 3) return std::nullopt;
  const ToDevice *go = c->operators.front().as<ToDevice>(),
                 *back = c->operators.back().as<ToDevice>();
  // With a listener a transfer is one of its own.
  if (!go || !back || go->input_listener || back->input_listener ||
      go->idevice() != r.device(leaf.in) || back->odevice() != r.device(leaf.out) ||
      go->odevice() != back->idevice() || go->odevice() == go->idevice())
    return std::nullopt;
  return Visit{*go, *back, std::span(c->operators).subspan(1, c->operators.size() - 2)};
}

// What the parts on one device add to one place, summed there.
struct Partial {
  ToDevice back;
  View out;
  View sum{};
  int terms = 0;
  bool begun = false;
};

// The partial sums worth keeping: two terms and more. None when places overlap without being the
// same: then the order of the terms is part of what they mean.
std::vector<Partial> partial_sums(const Recorder& r, const std::vector<Leaf>& leaves, bool adds) {
  std::vector<Partial> all;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& leaf = leaves[i];
    const bool known = std::any_of(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const Leaf& l) { return same(l.out, leaf.out); });
    if ((known || adds) != leaf.adds) return {};
    const std::optional<Visit> v = visit_of(r, leaf);
    if (!v) continue;
    auto it = std::find_if(all.begin(), all.end(), [&](const Partial& p) {
      return p.back.idevice() == v->device() && same(p.out, leaf.out);
    });
    if (it == all.end()) it = all.insert(all.end(), {.back = v->back, .out = leaf.out});
    ++it->terms;
  }
  std::erase_if(all, [](const Partial& p) { return p.terms < 2; });
  return all;
}

void add_to(Recorder& r, Partial& p, const Leaf& leaf, const Visit& v) {
  const Recorder::Scope scope(r, leaf.a.str());
  for (const std::string& n : leaf.a.notes()) r.note(n);
  const View in = [&] {
    const Recorder::Route route = v.go.route(r);
    return r.resident(leaf.in, v.device());
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
}

}  // namespace

void record_placed(Recorder& r, const std::vector<PlacedPart>& placed, Device base, bool adds) {
  std::vector<Leaf> leaves;
  flatten(r, placed, adds, leaves);
  std::vector<Partial> partials = partial_sums(r, leaves, adds);
  std::vector<View> written;
  auto first = [&](const View& out) {
    const bool known =
        std::any_of(written.begin(), written.end(), [&](const View& w) { return same(w, out); });
    if (!known) written.push_back(out);
    return !known && !adds;
  };
  Recorder::Parts parts(r, base);
  for (const Leaf& leaf : leaves) {
    parts.next();
    const std::optional<Visit> v = visit_of(r, leaf);
    const auto it = std::find_if(partials.begin(), partials.end(), [&](const Partial& p) {
      return v && p.back.idevice() == v->device() && same(p.out, leaf.out);
    });
    if (it != partials.end())
      add_to(r, *it, leaf, *v);
    else
      record_one(r, leaf.a, leaf.in, leaf.out, partials.empty() ? leaf.adds : !first(leaf.out));
  }
  for (const Partial& p : partials) {
    parts.next();
    record_one(r, p.back, p.sum, p.out, !first(p.out));
  }
}

}  // namespace tessera
