// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/plugin.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "support/support.hpp"
#include "support/text.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

// Compiles a C source to a shared library in the scratch folder; the machine that builds has a
// compiler.
std::string build(const std::string& name, const std::string& source) {
  const std::string base = scratch_folder() + "/" + name;
  std::ofstream(base + ".c") << source;
  const std::string command = cat("cc -shared -fPIC -o ", base, ".so ", base, ".c");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return base + ".so";
}

std::string answer(const std::string& tag, const std::string& device, const std::string& problem) {
  return cat(
      "#include <stdlib.h>\nstruct P { const char* tag; void* device; const char* problem; };\n",
      "static struct P p;\nconst struct P* tessera_plugin(void) {\n  p.tag = ", tag,
      ";\n  p.device = ", device, ";\n  p.problem = ", problem, ";\n  return &p;\n}\n");
}

// The tag of the library under test, from what it says to a wrong one.
std::string library_tag() {
  const std::string path = build("other", answer("\"made elsewhere\"", "(void*)8", "0"));
  const std::string text = load_plugin(path, Kind::cuda).problem;
  const std::size_t at = text.find("this library is [") + 17;
  return text.substr(at, text.find(']', at) - at);
}

TEST(Plugin, AnotherBuildIsRefusedBeforeAnythingIsTouched) {
  // The device pointer is rubbish: whoever looks at it crashes.
  const std::string path = build("wrong_tag", answer("\"tessera 0.0, cc 1\"", "(void*)8", "0"));
  const LoadedPlugin loaded = load_plugin(path, Kind::cuda);
  EXPECT_EQ(loaded.device, nullptr);
  EXPECT_TRUE(has(loaded.problem, "another build") && has(loaded.problem, "tessera 0.0, cc 1"))
      << loaded.problem;
  EXPECT_TRUE(has(loaded.problem, "wrong_tag.so")) << loaded.problem;
}

TEST(Plugin, NoSymbolNoAnswerNoFileNoLibrary) {
  EXPECT_TRUE(has(load_plugin(build("empty", "int nothing;\n"), Kind::cuda).problem,
                  "no function tessera_plugin"));
  EXPECT_TRUE(has(
      load_plugin(build("null", "void* tessera_plugin(void) { return 0; }\n"), Kind::cuda).problem,
      "no answer"));
  EXPECT_TRUE(
      has(load_plugin(build("no_tag", answer("0", "0", "0")), Kind::cuda).problem, "no answer"));
  EXPECT_TRUE(
      has(load_plugin(build("needs",
                            "extern void absent(void);\nvoid* tessera_plugin(void) { absent(); "
                            "return 0; }\n"),
                      Kind::cuda)
              .problem,
          "absent"));
  const std::string text = scratch_folder() + "/text.so";
  std::ofstream(text) << "not an ELF file\n";
  EXPECT_TRUE(has(load_plugin(text, Kind::cuda).problem, "cannot be loaded"));
  EXPECT_TRUE(has(load_plugin(scratch_folder() + "/gone.so", Kind::cuda).problem, "gone.so"));
}

TEST(Plugin, ProblemOfThePluginComesThrough) {
  const std::string tag = cat("\"", library_tag(), "\"");
  const LoadedPlugin loaded =
      load_plugin(build("no_driver", answer(tag, "0", "\"the driver is missing\"")), Kind::cuda);
  EXPECT_EQ(loaded.device, nullptr);
  EXPECT_EQ(loaded.problem, "cuda: the driver is missing");
  EXPECT_TRUE(has(load_plugin(build("silent", answer(tag, "0", "0")), Kind::cuda).problem,
                  "nothing that it can use"));
}

TEST(Plugin, GoodOneLoadsAndItsKindIsChecked) {
  ComputeDevice* device = &compute_device(Kind::sim);
  const std::string pointer = cat("(void*)", reinterpret_cast<std::uintptr_t>(device), "UL");
  const std::string path = build("good", answer(cat("\"", library_tag(), "\""), pointer, "0"));
  EXPECT_EQ(load_plugin(path, Kind::sim).device, device);
  const LoadedPlugin wrong = load_plugin(path, Kind::cuda);
  EXPECT_EQ(wrong.device, nullptr);
  EXPECT_TRUE(has(wrong.problem, "is for sim devices")) << wrong.problem;
}

TEST(Plugin, LooksInTheFoldersOfTheEnvironment) {
  const char* before = std::getenv("TESSERA_PLUGIN_PATH");
  const std::string kept = before ? before : "";
  setenv("TESSERA_PLUGIN_PATH", cat("/nowhere::", scratch_folder()).c_str(), 1);
  const std::string absent = find_plugin(Kind::sim).problem;
  EXPECT_TRUE(has(absent, "libtessera_sim.so") && has(absent, "/nowhere, ") &&
              has(absent, scratch_folder()))
      << absent;
  std::ofstream(scratch_folder() + "/libtessera_sim.so") << "rubbish";
  EXPECT_TRUE(has(find_plugin(Kind::sim).problem, "cannot be loaded"));
  std::remove((scratch_folder() + "/libtessera_sim.so").c_str());
  before ? setenv("TESSERA_PLUGIN_PATH", kept.c_str(), 1) : unsetenv("TESSERA_PLUGIN_PATH");
}

TEST(Plugin, TagNamesTheBuild) {
  EXPECT_TRUE(has(abi_tag(), "tessera ") && has(abi_tag(), "g++ ") && has(abi_tag(), "sizes "));
}

}  // namespace
}  // namespace tessera
