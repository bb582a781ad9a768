// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers divided by one and the same integer: a product with its reciprocal and a shift instead
// of a division each (Granlund and Montgomery, 1994). Quotients are Python's, rounded down. Private
// to the cpu's kernel.
//   const Divisor<i64> seven(7);   seven.quotient(-8) == -2;   seven.rest(-8) == 6;

#include <bit>
#include <type_traits>

#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/elementwise/math/quotients_avx512.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

template <class T>
class Divisor {
  using U = std::make_unsigned_t<T>;
  static constexpr bool is_signed = std::is_signed_v<T>;
  static constexpr int width = 8 * sizeof(T);
  __extension__ using Twice = std::conditional_t<
      sizeof(T) == 8, unsigned __int128,
      std::conditional_t<sizeof(T) == 4, std::uint64_t,
                         std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint16_t>>>;

 public:
  // Signed numbers without their sign leave a bit to spare, so that the reciprocal of one that is
  // not zero has no more bits than U; that of unsigned ones has one more, which `quotient` adds.
  explicit Divisor(T divisor)
      : divisor_(divisor),
        size_(divisor < 0 ? static_cast<U>(U(0) - static_cast<U>(divisor))
                          : static_cast<U>(divisor)) {
    if (!has_reciprocal()) return;
    const int bits = static_cast<int>(std::bit_width(static_cast<U>(size_ - 1)));
    shift_ = bits - 1;
    if constexpr (is_signed)
      factor_ = static_cast<U>((Twice(1) << (width - 1 + bits)) / size_ + 1);
    else
      factor_ = static_cast<U>(
          (Twice(static_cast<U>((bits < width ? U(U(1) << bits) : U(0)) - size_)) << width) /
              size_ +
          1);
  }

  // 0, 1 and -1 have none here: element::floor_divide and remainder know them.
  bool has_reciprocal() const { return size_ > 1; }

  T quotient(T x) const {
    if constexpr (is_signed) {
      const U sign = static_cast<U>(x >> (width - 1));  // all ones below zero
      const U q = static_cast<U>((high(static_cast<U>(static_cast<U>(x) ^ sign)) >> shift_) ^ sign);
      if (divisor_ > 0) return static_cast<T>(q);
      const U exact = static_cast<U>(x) == static_cast<U>(q * static_cast<Wrap>(size_));
      return static_cast<T>(static_cast<U>(U(0) - q - U(1) + exact));
    } else {
      const U t = high(x);
      return static_cast<T>(static_cast<U>((static_cast<U>(x - t) >> 1) + t) >> shift_);
    }
  }
  // The first of n quotients by registers; gives how many, none where the compiler's loop is best.
  i64 quotients([[maybe_unused]] const T* x, [[maybe_unused]] T* r, [[maybe_unused]] i64 n) const {
#if defined(__x86_64__)
    if constexpr (is_signed && sizeof(T) == 8)
      if (divisor_ > 0 && host_instructions() == Instructions::avx512)
        return quotients_avx512(x, r, n, factor_, shift_);
#endif
    return 0;
  }
  T rest(T x) const {
    return static_cast<T>(static_cast<Wrap>(x) -
                          static_cast<Wrap>(quotient(x)) * static_cast<Wrap>(divisor_));
  }

 private:
  using Wrap = element::Wrapping<T>;
  U high(U x) const {
    return static_cast<U>((static_cast<Twice>(x) * static_cast<Twice>(factor_)) >> width);
  }

  T divisor_;
  U size_, factor_ = 0;
  int shift_ = 0;
};

}  // namespace tessera
