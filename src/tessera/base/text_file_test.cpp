// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/support.hpp"

namespace tessera {
namespace {

TEST(TextFile, WhatWasWrittenIsReadAndReplacedWhole) {
  const auto folder = std::filesystem::path(scratch_folder()) / "text_file";
  std::filesystem::remove_all(folder);
  const std::string path = folder / "deep" / "a.txt";
  EXPECT_FALSE(read_text(path));
  const std::string large(10'000, 'x');
  for (const std::string& text : {std::string("one\ntwo"), std::string(), large}) {
    ASSERT_TRUE(replace_text(path, text));
    EXPECT_EQ(read_text(path), text);
  }
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "deep"), {}), 1);
  EXPECT_FALSE(replace_text("/proc/no/such/place", "x"));
  EXPECT_FALSE(read_text(folder));
  std::filesystem::remove_all(folder);
}

TEST(TextFile, Lines) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\n"), Lines{"a"});
}

}  // namespace
}  // namespace tessera
