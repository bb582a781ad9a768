// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/random.hpp"

#include <cmath>
#include <utility>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/random/philox_tile.hpp"

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
  require<OverflowError>(dtype != DType::b1 || (low >= 0 && high <= 2), "integers: ", low, " to ",
                         high - 1, " is out of bounds for ", dtype);
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

namespace {

// Fisher-Yates: position i is exchanged with one below i + 1, which is drawn as integers are. The
// places of a tile are known before its first exchange, so that memory is asked for all of them.
template <class Word>
void shuffle(i64* p, i64 n, std::uint64_t seed, std::uint64_t draw) {
  constexpr i64 elements = tile_blocks * 16 / static_cast<i64>(sizeof(Word));
  i64 target[elements];
  for (i64 tile = (n - 1) / elements; tile >= 0; --tile) {
    PhiloxTile blocks;
    fill_tile(blocks, seed, draw, static_cast<std::uint64_t>(tile * tile_blocks));
    const i64 begin = tile * elements, count = std::min(elements, n - begin);
    for (i64 j = 0; j < count; ++j) {
      const auto range = static_cast<std::uint64_t>(begin + j + 1);
      const Word word = blocks.word_of<Word>(j);
      std::uint64_t below;
      if constexpr (sizeof(Word) == 4)
        below = word * range >> 32;
      else
        below = high_product(word, range);
      if (static_cast<Word>(word * range) < range) {  // else it is not below any threshold
        const Below<Word> exact(seed, draw, range);
        if (!exact.take(word, below)) below = exact.replaced(range - 1);
      }
      target[j] = static_cast<i64>(below);
      __builtin_prefetch(p + below, 1);
    }
    for (i64 j = count - 1; j >= 0; --j) std::swap(p[begin + j], p[target[j]]);
  }
}

}  // namespace

Array Random::permutation(i64 n, Device device) {
  require<ArgumentError>(n >= 0, "permutation: expected a length, got ", n);
  const std::uint64_t draw = draw_++;
  const Array y = empty_dense({n}, DType::i64, cpu);
  i64* p = y.host<i64>();
  for (i64 i = 0; i < n; ++i) p[i] = i;
  if (n <= i64{1} << 24)  // every range below takes short words
    shuffle<std::uint32_t>(p, n, seed_, draw);
  else
    shuffle<std::uint64_t>(p, n, seed_, draw);
  return y.to(device);
}

}  // namespace tessera
