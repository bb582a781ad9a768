// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an error says, and whether a text says something.
//   EXPECT_TRUE(has(thrown_text<IoError>([&] { load_npy(path); }), "no such file"));

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tessera {

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The text of the exception E that f throws; fails when it throws nothing.
template <class E, class F>
std::string thrown_text(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace tessera
