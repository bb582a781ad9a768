// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

TEST(Config, SetAndReadByName) {
  Config c;
  c.set("rewrite", "false");
  EXPECT_FALSE(c.rewrite);
  EXPECT_EQ(c.value("rewrite"), "false");
  c.set("host_budget", "2GiB");
  EXPECT_EQ(static_cast<i64>(c.host_budget), i64{2} << 30);
  EXPECT_THROW(c.set("no_such", "1"), ArgumentError);
  EXPECT_THROW(c.set("rewrite", "maybe"), ArgumentError);
  EXPECT_THROW(c.set("host_budget", "lots"), ArgumentError);
  EXPECT_EQ(static_cast<i64>(c.host_budget), i64{2} << 30);  // a refused value changes nothing
  EXPECT_THROW((void)c.value("no_such"), ArgumentError);
}

TEST(Config, BudgetsMayBeShares) {
  EXPECT_EQ(parse_budget("2GiB"), i64{2} << 30);
  EXPECT_EQ(budget_bytes(parse_budget("4096"), 7), 4096);
  EXPECT_EQ(budget_bytes(parse_budget("50%"), 1000), 500);
  EXPECT_EQ(budget_bytes(parse_budget("12.5 %"), 8000), 1000);
  EXPECT_EQ(budget_bytes(parse_budget("100%"), i64{1} << 40), i64{1} << 40);
  EXPECT_EQ(budget_bytes(parse_budget("1%"), 3), 1);  // not 0, which is no limit
  for (const char* text : {"50%", "12.5%", "0.0001%", "100%", "99.9999%", "4096", "0"})
    EXPECT_EQ(budget_text(parse_budget(text)), text);
  for (const char* text : {"0%", "101%", "-5%", "%", "half%", "5%%", "5GiB%", "nan%", ""})
    EXPECT_THROW((void)parse_budget(text), ArgumentError) << text;
  Config c;
  c.set("device_budget", "25%");
  EXPECT_EQ(c.value("device_budget"), "25%");
  EXPECT_THROW(c.set("num_threads", "25%"), ArgumentError);
  setenv("TESSERA_DISK_BUDGET", "10%", 1);
  EXPECT_EQ(Config().value("disk_budget"), "10%");
  setenv("TESSERA_DISK_BUDGET", "110%", 1);
  EXPECT_THROW(Config(), ArgumentError);
  unsetenv("TESSERA_DISK_BUDGET");
}

TEST(Config, EnvironmentIsReadAndChecked) {
  setenv("TESSERA_SIM_DELAY_US", "17", 1);
  setenv("TESSERA_PROGRESS", "off", 1);
  Config c;
  EXPECT_EQ(static_cast<i64>(c.sim_delay_us), 17);
  EXPECT_FALSE(c.progress);
  setenv("TESSERA_PROGRESS", "perhaps", 1);
  try {
    Config bad;
    ADD_FAILURE();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("perhaps"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("TESSERA_PROGRESS"), std::string::npos) << e.what();
  }
  setenv("TESSERA_PROGRESS", "", 1);  // empty is unset
  EXPECT_TRUE(Config().progress);
  unsetenv("TESSERA_PROGRESS");
  unsetenv("TESSERA_SIM_DELAY_US");
}

TEST(Config, RowsListEverySetting) {
  const auto rows = Config().rows();
  EXPECT_GT(rows.size(), 10u);
  for (const auto& row : rows) {
    EXPECT_FALSE(row.text.empty());
    EXPECT_EQ(Config().value(row.name), row.value);
  }
}

TEST(Config, UsingRestoresAlsoAfterAThrow) {
  const bool before = config().rewrite;
  try {
    Using<bool> use(config().rewrite, !before);
    EXPECT_EQ(static_cast<bool>(config().rewrite), !before);
    throw ShapeError("x");
  } catch (const ShapeError&) {
  }
  EXPECT_EQ(static_cast<bool>(config().rewrite), before);
}

}  // namespace
}  // namespace tessera
