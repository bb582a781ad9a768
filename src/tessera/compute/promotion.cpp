// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/promotion.hpp"

#include <algorithm>

namespace tessera {
namespace {

constinit thread_local Promotion mode_of_thread = Promotion::lowest;

constexpr std::string_view op_names[] = {"matmul",   "matvec",   "vecmat", "outer", "add",
                                         "subtract", "multiply", "divide", "power"};

bool counts(MatrixOp op) {
  return op == MatrixOp::matmul || op == MatrixOp::matvec || op == MatrixOp::vecmat ||
         op == MatrixOp::add || op == MatrixOp::subtract;
}

DType signed_of(i64 bytes) {
  return bytes == 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

// Of two integers, neither of them bits.
DType common_integer(MatrixOp op, DType a, DType b) {
  if (is_signed_int(a) == is_signed_int(b)) return size_of(a) < size_of(b) ? b : a;
  const DType with_sign = is_signed_int(a) ? a : b, without = is_signed_int(a) ? b : a;
  require<ArgumentError>(without != DType::u64, name(op), ": no safe integer supertype of ",
                         name(a), " and ", name(b), " exists; convert one of them");
  return signed_of(std::max(size_of(with_sign), 2 * size_of(without)));
}

// Of two real floats: the shorter or the longer one. The two kinds of 16 bits hold neither each
// other's range nor precision: float32 does.
DType common_float(DType a, DType b, Promotion mode) {
  if (a == b) return a;
  if (size_of(a) == size_of(b)) return DType::f32;
  return (size_of(a) < size_of(b)) == (mode == Promotion::lowest) ? a : b;
}

// Something inexact on at least one side.
Resolved common_inexact(DType a, DType b, Promotion mode) {
  if (!is_inexact(a)) return {b};
  if (!is_inexact(b)) return {a};
  const DType real = common_float(real_of(a), real_of(b), mode);
  if (is_complex(a) || is_complex(b)) return {complex_of(real)};
  return {real, size_of(real) < std::max(size_of(a), size_of(b))};
}

}  // namespace

std::string_view name(MatrixOp op) { return op_names[static_cast<std::size_t>(op)]; }
std::string_view name(Promotion mode) { return mode == Promotion::lowest ? "lowest" : "highest"; }

Promotion parse_promotion(std::string_view text) {
  if (text == "lowest" || text == "low" || text == "min") return Promotion::lowest;
  if (text == "highest" || text == "high" || text == "max") return Promotion::highest;
  throw ArgumentError(cat("precision_mode: '", text, "'; expected 'lowest' or 'highest'"));
}

Promotion promotion() { return mode_of_thread; }
void set_promotion(Promotion mode) { mode_of_thread = mode; }

Resolved resolve(MatrixOp op, DType a, DType b, Promotion mode) {
  if (is_inexact(a) || is_inexact(b)) return common_inexact(a, b, mode);
  if (a != DType::b1 && b != DType::b1) {
    const DType integer = common_integer(op, a, b);
    if (op != MatrixOp::divide) return {integer};
  }
  if (op == MatrixOp::divide) return {mode == Promotion::lowest ? DType::f32 : DType::f64};
  if (a != DType::b1) return {a};
  if (b != DType::b1) return {b};
  return {counts(op) ? DType::i32 : DType::b1};
}

}  // namespace tessera
