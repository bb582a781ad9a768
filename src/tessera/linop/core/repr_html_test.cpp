// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/repr_html.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

i64 occurrences(const std::string& text, const std::string& part) {
  i64 n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

NamedLinop sense() {
  const NamedLinop S(Dense(zeros({4, 3, 5}, DType::c64), dims("CXY"), dims("XY"), dims("CXY")));
  const NamedLinop F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}));
  return F * S;
}

TEST(ReprHtml, TellsNamesSizesDeviceAndBytes) {
  const Using dense(config().noncontiguous, false);  // bytes are counted
  const std::string html = repr_html(sense());
  for (const char* part : {"Chain", "Dense", "FFT", "(X, Y) → (C, U, V)", "<td", ">out<", "on cpu",
                           "480 B in 1 array", "tree"})
    EXPECT_NE(html.find(part), std::string::npos) << part << " in " << html;
  for (const char* tag : {"div", "table", "tr", "td", "th", "ul", "li", "details", "b", "code"})
    EXPECT_EQ(occurrences(html, cat("<", tag, ">")) + occurrences(html, cat("<", tag, " ")),
              occurrences(html, cat("</", tag, ">")))
        << tag;
}

TEST(ReprHtml, DimsBetweenThePartsAreInside) {
  const NamedLinop A(Dense(zeros({2, 3}, DType::f32), dims("MN"), dims("N"), dims("M"))),
      B(Dense(zeros({3, 4}, DType::f32), dims("NL"), dims("L"), dims("N")));
  EXPECT_NE(repr_html(A * B).find("inside"), std::string::npos);
}

TEST(ReprHtml, WhatWasRewrittenIsShown) {
  const NamedLinop F(FFT(1, {}, FFT::Grids{dims("X"), dims("U")}));
  const NamedLinop D(Diagonal(zeros({5}, DType::f32), dims("X")));
  EXPECT_NE(repr_html(F.H() * F * D).find("rewritten ("), std::string::npos);
  EXPECT_EQ(repr_html(D).find("rewritten ("), std::string::npos);
}

TEST(ReprHtml, TextIsNoMarkup) {
  const std::string html = repr_html(NamedLinop(Identity(dims("X"))).named("<b>&\""));
  EXPECT_NE(html.find("&lt;b&gt;&amp;&quot;"), std::string::npos) << html;
}

TEST(NamedLinop, BytesCountSharedMemoryOnce) {
  const Using dense(config().noncontiguous, false);
  const Array w = zeros({4, 5}, DType::f32);
  const NamedLinop D(Diagonal(w, dims("XY"))), part(Diagonal(w.slice(0, 1, 3), dims("XY")));
  EXPECT_EQ(D.bytes(), 80);
  EXPECT_EQ(part.bytes(), 40);
  EXPECT_EQ((D * D.H()).bytes(), 80);
  EXPECT_EQ((D + NamedLinop(Diagonal(w.copy(), dims("XY")))).bytes(), 160);
  EXPECT_EQ(NamedLinop(FFT(1)).bytes(), 0);
}

TEST(NamedLinop, NamesFollowTheOperator) {
  const NamedLinop A =
      NamedLinop(Dense(zeros({4, 3}, DType::c64), dims("MN"), dims("N"), dims("M"))).named("L");
  EXPECT_EQ(A.name(), "L");
  EXPECT_EQ(A.kind(), "Dense");
  EXPECT_EQ(A.str(), "L: Dense (N,) -> (M,)");
  EXPECT_EQ(A.H().name(), "L.H");
  EXPECT_EQ(A.H().H().name(), "L");
  EXPECT_TRUE(A.H().H() == A);
  EXPECT_EQ(A.N().name(), "L.N");
  EXPECT_EQ(A.N().H().name(), "L.N");
  EXPECT_EQ(A.H().N().name(), "L.H.N");
  EXPECT_EQ(A.rename({{"M", "P"}}).name(), "L");
  EXPECT_EQ(A.to(Device::parse("sim:0")).name(), "L");
  EXPECT_EQ(A.split({{"M", 0, 2}}).name(), "L");
  EXPECT_EQ((A * Value(2.0)).name(), "Chain");
  const Using<bool> uncached(config().cache_adjoint_normal, false);
  EXPECT_EQ(A.H().H().name(), "L");
}

}  // namespace
}  // namespace tessera
