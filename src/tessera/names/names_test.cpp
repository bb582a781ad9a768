// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tessera/names/named_shape.hpp"

namespace tessera {
namespace {

std::vector<std::string> texts(const Dims& d) {
  std::vector<std::string> r;
  for (NamedDimension n : d) r.push_back(n.str());
  return r;
}
using Words = std::vector<std::string>;

TEST(Names, ParsesRunsOfDims) {
  EXPECT_EQ(texts(dims("NxNyNz")), (Words{"Nx", "Ny", "Nz"}));
  EXPECT_EQ(texts(dims("A1B2Kx1Ky2")), (Words{"A1", "B2", "Kx1", "Ky2"}));
  EXPECT_EQ(texts(dims("(1)A(23)")), (Words{"(1)", "A", "(23)"}));
  EXPECT_EQ(texts(dims("()A()B")), (Words{"()", "A", "()", "B"}));
  EXPECT_EQ(texts(dims("A...B")), (Words{"A", "...", "B"}));
  EXPECT_TRUE(dims("").empty());
  EXPECT_THROW(dims("A(1"), DimError);
}

TEST(Names, InfersWordAndNumber) {
  EXPECT_EQ(ND("Nx1").word(), "Nx");
  EXPECT_EQ(ND("Nx1").number(), 1);
  EXPECT_EQ(ND("N12").number(), 12);
  EXPECT_EQ(ND("A", 1), ND("A1"));
  EXPECT_TRUE(ND("(1)").is_any());
  EXPECT_NE(ND("(1)"), ND("()"));
  EXPECT_EQ((ND("...") + 1).str(), "...");
  EXPECT_THROW(ND(""), DimError);
}

TEST(Names, TheDefaultIsTheWildcard) {
  EXPECT_EQ(ND(), ND("()"));
  EXPECT_TRUE(ND().is_any());
}

TEST(Names, NextUnused) {
  EXPECT_EQ(ND("A").next_unused(dims("AB")).str(), "A1");
  EXPECT_EQ(ND("A").next_unused(dims("AA1")).str(), "A2");
  EXPECT_EQ(ND("A").next_unused(dims("B")).str(), "A");
  EXPECT_EQ(ND("A3").next_unused(dims("A3")).str(), "A4");
}

TEST(Names, NormalShape) {
  EXPECT_EQ(NamedShape(dims("AB"), dims("CD")).N().str(), "(A, B) -> (A1, B1)");
  EXPECT_EQ(NamedShape(dims("AB"), dims("BC")).N().str(), "(A, B) -> (A1, B)");
  EXPECT_EQ(NamedShape(dims("CA"), dims("C1A")).N().str(), "(C, A) -> (C1, A)");
  EXPECT_EQ((NamedShape(dims("AB"), dims("C")) + NamedShape(dims("EF"))).str(),
            "(A, B, E, F) -> (C, E, F)");
}

TEST(Names, RenamesAtOnce) {
  EXPECT_EQ(to_text(rename(dims("AB"), {{"A", "B"}, {"B", "A"}})), "(B, A)");
}

// Every instance of a pattern, one letter a dim: the oracle of matching. Two patterns of four
// tokens that match have a common instance of at most six dims: three plain ones of each and
// nothing else.
std::set<std::string> instances(const Dims& pattern) {
  constexpr std::size_t longest = 6;
  std::set<std::string> all;
  std::function<void(i64, const std::string&)> walk = [&](i64 i, const std::string& so_far) {
    if (so_far.size() > longest) return;
    if (i == pattern.size()) {
      all.insert(so_far);
      return;
    }
    if (pattern[i].is_ellipses()) walk(i + 1, so_far);
    for (const char letter : {'A', 'B'}) {
      if (pattern[i].is_ellipses())
        walk(i, so_far + letter);
      else if (pattern[i].is_any() || pattern[i].str()[0] == letter)
        walk(i + 1, so_far + letter);
    }
  };
  walk(0, "");
  return all;
}

TEST(Names, MatchingAgreesWithBruteForce) {
  const Words tokens{"A", "B", "...", "()"};
  std::vector<Dims> patterns{{}};
  for (std::size_t first = 0, length = 0; length < 4; ++length) {
    const std::size_t end = patterns.size();
    for (; first < end; ++first)
      for (const std::string& t : tokens) {
        Dims d = patterns[first];
        d.push_back(ND(t));
        patterns.push_back(d);
      }
  }
  ASSERT_EQ(patterns.size(), 1u + 4 + 16 + 64 + 256);
  std::vector<std::set<std::string>> sets;
  for (const Dims& p : patterns) sets.push_back(instances(p));
  auto intersect = [](const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const std::string& w : a)
      if (b.count(w)) return true;
    return false;
  };
  i64 wrong = 0;
  for (std::size_t i = 0; i < patterns.size(); i += 1)
    for (std::size_t j = i; j < patterns.size(); ++j) {
      const bool expected = sets[i].size() < sets[j].size() ? intersect(sets[i], sets[j])
                                                            : intersect(sets[j], sets[i]);
      const Match m = isequal(patterns[i], patterns[j]);
      wrong += m.matched != expected;
      wrong += isequal(patterns[j], patterns[i]).matched != expected;
      if (m)
        for (std::size_t k = 0; k < m.map.size(); ++k)
          for (i64 partner : m.map[k]) {
            const ND a = patterns[i][static_cast<i64>(k)], b = patterns[j][partner];
            wrong += !(a == b || a.is_wildcard() || b.is_wildcard());
          }
    }
  EXPECT_EQ(wrong, 0);
}

TEST(Names, MatchingReportsPartners) {
  using Map = std::vector<std::vector<i64>>;
  EXPECT_EQ(isequal(dims("AB"), dims("AB")).map, (Map{{0}, {1}}));
  EXPECT_EQ(isequal(dims("...K"), dims("BCK")).map, (Map{{0, 1}, {2}}));
  EXPECT_EQ(iscompatible(dims("A..."), dims("XYZ")).map, (Map{{0}, {1, 2}}));
  EXPECT_FALSE(iscompatible(dims("AB"), dims("C")));
  EXPECT_TRUE(iscompatible(dims("..."), dims("")));
}

TEST(Names, MaxShape) {
  EXPECT_EQ(to_text(max_shape({dims("NQ"), dims("NQ1")})), "(N, Q1)");
  EXPECT_EQ(to_text(max_shape({dims("..."), dims("AB")})), "(A, B)");
  EXPECT_EQ(to_text(max_shape({dims("A..."), dims("A2...")})), "(A2, ...)");
  EXPECT_EQ(to_text(max_shape({dims("()B"), dims("AB")})), "(A, B)");
  EXPECT_EQ(to_text(max_shape({dims("Nx1"), dims("Nx")})), "(Nx1,)");
  EXPECT_EQ(to_text(max_shape({dims("A..."), dims("A"), dims("...")})), "(A,)");
  EXPECT_EQ(to_text(max_shape({dims("...A"), dims("...")})), "(..., A)");
  EXPECT_THROW(max_shape({dims("AB"), dims("C")}), DimError);
  EXPECT_THROW(max_shape({dims("AB"), dims("AC")}), DimError);
  EXPECT_THROW(max_shape({}), DimError);
}

TEST(Names, ResolvesWildcards) {
  EXPECT_EQ(to_text(resolve_wildcards(dims("C..."), dims("CKxKy"))), "(C, Kx, Ky)");
  EXPECT_EQ(to_text(resolve_wildcards(dims("..."), dims("AB"))), "(A, B)");
  EXPECT_EQ(to_text(resolve_wildcards(dims("...A"), dims("..."))), "(..., A)");
  EXPECT_EQ(to_text(resolve_wildcards(dims("X..."), dims("AB"))), "(X, ...)");
  EXPECT_EQ(to_text(resolve_wildcards(dims("(1)(2)"), dims("AB"))), "(A, B)");
}

}  // namespace
}  // namespace tessera
