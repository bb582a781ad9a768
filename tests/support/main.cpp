// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"

namespace tessera {

Device test_device() {
  const char* text = std::getenv("TESSERA_TEST_DEVICE");
  return Device::parse(text && *text ? text : "cpu");
}

const std::string& scratch_folder() {
  struct Folder {
    std::string path;
    pid_t owner = getpid();
    Folder() {
      std::string pattern =
          (std::filesystem::temp_directory_path() / "tessera_test_XXXXXX").string();
      require<IoError>(mkdtemp(pattern.data()) != nullptr, "tests: cannot make a folder like '",
                       pattern, "'");
      path = pattern;
    }
    ~Folder() {
      if (owner != getpid()) return;  // a child that a test made ends
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace tessera

int main(int argc, char** argv) {
  try {
    tessera::config().poison.set(true);
    (void)tessera::test_device();  // a wrong name is told before the tests, not by each of them
  } catch (const tessera::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
