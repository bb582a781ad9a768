// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/dtype.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace tessera {
namespace {

// In this order NumPy 2 printed the tables below; bfloat16 is not among its types.
const std::vector<DType> numpy_types{DType::b1,  DType::i8,  DType::i16, DType::i32, DType::i64,
                                     DType::u8,  DType::u16, DType::u32, DType::u64, DType::f16,
                                     DType::f32, DType::f64, DType::c64, DType::c128};
const char* const codes[] = {"b1",  "i8",  "i16", "i32", "i64", "u8",  "u16",
                             "u32", "u64", "f16", "f32", "f64", "c64", "c128"};
// clang-format off
const char* const promote_table[] = {  // numpy.promote_types
    "b1 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128",
    "i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 f32 f64 c64 c128",
    "i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f64 c64 c128",
    "i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64 c128 c128",
    "i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 c128 c128",
    "u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128",
    "u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f64 c64 c128",
    "u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64 c128 c128",
    "u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64 c128 c128",
    "f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f64 c64 c128",
    "f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f64 c64 c128",
    "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128",
    "c64 c64 c64 c128 c128 c64 c64 c128 c128 c64 c64 c128 c64 c128",
    "c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128",
};
const char* const same_kind_table[] = {  // numpy.can_cast(row, column, "same_kind")
    "11111111111111",
    "01111000011111",
    "01111000011111",
    "01111000011111",
    "01111000011111",
    "01111111111111",
    "01111111111111",
    "01111111111111",
    "01111111111111",
    "00000000011111",
    "00000000011111",
    "00000000011111",
    "00000000000011",
    "00000000000011",
};
// clang-format on

TEST(DType, PromotionIsNumPys) {
  for (std::size_t a = 0; a < numpy_types.size(); ++a) {
    std::istringstream row(promote_table[a]);
    for (std::size_t b = 0; b < numpy_types.size(); ++b) {
      std::string expected;
      row >> expected;
      const DType result = promote(numpy_types[a], numpy_types[b]);
      const auto at =
          std::find(numpy_types.begin(), numpy_types.end(), result) - numpy_types.begin();
      EXPECT_EQ(codes[at], expected) << codes[a] << " with " << codes[b];
      EXPECT_EQ(promote(numpy_types[b], numpy_types[a]), result);
    }
  }
}

TEST(DType, SameKindCastsAreNumPys) {
  for (std::size_t a = 0; a < numpy_types.size(); ++a)
    for (std::size_t b = 0; b < numpy_types.size(); ++b)
      EXPECT_EQ(can_cast_same_kind(numpy_types[a], numpy_types[b]), same_kind_table[a][b] == '1')
          << codes[a] << " to " << codes[b];
}

TEST(DType, BFloat16) {
  EXPECT_EQ(promote(DType::bf16, DType::f16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::f64, DType::bf16), DType::f64);
  EXPECT_EQ(promote(DType::b1, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::i8, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::c64), DType::c64);
  EXPECT_EQ(promote(DType::bf16, DType::c128), DType::c128);
  EXPECT_TRUE(can_cast_same_kind(DType::f64, DType::bf16));
}

TEST(DType, NamesSizesAndKinds) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(t)), t);
    EXPECT_EQ(is_integer(t), is_signed_int(t) || is_unsigned_int(t));
    EXPECT_EQ(is_inexact(t), is_float(t) || is_complex(t));
    EXPECT_EQ(size_of(complex_of(t)), size_of(real_of(complex_of(t))) * 2);
  }
  EXPECT_EQ(name(DType::c64), "complex64");
  EXPECT_EQ(size_of(DType::c128), 16);
  EXPECT_EQ(complex_of(DType::i32), DType::c128);
  EXPECT_EQ(complex_of(DType::f32), DType::c64);
  EXPECT_FALSE(parse_dtype("float").has_value());
  EXPECT_FALSE(parse_dtype("").has_value());
}

TEST(DType, DispatchCallsTheTypeOrNamesWhatThereIs) {
  i64 size = 0;
  dispatch<TESSERA_ALL_TYPES>(DType::c64, "here", [&]<class T>() { size = sizeof(T); });
  EXPECT_EQ(size, 8);
  for (int i = 0; i < dtype_count; ++i)
    dispatch<TESSERA_ALL_TYPES>(static_cast<DType>(i), "here", [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, static_cast<DType>(i));
      EXPECT_EQ(static_cast<i64>(sizeof(T)), size_of(dtype_of<T>));
    });
  try {
    dispatch<float, double>(DType::i8, "fft", [&]<class T>() { FAIL(); });
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "fft: no kernel for int8; has float32, float64");
  }
}

}  // namespace
}  // namespace tessera
