// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data on which ordering goes wrong: few distinct values so that equal ones meet, zeros of both
// signs, infinities, NaNs of several bit patterns. The same for every number of ranks.
//   Array x = awkward(DType::f32, {97}, 5);

#include <random>

#include "support/arrays.hpp"

namespace tessera {

enum class Data : std::uint8_t { mixed, equal, rising, falling };
inline constexpr Data all_data[] = {Data::mixed, Data::equal, Data::rising, Data::falling};

template <class T>
std::vector<T> awkward_values(i64 n, Data data, unsigned seed) {
  std::mt19937_64 engine(seed);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {nan, -nan, inf, -inf, 0.0, -0.0, 1.5, -1.5};
  auto number = [&](i64 i) {
    if (data == Data::equal) return 3.0;
    if (data != Data::mixed) return static_cast<double>((data == Data::rising ? i : n - i) % 100);
    const auto pick = engine() % 24;
    return pick < 8 ? special[pick] : static_cast<double>(static_cast<i64>(engine() % 21) - 10) / 4;
  };
  std::vector<T> v;
  for (i64 i = 0; i < n; ++i) {
    if constexpr (is_complex_v<T>)
      v.push_back(T(c128(number(i), number(i))));
    else if constexpr (std::is_same_v<T, bool>)
      v.push_back(data == Data::mixed ? engine() % 2 : number(i) > 50);
    else if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(data != Data::mixed ? static_cast<i64>(number(i))
                                 : engine() % 3      ? static_cast<i64>(engine() % 9)
                                                     : static_cast<i64>(engine())));
    else
      v.push_back(T(static_cast<float>(number(i))));
  }
  return v;
}

inline Array awkward(DType dtype, const Shape& shape, unsigned seed, Data data = Data::mixed) {
  Array x;
  dispatch<TESSERA_ALL_TYPES>(dtype, "awkward", [&]<class T>() {
    x = laid_out<T>(shape, awkward_values<T>(count_of(shape), data, seed));
  });
  return x;
}

}  // namespace tessera
