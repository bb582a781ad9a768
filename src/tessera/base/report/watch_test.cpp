// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/watch.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

TEST(Watch, CountsWhileSomebodyWatchesAndOnlyThen) {
  const i64 before = watched(Watched::elements), other = watched(Watched::small_launches);
  saw(Watched::elements);
  EXPECT_EQ(watched(Watched::elements), before);
  std::optional<Watch> first(std::in_place), second(std::in_place);
  saw(Watched::elements);
  first.reset();
  EXPECT_TRUE(watching());
  saw(Watched::elements, 5);
  second.reset();
  EXPECT_FALSE(watching());
  saw(Watched::elements, 100);
  EXPECT_EQ(watched(Watched::elements), before + 6);
  EXPECT_EQ(watched(Watched::small_launches), other);
}

}  // namespace
}  // namespace tessera
