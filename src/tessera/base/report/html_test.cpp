// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/html.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Html, TextStaysText) {
  EXPECT_EQ(html::escaped("<b a=\"1\">&amp;</b>"), "&lt;b a=&quot;1&quot;&gt;&amp;amp;&lt;/b&gt;");
  EXPECT_EQ(html::escaped("größer"), "größer");
  EXPECT_EQ(html::script_safe("{\"a\":\"</script><!--\"}"),
            "{\"a\":\"\\u003c/script>\\u003c!--\"}");
}

TEST(Html, ElementsCloseWhatTheyOpen) {
  EXPECT_EQ(html::element("td", "x"), "<td>x</td>");
  EXPECT_EQ(html::element("td", "x", "padding:0"), "<td style=\"padding:0\">x</td>");
  EXPECT_EQ(html::classed("td", "n", "x"), "<td class=\"n\">x</td>");
  EXPECT_EQ(html::folded("a", "b", false), "<details><summary>a</summary>b</details>");
  EXPECT_EQ(html::folded("a", "b", true), "<details open><summary>a</summary>b</details>");
}

}  // namespace
}  // namespace tessera
