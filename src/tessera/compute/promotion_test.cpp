// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/promotion.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

constexpr MatrixOp all_ops[] = {MatrixOp::matmul,   MatrixOp::matvec, MatrixOp::vecmat,
                                MatrixOp::outer,    MatrixOp::add,    MatrixOp::subtract,
                                MatrixOp::multiply, MatrixOp::divide, MatrixOp::power};

DType low(MatrixOp op, DType a, DType b) { return resolve(op, a, b, Promotion::lowest).dtype; }
DType high(MatrixOp op, DType a, DType b) { return resolve(op, a, b, Promotion::highest).dtype; }

TEST(Promotion, FloatsKeepTheShorterOrTheLonger) {
  const Resolved r = resolve(MatrixOp::matmul, DType::f32, DType::f64, Promotion::lowest);
  EXPECT_EQ(r.dtype, DType::f32);
  EXPECT_TRUE(r.underpromotion);
  const Resolved h = resolve(MatrixOp::matmul, DType::f32, DType::f64, Promotion::highest);
  EXPECT_EQ(h.dtype, DType::f64);
  EXPECT_FALSE(h.underpromotion);
  EXPECT_EQ(low(MatrixOp::matvec, DType::f32, DType::f64), DType::f32);
  EXPECT_FALSE(
      resolve(MatrixOp::matmul, DType::c64, DType::c128, Promotion::lowest).underpromotion);
  EXPECT_EQ(low(MatrixOp::matmul, DType::c64, DType::c128), DType::c64);
  EXPECT_EQ(high(MatrixOp::matmul, DType::c64, DType::c128), DType::c128);
  EXPECT_EQ(low(MatrixOp::matmul, DType::f16, DType::c128), DType::c64);  // the shortest complex
  EXPECT_EQ(high(MatrixOp::matmul, DType::f16, DType::c128), DType::c128);
  EXPECT_EQ(low(MatrixOp::add, DType::f64, DType::c64), DType::c64);
  EXPECT_EQ(high(MatrixOp::add, DType::f64, DType::c64), DType::c128);
  EXPECT_EQ(low(MatrixOp::add, DType::f16, DType::bf16), DType::f32);
}

TEST(Promotion, BitsCountOrStayBits) {
  for (const MatrixOp op :
       {MatrixOp::matmul, MatrixOp::matvec, MatrixOp::vecmat, MatrixOp::add, MatrixOp::subtract})
    EXPECT_EQ(low(op, DType::b1, DType::b1), DType::i32) << name(op);
  EXPECT_EQ(low(MatrixOp::multiply, DType::b1, DType::b1), DType::b1);
  EXPECT_EQ(low(MatrixOp::outer, DType::b1, DType::b1), DType::b1);
  EXPECT_EQ(low(MatrixOp::power, DType::b1, DType::b1), DType::b1);
  EXPECT_EQ(low(MatrixOp::add, DType::b1, DType::i16), DType::i16);
  EXPECT_EQ(low(MatrixOp::add, DType::f32, DType::b1), DType::f32);
  EXPECT_EQ(low(MatrixOp::divide, DType::b1, DType::b1), DType::f32);
}

TEST(Promotion, IntegersLoseNothing) {
  EXPECT_EQ(low(MatrixOp::add, DType::u32, DType::i32), DType::i64);
  EXPECT_EQ(low(MatrixOp::add, DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(low(MatrixOp::add, DType::i64, DType::u8), DType::i64);
  EXPECT_EQ(low(MatrixOp::matmul, DType::u16, DType::u64), DType::u64);
  EXPECT_EQ(low(MatrixOp::divide, DType::i32, DType::i32), DType::f32);
  EXPECT_EQ(high(MatrixOp::divide, DType::i32, DType::i32), DType::f64);
  for (const MatrixOp op : all_ops)
    for (const DType s : {DType::i8, DType::i16, DType::i32, DType::i64}) {
      EXPECT_THROW((void)resolve(op, DType::u64, s, Promotion::lowest), ArgumentError);
      EXPECT_THROW((void)resolve(op, s, DType::u64, Promotion::highest), ArgumentError);
    }
}

// Every other pair has an answer, the same from both sides, that holds the integers of both.
TEST(Promotion, EveryOtherPairResolves) {
  for (const MatrixOp op : all_ops)
    for (int i = 0; i < dtype_count; ++i)
      for (int j = 0; j < dtype_count; ++j)
        for (const Promotion mode : {Promotion::lowest, Promotion::highest}) {
          const DType a = static_cast<DType>(i), b = static_cast<DType>(j);
          if ((a == DType::u64 && is_signed_int(b)) || (b == DType::u64 && is_signed_int(a)))
            continue;
          const DType r = resolve(op, a, b, mode).dtype;
          EXPECT_EQ(r, resolve(op, b, a, mode).dtype) << name(op) << name(a) << name(b);
          EXPECT_EQ(is_complex(r), is_complex(a) || is_complex(b));
          if (is_integer(a) && is_integer(b) && op != MatrixOp::divide) {
            EXPECT_EQ(r, promote(a, b)) << name(op) << name(a) << name(b);
          }
        }
}

TEST(Promotion, TheModeIsOfTheThreadAndTheScope) {
  EXPECT_EQ(promotion(), Promotion::lowest);
  {
    const UsingPromotion longer(parse_promotion("max"));
    EXPECT_EQ(resolve(MatrixOp::add, DType::f32, DType::f64).dtype, DType::f64);
    std::thread([] { EXPECT_EQ(promotion(), Promotion::lowest); }).join();
  }
  EXPECT_EQ(promotion(), Promotion::lowest);
  EXPECT_THROW(parse_promotion("bogus"), ArgumentError);
}

}  // namespace
}  // namespace tessera
