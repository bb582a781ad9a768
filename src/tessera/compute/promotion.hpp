// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dtype in which an operation on two matrices is done. Unlike arrays, which follow NumPy,
// matrices keep what is short: of two floats the shorter one (`lowest`, the default; what is lost
// is said) or the longer one (`highest`). Integers never lose: the result holds both, or there is
// none. Not for: the elements' own overflow, which the operation checks.
//   resolve(MatrixOp::matmul, DType::f32, DType::f64).dtype == DType::f32

#include <optional>
#include <string_view>

#include "tessera/base/dtype.hpp"

namespace tessera {

enum class Promotion : std::uint8_t { lowest, highest };
enum class MatrixOp : std::uint8_t {
  matmul,
  matvec,
  vecmat,
  outer,
  add,
  subtract,
  multiply,
  divide,
  power
};
inline constexpr int matrix_op_count = 9;

TESSERA_API std::string_view name(MatrixOp op);
TESSERA_API std::string_view name(Promotion mode);
// "lowest", "low", "min", "highest", "high", "max"; ArgumentError for anything else.
TESSERA_API Promotion parse_promotion(std::string_view text);

// The mode of this thread.
TESSERA_API Promotion promotion();
TESSERA_API void set_promotion(Promotion mode);

// Another mode until the end of the scope, on this thread.
class TESSERA_API UsingPromotion {
 public:
  explicit UsingPromotion(Promotion mode) : before_(promotion()) { set_promotion(mode); }
  ~UsingPromotion() { set_promotion(before_); }
  UsingPromotion(const UsingPromotion&) = delete;
  UsingPromotion& operator=(const UsingPromotion&) = delete;

 private:
  Promotion before_;
};

struct Resolved {
  DType dtype;
  // Set where a longer real float was shortened; users are told once.
  bool underpromotion = false;
};

// ArgumentError where no dtype holds the integers of both (uint64 with a signed one). A product of
// two bit matrices counts: int32.
TESSERA_API Resolved resolve(MatrixOp op, DType a, DType b, Promotion mode);
inline Resolved resolve(MatrixOp op, DType a, DType b) { return resolve(op, a, b, promotion()); }

}  // namespace tessera
