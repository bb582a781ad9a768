// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/matching.hpp"

namespace tessera {
namespace {

bool one_to_one(NamedDimension a, NamedDimension b) { return a == b || a.is_any() || b.is_any(); }

// reach[i][j]: the tails a[i:] and b[j:] have a common instance. "..." against anything may swallow
// one token of the other side (or nothing); two plain tokens must agree.
using Table = std::vector<std::vector<char>>;
Table reach(const Dims& a, const Dims& b) {
  Table t(static_cast<std::size_t>(a.size() + 1),
          std::vector<char>(static_cast<std::size_t>(b.size() + 1), 0));
  for (i64 i = a.size(); i >= 0; --i)
    for (i64 j = b.size(); j >= 0; --j) {
      const bool ai = i < a.size(), bj = j < b.size();
      auto at = [&](i64 p, i64 q) {
        return t[static_cast<std::size_t>(p)][static_cast<std::size_t>(q)] != 0;
      };
      bool ok = !ai && !bj;
      if (ai && a[i].is_ellipses()) ok |= at(i + 1, j) || (bj && at(i, j + 1));
      if (bj && b[j].is_ellipses()) ok |= at(i, j + 1) || (ai && at(i + 1, j));
      if (ai && bj && !a[i].is_ellipses() && !b[j].is_ellipses())
        ok |= one_to_one(a[i], b[j]) && at(i + 1, j + 1);
      t[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = ok;
    }
  return t;
}

// The more definite of two names that face each other.
NamedDimension larger(NamedDimension a, NamedDimension b) {
  if (a.is_any() != b.is_any()) return a.is_any() ? b : a;
  return a.number() < b.number() ? b : a;
}

Dims larger(const Dims& a, const Dims& b) {
  auto words = [](const Dims& d) {
    Dims r;
    for (NamedDimension n : d) r.push_back(n.is_wildcard() ? n : NamedDimension(n.word(), 0));
    return r;
  };
  const Match m = isequal(words(a), words(b));
  require<DimError>(m.matched, "max_shape: ", to_text(a), " and ", to_text(b),
                    iscompatible(a, b) ? " have different names in one place"
                                       : " differ in their number of dims");
  Dims r;
  for (i64 i = 0; i < a.size(); ++i)
    for (const i64 j : m.map[static_cast<std::size_t>(i)]) {
      if (!a[i].is_ellipses() && !b[j].is_ellipses())
        r.push_back(larger(a[i], b[j]));
      else if (!(b[j].is_ellipses() && a[i].is_ellipses() && !r.empty() && r.back().is_ellipses()))
        r.push_back(a[i].is_ellipses() ? b[j] : a[i]);
    }
  return r;
}

}  // namespace

Match isequal(const Dims& a, const Dims& b) {
  const Table t = reach(a, b);
  auto at = [&](i64 p, i64 q) {
    return t[static_cast<std::size_t>(p)][static_cast<std::size_t>(q)] != 0;
  };
  Match m;
  m.matched = at(0, 0);
  if (!m.matched) return m;
  m.map.resize(static_cast<std::size_t>(a.size()));
  i64 i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool a_open = i < a.size() && a[i].is_ellipses(),
               b_open = j < b.size() && b[j].is_ellipses();
    if (a_open && j < b.size() && at(i, j + 1)) {
      m.map[static_cast<std::size_t>(i)].push_back(j++);
    } else if (b_open && i < a.size() && !a_open && at(i + 1, j)) {
      m.map[static_cast<std::size_t>(i++)].push_back(j);
    } else if (a_open) {
      // Two open ends face each other: what one may still swallow, the other may.
      if (b_open) m.map[static_cast<std::size_t>(i)].push_back(j);
      ++i;
    } else if (b_open) {
      ++j;
    } else {
      m.map[static_cast<std::size_t>(i++)].push_back(j++);
    }
  }
  return m;
}

Match iscompatible(const Dims& a, const Dims& b) {
  auto blank = [](const Dims& d) {
    Dims r;
    for (NamedDimension n : d) r.push_back(n.is_ellipses() ? n : NamedDimension("()"));
    return r;
  };
  return isequal(blank(a), blank(b));
}

Dims resolve_wildcards(const Dims& shape, const Dims& target) {
  const Match m = isequal(shape, target);
  if (!m) return shape;
  Dims r;
  for (i64 i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_wildcard()) {
      r.push_back(shape[i]);
    } else {
      for (i64 j : m.map[static_cast<std::size_t>(i)]) r.push_back(target[j]);
    }
  }
  return r;
}

Dims max_shape(const std::vector<Dims>& shapes) {
  require<DimError>(!shapes.empty(), "max_shape: no shapes given");
  Dims r = shapes.front();
  for (const Dims& s : shapes) r = larger(r, s);
  return r;
}

}  // namespace tessera
