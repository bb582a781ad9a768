// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <numeric>

#include "tessera/base/error.hpp"
#include "tessera/base/small_vec.hpp"

namespace tessera {
namespace {

TEST(Text, CatJoinsWhatItIsGiven) {
  struct Named {
    std::string str() const { return "named"; }
  };
  EXPECT_EQ(cat("a", 1, ' ', std::string("b"), 2.5, true, Named{}, -7L, 0.1f > 0),
            "a1 b2.5truenamed-7true");
  EXPECT_EQ(cat(), "");
  char letters[8] = {'a', 'b', '\0', 'c'};
  const char* word = letters;
  const std::string_view view("viewed", 4);
  const i64 least = std::numeric_limits<i64>::min();
  EXPECT_EQ(cat(letters, word, view, std::string("n\0l", 3).size(), static_cast<signed char>(-3)),
            "ababview3-3");
  EXPECT_EQ(cat(least, ' ', ~std::uint64_t{0}, ' ', false, ' ', 0.25f, -0.0, std::string()),
            "-9223372036854775808 18446744073709551615 false 0.25-0");
  EXPECT_EQ(cat(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1e300), "1e+300");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}), "1, 2, 3");
  EXPECT_EQ(join(std::vector<int>{}), "");
  EXPECT_EQ(join(std::vector<std::string>{"x", "y"}, "/"), "x/y");
}

TEST(Text, BytesBothWays) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(i64{10} << 20), "10.0 MiB");
  EXPECT_EQ(bytes_text(i64{3} << 50), "3.00 PiB");
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("512MB"), 512000000);
  EXPECT_EQ(parse_bytes("2GiB"), i64{2} << 30);
  EXPECT_EQ(parse_bytes("2 gib"), i64{2} << 30);
  EXPECT_EQ(parse_bytes("1.5k"), 1536);
  EXPECT_EQ(parse_bytes("7 B"), 7);
  EXPECT_EQ(parse_bytes("1tb"), 1000000000000);
  for (const char* bad :
       {"", "x", "-1", "5 apples", "GiB", "1e30", "nan", "inf", "1 2", "9999999999GiB"}) {
    try {
      (void)parse_bytes(bad);
      ADD_FAILURE() << bad;
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find(cat("'", bad, "'")), std::string::npos);
    }
  }
}

TEST(Text, RequireFormatsOnlyWhenItThrows) {
  EXPECT_NO_THROW(require<ShapeError>(true, "never"));
  try {
    require<ShapeError>(false, "solve: got ", 3, " rows, expected ", 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "solve: got 3 rows, expected 4");
  }
}

// The same operations on a SmallVec and on a standard container.
TEST(SmallVec, AgreesWithAStandardContainer) {
  std::uint64_t state = 7;
  const auto next = [&](i64 n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<i64>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  for (int run = 0; run < 200; ++run) {
    SmallVec<i64, 3> v;
    std::deque<i64> model;
    for (int step = 0; step < 60; ++step) {
      const i64 x = next(1000), size = v.size();
      switch (next(9)) {
        case 0:
        case 1:
        case 2:
          v.push_back(x);
          model.push_back(x);
          break;
        case 3:
          if (size > 0) {
            v.pop_back();
            model.pop_back();
          }
          break;
        case 4: {
          const i64 at = next(size + 1);
          v.insert(at, x);
          model.insert(model.begin() + at, x);
          break;
        }
        case 5:
          if (size > 0) {
            const i64 at = next(size);
            v.erase(at);
            model.erase(model.begin() + at);
          }
          break;
        case 6: {
          const i64 n = next(8);
          v.resize(n, x);
          model.resize(static_cast<std::size_t>(n), x);
          break;
        }
        case 7: {
          SmallVec<i64, 3> copy = v, moved = std::move(v);
          ASSERT_EQ(copy, moved);
          ASSERT_TRUE(
              v.empty());  // NOLINT(bugprone-use-after-move): a moved-from SmallVec is empty
          v = copy;
          v = std::move(moved);
          break;
        }
        default: {
          SmallVec<i64, 3> other{x, x + 1};
          v.append(other);
          model.insert(model.end(), {x, x + 1});
          break;
        }
      }
      ASSERT_TRUE(std::equal(v.begin(), v.end(), model.begin(), model.end()));
      if (!v.empty()) {
        ASSERT_EQ(v.front(), model.front());
        ASSERT_EQ(v.back(), model.back());
      }
    }
  }
}

TEST(SmallVec, AppendsItself) {
  SmallVec<i64, 2> v{1, 2, 3};
  SmallVec<i64, 2> twice = v;
  twice.append(v);
  v.append(SmallVec<i64, 2>(v));
  EXPECT_EQ(v, twice);
  v = *&v;
  EXPECT_EQ(v.size(), 6);
}

}  // namespace
}  // namespace tessera
