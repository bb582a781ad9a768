// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/tiling.hpp"

#include <algorithm>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/solve/core/polynomial_preconditioner.hpp"

namespace tessera {
namespace {

bool share_a_dim(const Way& a, const Way& b) {
  for (const auto& mine : {a.idim, a.odim})
    for (const auto& other : {b.idim, b.odim})
      if (mine && mine == other) return true;
  return false;
}

bool collect(const NamedLinop& a, std::vector<Way>& ways) {
  if (!crosses_devices(a)) return true;
  if (const Concat* c = a.as<Concat>(); c && c->blocks.size() > 1) {
    const std::optional<Way> way = way_of(*c);
    if (!way) return false;
    const auto known =
        std::find_if(ways.begin(), ways.end(), [&](const Way& w) { return share_a_dim(w, *way); });
    if (known == ways.end())
      ways.push_back(*way);
    else if (known->idim != way->idim || known->odim != way->odim || known->ranges != way->ranges)
      return false;
  } else if (!c && !a.as<Add>() && !a.as<Chain>() && !a.offers().stands_for() &&
             !a.as<Polynomial>()) {
    return true;
  }
  const std::vector<NamedLinop> parts = a.parts();
  return std::all_of(parts.begin(), parts.end(),
                     [&](const NamedLinop& part) { return collect(part, ways); });
}

void append_flat(std::vector<NamedLinop>& to, const Chain& c) {
  for (const NamedLinop& part : c.operators)
    if (const Chain* inner = part.as<Chain>())
      append_flat(to, *inner);
    else
      to.push_back(part);
}

// To a device and away from it, or one of these: what is done before it, the moves there, what is
// done there, the moves away, what is done after.
struct Trip {
  std::vector<NamedLinop> before, go, there, back, after;
  Device start, device, end;

  static std::optional<Trip> of(const Chain& c) {
    std::vector<NamedLinop> all, moves;
    append_flat(all, c);
    std::vector<std::vector<NamedLinop>> done(1);  // before the first move, after it, …
    for (const NamedLinop& part : all) {
      const bool move = part.offers().transfer().has_value();
      if (move && part.input_listener()) return std::nullopt;
      (move ? moves : done.back()).push_back(part);
      if (move) done.emplace_back();
    }
    if (moves.empty()) return std::nullopt;
    const std::optional<std::size_t> at = place(done);
    if (!at) return std::nullopt;
    const auto middle = moves.begin() + static_cast<std::ptrdiff_t>(*at);
    Trip t;
    if (*at > 0) t.before = done.front();
    t.there = done[*at];
    if (*at < moves.size()) t.after = done.back();
    t.go.assign(moves.begin(), middle);
    t.back.assign(middle, moves.end());
    t.start = moves.front().offers().transfer()->from.device;
    t.device = *at > 0 ? t.go.back().offers().transfer()->to.device : t.start;
    t.end = moves.back().offers().transfer()->to.device;
    return t;
  }

 private:
  // Where it computes, between one move and the next; nothing when that is in several places.
  static std::optional<std::size_t> place(const std::vector<std::vector<NamedLinop>>& done) {
    std::optional<std::size_t> found;
    for (std::size_t i = 1; i + 1 < done.size(); ++i) {
      if (done[i].empty()) continue;
      if (found) return std::nullopt;
      found = i;
    }
    if (found) return found;
    if (done.front().empty() == done.back().empty()) return std::nullopt;
    return done.front().empty() ? done.size() - 1 : 0;
  }
};

// The first device that a part of it goes to and computes on.
std::optional<Device> device_of(const NamedLinop& a) {
  if (const Chain* c = a.as<Chain>())
    if (const std::optional<Trip> t = Trip::of(*c)) return t->device;
  for (const NamedLinop& part : a.parts())
    if (const std::optional<Device> d = device_of(part)) return d;
  return std::nullopt;
}

BarePart bare_trip(const Trip& t, FreeEnds free) {
  std::vector<NamedLinop> parts;
  auto add = [&](const std::vector<NamedLinop>& more, bool moved) {
    for (const NamedLinop& a : more) parts.push_back(moved ? a.to(t.device) : a);
  };
  const bool starts_there = free.in || t.before.empty(), ends_there = free.out || t.after.empty();
  add(t.before, free.in);
  if (!starts_there) add(t.go, false);
  add(t.there, false);
  if (!ends_there) add(t.back, false);
  add(t.after, free.out);
  return {chain(std::move(parts)), starts_there ? t.device : t.start,
          ends_there ? t.device : t.end};
}

using Parts = std::vector<BarePart>;
bool collect(const NamedLinop& a, Device base, Device device, FreeEnds free, Parts& to) {
  if (const Add* terms = a.as<Add>())
    return std::all_of(terms->operators.begin(), terms->operators.end(),
                       [&](const NamedLinop& t) { return collect(t, base, device, free, to); });
  if (!crosses_devices(a)) {
    // What lies on the base goes along only when both of its ends do.
    const bool moves = device != base && free.in && free.out;
    to.push_back(moves ? BarePart{a.to(device), device, device} : BarePart{a, base, base});
    return true;
  }
  if (const Polynomial* p = a.as<Polynomial>()) {
    const auto own = bare(p->T, base, free);
    if (!own || own->size() != 1 || own->front().in != own->front().out) return false;
    to.push_back(own->front());
    to.back().op = Polynomial{to.back().op, p->coefficients};
    return true;
  }
  const Chain* c = a.as<Chain>();
  const std::optional<Trip> t = c ? Trip::of(*c) : std::nullopt;
  if (t) to.push_back(bare_trip(*t, free));
  return t.has_value();
}

}  // namespace

std::optional<Way> way_of(const Concat& c) {
  Way way{c.idim, c.odim, {}};
  i64 in = 0, out = 0;
  for (const Concat::Block& b : c.blocks) {
    if ((c.idim && b.in_start != in) || (c.odim && b.out_start != out)) return std::nullopt;
    in += b.in_size;
    out += b.out_size;
    way.ranges.push_back({b.in_start, b.in_size, b.out_start, b.out_size});
  }
  const bool all = (!c.idim || in == c.isize) && (!c.odim || out == c.osize);
  return all ? std::optional(way) : std::nullopt;
}

std::optional<std::vector<Way>> ways_of(const NamedLinop& a) {
  if (!a.start_events().empty()) return std::nullopt;  // tiles that start together are one plan
  std::vector<Way> ways;
  return collect(a, ways) ? std::optional(ways) : std::nullopt;
}

std::optional<std::vector<BarePart>> bare(const NamedLinop& tile, Device base, FreeEnds free) {
  Parts all;
  if (!collect(tile, base, device_of(tile).value_or(base), free, all)) return std::nullopt;
  // Terms of one place are one operator again.
  Parts merged;
  while (!all.empty()) {
    const BarePart first = all.front();
    std::vector<NamedLinop> terms;
    std::erase_if(all, [&](const BarePart& p) {
      const bool beside = p.in == first.in && p.out == first.out;
      if (beside) terms.push_back(p.op);
      return beside;
    });
    merged.push_back({sum(std::move(terms)), first.in, first.out});
  }
  return merged;
}

}  // namespace tessera
