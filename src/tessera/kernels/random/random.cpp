// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/random.hpp"

#include <cmath>
#include <utility>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace {

Array drawn(const RandomSpec& spec, const Shape& shape, DType dtype, Device device) {
  Array y = Array::empty(shape, dtype, device);
  draw_into(y, spec);
  return y;
}

}  // namespace

void draw_into(const Array& out, RandomSpec spec) {
  spec.out = operand_of(out);
  launch_now(&KernelTable::random, "random", spec, out.device(), {&out});
}

RandomSpec Random::next(Distribution distribution) {
  RandomSpec spec;
  spec.distribution = distribution;
  spec.seed = seed_;
  spec.draw = draw_++;
  return spec;
}

RandomSpec Random::next_uniform(DType dtype, double low, double high) {
  require<DTypeError>(is_float(dtype), "uniform: expected a real floating dtype, got ", dtype);
  require<ArgumentError>(std::isfinite(low) && std::isfinite(high) && low <= high,
                         "uniform: expected finite bounds, low <= high, got ", low, " and ", high);
  RandomSpec spec = next(Distribution::uniform);
  spec.low = low;
  spec.high = high;
  return spec;
}

RandomSpec Random::next_normal(DType dtype, double mean, double deviation) {
  require<DTypeError>(is_inexact(dtype), "normal: expected a floating or complex dtype, got ",
                      dtype);
  require<ArgumentError>(deviation >= 0, "normal: scale < 0: ", deviation);
  RandomSpec spec = next(Distribution::normal);
  spec.low = mean;
  spec.high = deviation;
  return spec;
}

RandomSpec Random::next_integers(i64 low, i64 high, DType dtype) {
  require<DTypeError>(is_integer(dtype) || dtype == DType::b1,
                      "integers: expected an integer dtype, got ", dtype);
  require<ArgumentError>(low < high, "low >= high: integers from ", low, " to ", high);
  require_fits(Value(low), dtype);
  require_fits(Value(high - 1), dtype);
  RandomSpec spec = next(Distribution::integers);
  spec.integer_low = low;
  spec.integer_range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return spec;
}

Array Random::uniform(const Shape& shape, DType dtype, Device device, double low, double high) {
  return drawn(next_uniform(dtype, low, high), shape, dtype, device);
}

Array Random::normal(const Shape& shape, DType dtype, Device device, double mean,
                     double deviation) {
  return drawn(next_normal(dtype, mean, deviation), shape, dtype, device);
}

Array Random::integers(i64 low, i64 high, const Shape& shape, DType dtype, Device device) {
  return drawn(next_integers(low, high, dtype), shape, dtype, device);
}

// Fisher-Yates on the host: one draw per position.
Array Random::permutation(i64 n, Device device) {
  require<ArgumentError>(n >= 0, "permutation: expected a length, got ", n);
  const std::uint64_t draw = draw_++;
  const Array y = empty_dense({n}, DType::i64, cpu);
  i64* p = y.host<i64>();
  for (i64 i = 0; i < n; ++i) p[i] = i;
  for (i64 i = n - 1; i > 0; --i) {
    const auto range = static_cast<std::uint64_t>(i + 1);
    std::swap(p[i], p[draw_below(seed_, draw, static_cast<std::uint64_t>(i), range)]);
  }
  return y.to(device);
}

}  // namespace tessera
