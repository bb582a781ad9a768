// SPDX-License-Identifier: Apache-2.0
// Packing, unpacking and transposing bits. Transposing goes by blocks of 512 x 512 bits, which are
// whole cache lines on both sides; a block is 8 x 8 squares of 64 x 64 bits.
#include <algorithm>
#include <array>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"

namespace tessera {
namespace {

using Word = std::uint64_t;
constexpr i64 grain = 1 << 14;  // bits

struct State {
  i64 rows = 0, columns = 0, words = 0;
  i64 in_row = 0, in_column = 0, out_row = 0, out_column = 0;
  Loop batch;  // in, out
  void (*row)(const State& s, const void* in, void* out) = nullptr;
};

template <class T>
bool is_set(const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t byte;  // a bool of foreign memory may hold any byte
    std::memcpy(&byte, &v, 1);
    return byte != 0;
  } else {
    return convert<bool>(v);
  }
}

// Bit j of the result: byte j is not zero.
inline Word set_bytes(const std::uint8_t* p) {
  constexpr Word low = 0x7f7f7f7f7f7f7f7f, ones = 0x0101010101010101;
  Word v;
  std::memcpy(&v, p, 8);
  const Word nonzero = ((((v & low) + low) | v) >> 7) & ones;
  return (nonzero * 0x0102040810204080) >> 56;
}

template <class T>
void pack_row(const State& s, const void* from, void* to) {
  const T* in = static_cast<const T*>(from);
  Word* out = static_cast<Word*>(to);
  for (i64 w = 0; w < s.words; ++w) {
    const i64 j0 = w * 64, n = std::clamp<i64>(s.columns - j0, 0, 64);
    Word word = 0;
    if (sizeof(T) == 1 && s.in_column == 1 && n == 64) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(in + j0);
      for (int b = 0; b < 8; ++b) word |= set_bytes(bytes + 8 * b) << (8 * b);
    } else {
      for (i64 j = 0; j < n; ++j)
        word |= static_cast<Word>(is_set(in[(j0 + j) * s.in_column])) << j;
    }
    out[w] = word;
  }
}

// Byte j of the result is bit j of a byte: 0 or 1.
inline Word bytes_of_bits(Word byte) {
  constexpr Word ones = 0x0101010101010101, own = 0x8040201008040201;
  return (((byte * ones) & own) + 0x7f * ones) >> 7 & ones;
}

template <class T>
void unpack_row(const State& s, const void* from, void* to) {
  const Word* in = static_cast<const Word*>(from);
  T* out = static_cast<T*>(to);
  for (i64 w = 0; w < s.words; ++w) {
    const i64 j0 = w * 64, n = std::clamp<i64>(s.columns - j0, 0, 64);
    std::uint8_t truths[64];
    for (int b = 0; b < 8; ++b) {
      const Word eight = bytes_of_bits(in[w] >> (8 * b) & 255);
      std::memcpy(truths + 8 * b, &eight, 8);
    }
    if (s.out_column == 1)
      for (i64 j = 0; j < n; ++j) out[j0 + j] = convert<T>(truths[j]);
    else
      for (i64 j = 0; j < n; ++j) out[(j0 + j) * s.out_column] = convert<T>(truths[j]);
  }
}

void run_rows(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  parallel_for(
      s.batch.size() * s.rows, std::max<i64>(1, grain / (s.columns + 1)), [&](i64 begin, i64 end) {
        for (i64 at = begin; at < end; ++at) {
          const Cursor item(s.batch, at / s.rows);
          const i64 r = at % s.rows;
          s.row(s, static_cast<const std::byte*>(launch.operand[0]) + item.offset(0) + r * s.in_row,
                static_cast<std::byte*>(launch.operand[1]) + item.offset(1) + r * s.out_row);
        }
      });
}

// Bit c of word r becomes bit r of word c: halves are exchanged, then quarters, down to bits.
void transpose_square(Word (&x)[64]) {
  Word mask = 0x00000000ffffffff;
  for (int half = 32; half > 0; half /= 2, mask ^= mask << half)
    for (int r = 0; r < 64; r = ((r | half) + 1) & ~half) {
      const Word t = ((x[r] >> half) ^ x[r | half]) & mask;
      x[r] ^= t << half;
      x[r | half] ^= t;
    }
}

// Block (i, j) of 512 rows and 512 columns. Strides in bytes.
void transpose_block(const State& s, const std::byte* in, std::byte* out, i64 bi, i64 bj) {
  alignas(64) Word turned[512][8], square[64];
  const i64 wide = std::min<i64>(512, s.columns - bj * 512);
  for (i64 i = 0; i < 8; ++i) {
    const i64 first = bi * 512 + i * 64, live = std::clamp<i64>(s.rows - first, 0, 64);
    for (i64 j = 0; j < 8; ++j) {
      for (i64 r = 0; r < live; ++r)
        square[r] = reinterpret_cast<const Word*>(in + (first + r) * s.in_row)[bj * 8 + j];
      std::fill(square + live, square + 64, Word{0});
      transpose_square(square);
      for (i64 r = 0; r < 64; ++r) turned[j * 64 + r][i] = square[r];
    }
  }
  for (i64 r = 0; r < wide; ++r)
    std::memcpy(out + (bj * 512 + r) * s.out_row + bi * 64, turned[r], 64);
}

void run_transpose(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 down = (s.rows + 511) / 512, across = (s.columns + 511) / 512, all = down * across;
  parallel_for(s.batch.size() * all, 1, [&](i64 begin, i64 end) {
    for (i64 at = begin; at < end; ++at) {
      const Cursor item(s.batch, at / all);
      transpose_block(s, static_cast<const std::byte*>(launch.operand[0]) + item.offset(0),
                      static_cast<std::byte*>(launch.operand[1]) + item.offset(1), at % all % down,
                      at % all / down);
    }
  });
}

}  // namespace

Prepared prepare_bitmove_cpu(const BitMoveSpec& spec, Device) {
  check_bitmove(spec);
  auto state = std::make_shared<State>();
  State& s = *state;
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  const i64 last = in.ndim() - 1, in_size = size_of(spec.in.dtype),
            out_size = size_of(spec.out.dtype);
  s.rows = in.shape[last - 1];
  s.columns = spec.columns;
  s.words = bit_words(spec.columns);
  s.in_row = in.strides[last - 1] * in_size;
  s.in_column = in.strides[last];
  s.out_row = out.strides[last - 1] * out_size;
  s.out_column = out.strides[last];
  const Layout ib = batch_layout(in), ob = batch_layout(out);
  s.batch = Loop({&ib, &ob}, {in_size, out_size});
  if (spec.kind == BitMove::pack)
    dispatch<TESSERA_ALL_TYPES>(spec.in.dtype, "bit_pack",
                                [&]<class T>() { s.row = &pack_row<T>; });
  if (spec.kind == BitMove::unpack)
    dispatch<TESSERA_ALL_TYPES>(spec.out.dtype, "bit_unpack",
                                [&]<class T>() { s.row = &unpack_row<T>; });
  Prepared p;
  p.task = {spec.kind == BitMove::transpose ? &run_transpose : &run_rows, std::move(state)};
  return p;
}

}  // namespace tessera
