// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/random_cpu.hpp"

#include "tessera/kernels/wide.hpp"

namespace tessera {

void fill_values(const BitsDraw&, const PhiloxTile& blocks, std::uint64_t, std::uint64_t* values) {
  wide([&] {
    for (i64 k = 0; k < 2; ++k)
      for (i64 j = 0; j < tile_blocks; ++j)
        values[k * tile_blocks + j] = join_words(blocks.word[2 * k][j], blocks.word[2 * k + 1][j]);
  });
}

template <class T>
void fill_values(const UniformDraw<T>& draw, const PhiloxTile& blocks, std::uint64_t, T* values) {
  wide([&, out = values, by = draw] {
    for (i64 k = 0; k < by.per_block; ++k) {
      T* __restrict to = out + k * tile_blocks;
#pragma GCC unroll 1
      for (i64 j = 0; j < tile_blocks; ++j)
        if constexpr (std::is_same_v<T, double>)
          to[j] =
              by.scaled(unit_double(join_words(blocks.word[2 * k][j], blocks.word[2 * k + 1][j])));
        else
          to[j] = by.scaled(unit_float<T>(blocks.word[k][j]));
    }
  });
}

namespace {

// Those whose words are not taken, among what was made as if all were.
template <class T, class Word>
void replace_refused(const IntegerDraw<T, Word>& draw, const PhiloxTile& blocks,
                     std::uint64_t position, T* values) {
  std::uint64_t below;
  for (i64 i = 0; i < tile_elements<IntegerDraw<T, Word>>; ++i)
    if (!draw.below.take(blocks.word_of<Word>(i), below))
      values[i] = draw.shifted(draw.below.replaced(position + static_cast<std::uint64_t>(i)));
}

}  // namespace

template <class T>
void fill_values(const IntegerDraw<T, std::uint32_t>& draw, const PhiloxTile& blocks,
                 std::uint64_t position, T* values) {
  const auto by = static_cast<std::uint32_t>(draw.below.range),  // 0: 2^32
      least = static_cast<std::uint32_t>(draw.below.threshold);
  bool refused = false;
  wide([&, out = values, low = draw.low, by, least] {
    // All words in one loop: sixteen alone would be unrolled and not vectorised.
    const std::uint32_t* __restrict word = blocks.word[0];
    T* __restrict to = out;
    std::uint32_t any = 0;
    if (by == 0)
      for (i64 i = 0; i < 4 * tile_blocks; ++i) to[i] = static_cast<T>(low + word[i]);
    else
      for (i64 i = 0; i < 4 * tile_blocks; ++i) {
        const std::uint64_t product = std::uint64_t{word[i]} * by;
        to[i] = static_cast<T>(low + (product >> 32));
        any |= static_cast<std::uint32_t>(product) < least;
      }
    refused = any != 0;
  });
  if (refused) replace_refused(draw, blocks, position, values);
}

template <class T>
void fill_values(const IntegerDraw<T, std::uint64_t>& draw, const PhiloxTile& blocks,
                 std::uint64_t position, T* values) {
  const std::uint64_t range = draw.below.range;
  bool refused = false;
  if (range != 0 && range >> 32 == 0) {
    // Products of halves, which vector registers have. What may be refused has zeros here.
    wide([&, out = values, low = draw.low, by = static_cast<std::uint32_t>(range)] {
      std::uint32_t any = 0;
      for (i64 k = 0; k < 2; ++k) {
        const std::uint32_t* __restrict first = blocks.word[2 * k], * __restrict second =
                                                                        blocks.word[2 * k + 1];
        T* __restrict to = out + k * tile_blocks;
#pragma GCC unroll 1
        for (i64 j = 0; j < tile_blocks; ++j) {
          const std::uint64_t high =
              std::uint64_t{second[j]} * by + (std::uint64_t{first[j]} * by >> 32);
          to[j] = static_cast<T>(low + (high >> 32));
          any |= static_cast<std::uint32_t>(high) == 0;
        }
      }
      refused = any != 0;
    });
  } else {
    for (i64 i = 0; i < 2 * tile_blocks; ++i) {
      std::uint64_t below;
      refused |= !draw.below.take(blocks.word_of<std::uint64_t>(i), below);
      values[i] = draw.shifted(below);
    }
  }
  if (refused) replace_refused(draw, blocks, position, values);
}

namespace {

template <class Draw>
RunFn run_of(const Draw&) {
  return &run_draws<Draw>;
}
template <class T>
RunFn run_of(const NormalDraw<T>&) {
  return run_of_normal<T>();
}

}  // namespace

Prepared prepare_random_cpu(const RandomSpec& spec, Device) {
  Prepared p;
  with_draw(spec, [&](const auto& draw) {
    using Draw = std::decay_t<decltype(draw)>;
    p.task = {run_of(draw),
              std::make_shared<DrawState<Draw>>(DrawState<Draw>{
                  draw, spec,
                  Loop({&spec.out.layout}, {size_of(spec.out.dtype)}, Loop::Order::row_major)})};
  });
  p.flops = 50.0 * static_cast<double>(spec.out.layout.size());
  return p;
}

}  // namespace tessera
