// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/plugin.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "support/support.hpp"
#include "support/text.hpp"

namespace tessera {
namespace {

// Variables of the environment for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* text = std::getenv(name)) before_ = text;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string problem_of(const std::string& file) {
  try {
    load_world(file);
  } catch (const NotAvailable& e) {
    return e.what();
  }
  return "loaded";
}

std::string build(const std::string& name, const std::string& source) {
  const std::string base = scratch_folder() + "/" + name;
  std::ofstream(base + ".c") << source;
  const std::string command = cat("cc -shared -fPIC -o ", base, ".so ", base, ".c");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return name + ".so";
}

TEST(CommPlugin, TheEnvironmentTellsTheRanks) {
  const Variable a("OMPI_COMM_WORLD_SIZE", nullptr), b("PMI_SIZE", nullptr);
  const Variable c("PMIX_RANK", nullptr), d("PMI_RANK", nullptr);
  EXPECT_EQ(launched_ranks(), 1);
  {
    const Variable rank("PMIX_RANK", "0");
    EXPECT_EQ(launched_ranks(), 0);
    const Variable size("OMPI_COMM_WORLD_SIZE", "4");
    EXPECT_EQ(launched_ranks(), 4);
  }
  const Variable size("PMI_SIZE", "1");
  EXPECT_EQ(launched_ranks(), 1);
}

TEST(CommPlugin, WhatCannotBeUsedIsASentence) {
  const Variable path("TESSERA_PLUGIN_PATH", scratch_folder().c_str());
  const Variable ranks("OMPI_COMM_WORLD_SIZE", "4");
  const std::string absent = problem_of("libabsent.so");
  EXPECT_TRUE(has(absent, "one of 4 ranks") && has(absent, "libabsent.so in ") &&
              has(absent, scratch_folder()) && has(absent, "libopenmpi-dev"))
      << absent;
  EXPECT_TRUE(has(problem_of(build("empty", "int nothing;\n")), "no function tessera_comm_plugin"));
  EXPECT_TRUE(has(problem_of(build("null", "void* tessera_comm_plugin(void) { return 0; }\n")),
                  "no answer"));
  // The second word is rubbish: whoever calls it crashes.
  const std::string other =
      problem_of(build("other",
                       "static const char* p[] = {\"tessera 0.0, cc 1\", (char*)8};\n"
                       "const void* tessera_comm_plugin(void) { return p; }\n"));
  EXPECT_TRUE(has(other, "another build") && has(other, "tessera 0.0, cc 1") &&
              has(other, comm_abi_tag()))
      << other;
}

}  // namespace
}  // namespace tessera
