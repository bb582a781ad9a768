// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/quick_power.hpp"

#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {
namespace {

struct TakesPowers {
  template <class T>
  TESSERA_INLINE static bool check(T x, T y) {
    return quick::is_power(x, y);
  }
};
struct TakesLengths {
  template <class T>
  TESSERA_INLINE static bool check(T x, T y) {
    return quick::is_length(x, y);
  }
};

}  // namespace

TESSERA_QUICK_1(float, cbrt, TakesAll)
TESSERA_QUICK_1(double, cbrt, TakesAll)
TESSERA_QUICK_2(float, hypot, hypot, TakesLengths)
TESSERA_QUICK_2(double, hypot, hypot, TakesLengths)
TESSERA_IF_WIDE(TESSERA_QUICK_2(float, power, pow, TakesPowers))
TESSERA_IF_WIDE(TESSERA_QUICK_2(double, power, pow, TakesPowers))
}  // namespace tessera
