// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(TextFile, PipesThatNobodyHasOpenAreNotWaitedFor) {
  const std::string pipe = scratch_folder() + "/a_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(open_to_write(pipe), nullptr);
  EXPECT_EQ(read_text(pipe).value_or(""), "");
  std::FILE* plain = open_to_write(pipe + ".txt");
  ASSERT_NE(plain, nullptr);
  std::fputs("x", plain);
  std::fclose(plain);
  EXPECT_EQ(read_text(pipe + ".txt"), "x");
}

TEST(TextFile, Lines) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\n"), Lines{"a"});
}

}  // namespace
}  // namespace tessera
