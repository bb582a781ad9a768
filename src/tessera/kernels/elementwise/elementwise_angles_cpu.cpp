// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/quick_angles.hpp"

#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {
namespace {

struct TakesAngles {
  static constexpr bool all = false;
  template <class T>
  TESSERA_INLINE static bool check(T x) {
    const T size = quick::size_of_number(x);
    return !((size > quick::angle_limit<T>)&(size <= std::numeric_limits<T>::max()));
  }
};
struct TakesRatios {
  template <class T>
  TESSERA_INLINE static bool check(T y, T x) {
    return quick::is_ratio(y, x);
  }
};

}  // namespace

TESSERA_QUICK_1(float, sin, TakesAngles)
TESSERA_QUICK_1(double, sin, TakesAngles)
TESSERA_QUICK_1(float, cos, TakesAngles)
TESSERA_QUICK_1(double, cos, TakesAngles)
TESSERA_QUICK_1(float, tan, TakesAngles)
TESSERA_QUICK_1(double, tan, TakesAngles)
TESSERA_QUICK_1(float, arctan, TakesAll)
TESSERA_QUICK_1(double, arctan, TakesAll)
TESSERA_QUICK_2(float, arctan2, arctan2, TakesRatios)
TESSERA_QUICK_2(double, arctan2, arctan2, TakesRatios)
}  // namespace tessera
