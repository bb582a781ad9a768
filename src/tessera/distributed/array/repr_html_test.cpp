// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/repr_html.hpp"

#include <gtest/gtest.h>

#include "support/text.hpp"
#include "tessera/comm/thread.hpp"
#include "tessera/distributed/array/create.hpp"
#include "tessera/distributed/indexing/key.hpp"

namespace tessera::dist {
namespace {

TEST(DistReprHtml, TellsWhatEachRankHoldsAndAsksNobody) {
  run_ranks(3, [](Communicator comm) {
    const DNDarray x = dist::zeros({10, 2}, DType::f32, {.split = 0, .comm = comm});
    const Traffic before = comm.traffic();
    const std::string html = repr_html(x);
    EXPECT_EQ(comm.traffic(), before);
    for (const char* part : {"(10, 2) float32", "axis 0 over 3 ranks, balanced", "(4, 2)", "(3, 2)",
                             "7 … 10", "80 B", "on cpu"})
      EXPECT_TRUE(has(html, part)) << part << " in " << html;
    EXPECT_TRUE(has(html, cat("<b>", comm.rank(), "</b>")));
    EXPECT_TRUE(has(repr_html(x[{Slice{3, 10}}]), "not balanced"));
    EXPECT_TRUE(has(repr_html(x[{5}]), "the memory of rank 1 of 3"));
    const std::string whole = repr_html(x.resplit(std::nullopt));
    EXPECT_TRUE(has(whole, "whole on each of 3 ranks"));
    EXPECT_FALSE(has(whole, "<table"));
  });
}

TEST(DistReprHtml, ManyRanksAreAbridged) {
  run_ranks(40, [](Communicator comm) {
    const std::string html = repr_html(dist::zeros({80}, DType::i8, {.split = 0, .comm = comm}));
    EXPECT_TRUE(has(html, "14 … 16"));
    EXPECT_TRUE(has(html, "64 … 66"));
    EXPECT_FALSE(has(html, "16 … 18"));
    EXPECT_FALSE(has(html, "62 … 64"));
    EXPECT_TRUE(has(html, "78 … 80"));
  });
}

}  // namespace
}  // namespace tessera::dist
