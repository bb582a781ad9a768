// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/warn.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tessera {
namespace {

std::vector<std::string> heard;

struct Listening {
  explicit Listening(WarningHook hook) { set_warning_hook(hook); }
  ~Listening() {
    set_warning_hook(nullptr);
    forget_warnings();
    heard.clear();
  }
};

TEST(Warnings, AreSaidOnceForEachKindAndKey) {
  const Listening ears([](WarningKind, const std::string& text) { heard.push_back(text); });
  EXPECT_FALSE(was_warned(WarningKind::precision, "a"));
  warn_once(WarningKind::precision, "a", "first");
  warn_once(WarningKind::precision, "a", "again");
  EXPECT_TRUE(was_warned(WarningKind::precision, "a"));
  EXPECT_FALSE(was_warned(WarningKind::overflow_risk, "a"));
  warn_once(WarningKind::overflow_risk, "a", "other kind");
  warn_once(WarningKind::precision, "b", "other key");
  warn(WarningKind::device, "each time");
  warn(WarningKind::device, "each time");
  EXPECT_EQ(heard, (std::vector<std::string>{"first", "other kind", "other key", "each time",
                                             "each time"}));
  forget_warnings();
  warn_once(WarningKind::precision, "a", "after forgetting");
  EXPECT_EQ(heard.back(), "after forgetting");
}

TEST(Warnings, AHookMayRefuse) {
  const Listening ears(
      [](WarningKind, const std::string& text) { throw std::runtime_error(text); });
  EXPECT_THROW(warn_once(WarningKind::precision, "refused", "no"), std::runtime_error);
  EXPECT_NO_THROW(warn_once(WarningKind::precision, "refused", "no"));
}

}  // namespace
}  // namespace tessera
