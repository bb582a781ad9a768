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
