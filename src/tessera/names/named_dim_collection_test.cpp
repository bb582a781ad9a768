// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/named_dim_collection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tessera/names/named_shape.hpp"

namespace tessera {
namespace {

using Entry = NamedDimCollection::Entry;

TEST(NamedDimCollection, ASharedDimIsRenamedEverywhere) {
  NamedDimCollection c{{"shape1", dims("AB")}, {"shape2", dims("BC")}};
  c.set("shape1", dims("DE"));
  EXPECT_EQ(c.str(), "shape1=(D, E), shape2=(E, C)");
}

TEST(NamedDimCollection, RenamesHappenAtOnce) {
  NamedDimCollection c{{"shape1", dims("AB")}, {"shape2", dims("BC")}};
  c.set("shape1", dims("BA"));
  EXPECT_EQ(c.str(), "shape1=(B, A), shape2=(A, C)");
  c.set("shape1", dims("AX"));  // B -> A, A -> X
  EXPECT_EQ(c.str(), "shape1=(A, X), shape2=(X, C)");
}

TEST(NamedDimCollection, ARefusedUpdateChangesNothing) {
  NamedDimCollection c{{"shape", dims("CC")}, {"other", dims("CD")}, {"one", ND("C")}};
  const std::string before = c.str();
  EXPECT_THROW(c.set("shape", dims("AB")), DimError);
  EXPECT_THROW(c.set("shape", dims("ABC")), DimError);
  EXPECT_THROW(c.set("one", dims("AB")), DimError);
  EXPECT_THROW(c.set("shape", ND("C")), DimError);
  EXPECT_THROW(c.add("shape", dims("A")), DimError);
  EXPECT_THROW(c.update({{"other", dims("XY")}, {"shape", dims("AB")}}), DimError);
  EXPECT_THROW((void)c["nowhere"], DimError);
  EXPECT_EQ(c.str(), before);
  c.set("shape", dims("BB"));
  EXPECT_EQ(c.str(), "shape=(B, B), other=(B, D), one=B");
}

TEST(NamedDimCollection, TheTextOfARefusalNamesTheMapping) {
  NamedDimCollection c{{"shape", dims("CC")}};
  try {
    c.set("shape", dims("AB"));
    FAIL() << "accepted";
  } catch (const DimError& e) {
    EXPECT_NE(std::string(e.what()).find("inconsistent mapping"), std::string::npos) << e.what();
  }
}

TEST(NamedDimCollection, WildcardsChangeOneShapeOnly) {
  NamedDimCollection c{{"shape", dims("...C")}, {"other", dims("...D")}};
  c.set("shape", dims("ABC"));
  EXPECT_EQ(c.str(), "shape=(A, B, C), other=(..., D)");
  NamedDimCollection e{{"shape", dims("...C")}};
  e.set("shape", dims("C"));
  EXPECT_EQ(e.str(), "shape=(C,)");
  NamedDimCollection f{{"shape", dims("...C")}};
  f.set("shape", dims("...BC"));
  EXPECT_EQ(f.str(), "shape=(..., B, C)");
  NamedDimCollection g{{"shape", dims("A()C()")}, {"other", dims("()")}};
  g.set("shape", dims("ABCD"));
  EXPECT_EQ(g.str(), "shape=(A, B, C, D), other=((),)");
  g.set("shape", dims("A()CD"));
  EXPECT_EQ(g.str(), "shape=(A, (), C, D), other=((),)");
  NamedDimCollection h{{"shape", dims("......")}};
  EXPECT_EQ(h.str(), "shape=(...,)");
}

TEST(NamedDimCollection, MappingsFollow) {
  NamedDimCollection c{
      {"ishape", dims("AB")},
      {"lengths", NameGroup(std::vector<std::pair<NamedDimension, i64>>{{"A", 2}, {"C", 5}})}};
  c.set("ishape", dims("EF"));
  EXPECT_EQ(c.str(), "ishape=(E, F), lengths={E: 2, C: 5}");
  const std::string before = c.str();
  EXPECT_THROW(c.set("ishape", dims("CF")), DimError);  // two keys C
  EXPECT_THROW(c.set("lengths", dims("AB")), DimError);
  EXPECT_THROW(c.set("lengths", std::vector<std::pair<NamedDimension, i64>>{{"...", 1}, {"C", 5}}),
               DimError);
  EXPECT_EQ(c.str(), before);
  c.set("lengths", std::vector<std::pair<NamedDimension, i64>>{{"Q", 7}, {"C", 6}});
  EXPECT_EQ(c.str(), "ishape=(Q, F), lengths={Q: 7, C: 6}");
}

TEST(NamedDimCollection, TwoDimsOfOneNameStayOne) {
  NamedDimCollection c{{"shape1", dims("AB")}, {"shape2", dims("BC")}};
  c.set("shape1", dims("CB"));
  EXPECT_EQ(c.str(), "shape1=(C, B), shape2=(B, C)");
  c.set("shape1", dims("XB"));
  EXPECT_EQ(c.str(), "shape1=(X, B), shape2=(B, X)");
}

// What an update must do, said differently: the assigned shape reads as assigned, and every other
// shape is the image of what it was under one function of names.
TEST(NamedDimCollection, UpdatesAreFunctionsOfNames) {
  std::mt19937 random(1);
  const Dims letters = dims("ABCD");
  auto draw = [&](i64 n) {
    Dims d;
    for (i64 i = 0; i < n; ++i) d.push_back(letters[static_cast<i64>(random() % 4)]);
    return d;
  };
  i64 accepted = 0, refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Dims a = draw(1 + trial % 3), b = draw(3), fresh = draw(a.size());
    NamedDimCollection c{{"a", a}, {"b", b}};
    bool consistent = true;
    for (i64 i = 0; i < a.size(); ++i)
      for (i64 j = 0; j < i; ++j) consistent &= a[i] != a[j] || fresh[i] == fresh[j];
    try {
      c.set("a", fresh);
      ASSERT_TRUE(consistent);
      EXPECT_EQ(c["a"].dims, fresh);
      for (i64 k = 0; k < b.size(); ++k) {
        const auto* at = std::find(a.begin(), a.end(), b[k]);
        EXPECT_EQ(c["b"].dims[k], at == a.end() ? b[k] : fresh[at - a.begin()]);
      }
      ++accepted;
    } catch (const DimError&) {
      ASSERT_FALSE(consistent);
      EXPECT_EQ(c["b"].dims, b);
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(NamedShape, AssignedNamesGoToBothSides) {
  const NamedShape s(dims("AB"));
  EXPECT_EQ(s.with("ishape", dims("CD")).str(), "(C, D) -> (C, D)");
  EXPECT_EQ(NamedShape(dims("AB"), dims("BC")).with("oshape", dims("XY")).str(),
            "(A, X) -> (X, Y)");
  EXPECT_EQ(NamedShape().str(), "(...,) -> (...,)");
}

TEST(NamedShape, OtherShapesAreKeptAndMerged) {
  const NamedShape s(dims("AB"), dims("C"), {{"weight", dims("CA")}}),
      t(dims("E"), dims("E"), {{"mask", ND("E")}});
  EXPECT_EQ(s.H().other("weight"), NameGroup(dims("CA")));
  EXPECT_EQ(s.N().other("weight"), NameGroup(dims("CA")));
  EXPECT_EQ((s + t).other("weight"), NameGroup(dims("CA")));
  EXPECT_EQ((s + t).other("mask"), NameGroup(ND("E")));
  EXPECT_EQ(s.with("ishape", dims("QB")).other("weight").str(), "(C, Q)");
  EXPECT_EQ(s.renamed({{"A", "C"}, {"C", "A"}}).other("weight").str(), "(A, C)");
  EXPECT_THROW((void)s.other("mask"), DimError);
  EXPECT_THROW(s + NamedShape(dims("X"), dims("X"), {{"weight", dims("X")}}), DimError);
  EXPECT_NO_THROW(s + s);
}

TEST(NamedShape, Grids) {
  EXPECT_EQ(to_text(nd_shape(2, true)), "(Kx, Ky)");
  EXPECT_EQ(to_text(nd_shape(3)), "(Nx, Ny, Nz)");
  EXPECT_THROW(nd_shape(4), ArgumentError);
  EXPECT_THROW(nd_shape(0), ArgumentError);
}

}  // namespace
}  // namespace tessera
