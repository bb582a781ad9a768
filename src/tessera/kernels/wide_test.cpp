// SPDX-License-Identifier: Apache-2.0
// Whatever vector instructions a host has, results are the same to the last bit.
#include "tessera/kernels/wide.hpp"

#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

constexpr DType all_types[] = {DType::b1,  DType::i8,  DType::i16, DType::i32,  DType::i64,
                               DType::u8,  DType::u16, DType::u32, DType::u64,  DType::f16,
                               DType::f32, DType::f64, DType::c64, DType::bf16, DType::c128};

// Numbers of all sizes and signs with some zeros, infinities and NaNs among them.
Array sample(DType dtype, i64 n, unsigned seed) {
  std::mt19937_64 random(seed);
  const Array x = Array::empty({n, 2}, DType::f64, cpu);
  auto* p = x.host<double>();
  for (i64 i = 0; i < x.size(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    const unsigned kind = static_cast<unsigned>(random() % 64);
    p[i] = kind == 0   ? 0.0
           : kind == 1 ? (is_integer(dtype) ? 1.0 : 1.0 / 0.0)
           : kind == 2 ? (is_integer(dtype) ? -1.0 : 0.0 / 0.0)
           : kind < 20 ? unit * 1e-3
                       : unit * 200;
  }
  if (!is_complex(dtype)) return x.slice(1, 0, 1).reshape({n}).astype(dtype);
  const Array z = Array::empty({n}, DType::c128, cpu);
  std::memcpy(z.host<c128>(), p, static_cast<std::size_t>(n) * sizeof(c128));
  return z.astype(dtype);
}

// All numbers as bits, those of float16 to float64 as float64. Which NaN comes out of two is the
// processor's choice: all are one here.
std::vector<std::uint64_t> bits_of(const Array& x) {
  const bool inexact = is_inexact(x.dtype());
  const DType t = is_complex(x.dtype()) ? DType::c128 : inexact ? DType::f64 : DType::u64;
  const Array wide_x = x.astype(t).contiguous();
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(wide_x.bytes()) / 8);
  if (!bits.empty()) std::memcpy(bits.data(), wide_x.host_data(), bits.size() * 8);
  if (inexact)
    for (std::uint64_t& b : bits)
      if ((b & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52) b = ~std::uint64_t{0};
  return bits;
}

// What make() gives with the instructions that every host has, and with each wider set.
template <class Make>
void expect_same(const Make& make, const std::string& what) {
  use_instructions(Instructions::base);
  const std::vector<std::uint64_t> expected = bits_of(make());
  for (const Instructions level : {Instructions::avx2, Instructions::avx512}) {
    use_instructions(level);
    EXPECT_TRUE(bits_of(make()) == expected) << what << " with set " << static_cast<int>(level);
  }
}

class Wide : public ::testing::Test {
 protected:
  void TearDown() override { use_instructions(before_); }

 private:
  const Instructions before_ = use_instructions(Instructions::avx512);
};

constexpr i64 length = 1237;  // not a multiple of any register, longer than a leaf of a sum

// Functions that are computed by other means than arithmetic are right to some accuracy, and tested
// elsewhere.
bool is_arithmetic(ElementOp op) {
  switch (op) {
    case ElementOp::divide:
    case ElementOp::sqrt: return true;
    case ElementOp::power:
    case ElementOp::cbrt:
    case ElementOp::arctan2:
    case ElementOp::hypot:
    case ElementOp::angle: return false;
    default: return family(op) != ElementFamily::math;
  }
}

TEST_F(Wide, ElementsAreTheSame) {
#define ELEMENT(name, arity, family) ElementOp::name,
  for (const ElementOp op : {TESSERA_ELEMENT_OPS(ELEMENT)}) {
#undef ELEMENT
    if (!is_arithmetic(op)) continue;
    for (const DType t : all_types) {
      const Array a = sample(t, length, 1), b = sample(t, length, 2), c = sample(t, length, 3);
      const std::vector<ArrayOrValue> inputs{a, b, c};
      const std::span<const ArrayOrValue> taken(inputs.data(), static_cast<std::size_t>(arity(op)));
      try {
        elementwise(op, taken);
      } catch (const Error&) {
        continue;  // not for this dtype
      }
      const std::string what = std::string(name(op)) + " of " + std::string(name(t));
      expect_same([&] { return elementwise(op, taken); }, what);
      if (arity(op) != 2) continue;
      const ArrayOrValue by_seven[] = {a, Value(7)}, of_seven[] = {Value(7), a};
      expect_same([&] { return elementwise(op, by_seven); }, what + " and 7");
      expect_same([&] { return elementwise(op, of_seven); }, "7 and " + what);
    }
  }
}

TEST_F(Wide, CastsAreTheSame) {
  for (const DType from : all_types)
    for (const DType to : all_types) {
      // Beyond an integer's range a conversion is the processor's own: numbers that all types hold.
      const Array x = arange(Value(0), Value(length), Value(1), DType::i64, cpu);
      const Array small = ops::remainder(x, Value(100)).astype(from);
      const std::string what = std::string(name(from)) + " to " + std::string(name(to));
      expect_same([&] { return small.astype(to); }, what);
      expect_same([&] { return flip(small, {0}).astype(to); }, what + ", turned");
    }
}

TEST_F(Wide, ReductionsAreTheSame) {
  for (const DType t : all_types) {
    const Array x = sample(t, 42 * length, 4), rows = x.reshape({42, length});
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::sum_abs2, ReduceOp::max,
                              ReduceOp::min, ReduceOp::any, ReduceOp::all, ReduceOp::count_nonzero,
                              ReduceOp::argmax, ReduceOp::argmin}) {
      const std::string what =
          "reduction " + std::to_string(static_cast<int>(op)) + " of " + std::string(name(t));
      expect_same([&] { return reduce(op, x); }, what);
      expect_same([&] { return reduce(op, rows, Axes{0}); }, what + " along axis 0");
      expect_same([&] { return reduce(op, rows, Axes{1}); }, what + " along axis 1");
    }
    expect_same([&] { return vdot(x, flip(x, {0})); }, "vdot of " + std::string(name(t)));
    expect_same([&] { return nonzero(x)[0]; }, "nonzero of " + std::string(name(t)));
  }
}

}  // namespace
}  // namespace tessera

#endif
