// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scratch files: where they are, and the bytes in them.
//   save_npy(path_of("a.npy"), x);   EXPECT_EQ(read_all(path_of("a.npy")).size(), 128 + x.bytes());

#include <fstream>
#include <iterator>
#include <string>

#include "support/support.hpp"

namespace tessera {

inline std::string path_of(const std::string& name) { return scratch_folder() + "/" + name; }

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tessera
