// SPDX-License-Identifier: Apache-2.0
// Sums of selected rows. As with unions (see [tables of rows] in any_cpu.cpp), all 256 sums of
// eight rows stand in a table, half a cache line wide, and a row of bits takes one per byte: an
// eighth of the additions of a dense product. Where registers of 16 numbers can be permuted they
// are the tables (sums.hpp). With few rows of bits no tables pay; their set bits are walked. Each
// way the order of the additions depends on neither threads nor strides.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/base/real_of.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/bitmatmul/sums.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"

namespace tessera {
namespace {

using Word = std::uint64_t;
constexpr i64 few_rows = 96;
constexpr i64 block_bytes = 128 << 10;  // of sums that wait in the second cache

struct State {
  i64 m = 0, n = 0, k = 0;
  i64 bits_row = 0, in_row = 0, in_column = 0, out_row = 0, out_column = 0;
  i64 width = 1, row_block = 1;  // of one task
  Loop batch;                    // bits, in, out
  void (*block)(const State& s, const Word* bits, const void* in, void* out, i64 i0, i64 i1, i64 j0,
                i64 j1) = nullptr;
};

// Columns [j0, j1) of row k, the rest zero.
template <class In, class Sum, int Width>
void load_row(const State& s, const In* in, i64 k, i64 j0, i64 j1, Sum* to) {
  const In* row = in + k * s.in_row + j0 * s.in_column;
  for (i64 j = 0; j < Width; ++j) to[j] = j < j1 - j0 ? convert<Sum>(row[j * s.in_column]) : Sum(0);
}

// to += the sum of the rows. Sixteen bytes at a time by hand: compilers give up on loops this
// short.
template <class Sum, int Width, class... Rows>
inline void add_rows(Sum* to, const Sum* a, const Rows*... rest) {
  if constexpr (Width * sizeof(Sum) % 16 == 0) {
    using V [[gnu::vector_size(16)]] = typename RealOf<Sum>::type;
    constexpr int step = 16 / sizeof(Sum);
    const auto load = [](const Sum* p) {
      V v;
      std::memcpy(&v, p, 16);
      return v;
    };
    for (int j = 0; j < Width; j += step) {
      const V sum = load(to + j) + (load(a + j) + ... + load(rest + j));
      std::memcpy(static_cast<void*>(to + j), &sum, 16);
    }
  } else {
    for (int j = 0; j < Width; ++j) to[j] = to[j] + (a[j] + ... + rest[j]);
  }
}

// Sums of rows [k0, k0 + 8) of in; those from s.k on count as zero.
template <class In, class Sum, int Width>
void fill_table(const State& s, const In* in, i64 k0, i64 j0, i64 j1, Sum* table) {
  std::fill(table, table + Width, Sum(0));
  for (i64 r = 0; r < 8; ++r) {
    Sum row[Width];
    if (k0 + r < s.k)
      load_row<In, Sum, Width>(s, in, k0 + r, j0, j1, row);
    else
      std::fill(row, row + Width, Sum(0));
    const i64 half = i64{1} << r;
    for (i64 x = 0; x < half; ++x)
      for (int j = 0; j < Width; ++j) table[(half + x) * Width + j] = table[x * Width + j] + row[j];
  }
}

template <class In, class Sum, int Width>
void by_tables(const State& s, const Word* bits, const In* in, i64 i0, i64 i1, i64 j0, i64 j1,
               Sum* sums) {
  alignas(64) Sum table[4][256 * Width];
  for (i64 k0 = 0; k0 < s.k; k0 += 32) {
    for (i64 t = 0; t < 4; ++t) fill_table<In, Sum, Width>(s, in, k0 + 8 * t, j0, j1, table[t]);
    const Word* words = bits + k0 / 64 * s.m;
    for (i64 i = i0; i < i1; ++i) {
      const Word x = words[i] >> (k0 % 64);
      add_rows<Sum, Width>(sums + (i - i0) * Width, table[0] + (x & 255) * Width,
                           table[1] + (x >> 8 & 255) * Width, table[2] + (x >> 16 & 255) * Width,
                           table[3] + (x >> 24 & 255) * Width);
    }
  }
}

template <class In, class Sum, int Width>
void by_bits(const State& s, const Word* bits, const In* in, i64 i0, i64 i1, i64 j0, i64 j1,
             Sum* sums) {
  for (i64 i = i0; i < i1; ++i)
    for (i64 w = 0; w < (s.k + 63) / 64; ++w)
      for (Word x = bits[i * s.bits_row + w]; x != 0; x &= x - 1) {
        Sum row[Width];
        load_row<In, Sum, Width>(s, in, w * 64 + std::countr_zero(x), j0, j1, row);
        add_rows<Sum, Width>(sums + (i - i0) * Width, row);
      }
}

template <class In, class Sum, int Width>
void block(const State& s, const Word* bits, const void* from, void* onto, i64 i0, i64 i1, i64 j0,
           i64 j1) {
  alignas(64) std::byte memory[block_bytes];
  const In* in = static_cast<const In*>(from);
  Sum *sums = reinterpret_cast<Sum*>(memory), *out = static_cast<Sum*>(onto);
  std::fill(sums, sums + (i1 - i0) * Width, Sum(0));
  if (s.m < few_rows)
    by_bits<In, Sum, Width>(s, bits, in, i0, i1, j0, j1, sums);
  else
    by_tables<In, Sum, Width>(s, bits, in, i0, i1, j0, j1, sums);
  for (i64 i = i0; i < i1; ++i)
    for (i64 j = j0; j < j1; ++j)
      out[i * s.out_row + j * s.out_column] = sums[(i - i0) * Width + j - j0];
}

void block_in_registers(const State& s, const Word* bits, const void* from, void* onto, i64 i0,
                        i64 i1, i64 j0, i64 j1) {
  alignas(64) float sums[block_bytes / sizeof(float)], rows[sums_words * 64 * sums_columns];
  const float* in = static_cast<const float*>(from);
  float* out = static_cast<float*>(onto);
  std::fill(sums, sums + (i1 - i0 + 31) / 32 * 32 * sums_columns, 0.0f);
  for (i64 k0 = 0; k0 < s.k; k0 += sums_words * 64) {
    const i64 words = std::min(sums_words, (s.k - k0 + 63) / 64);
    for (i64 k = 0; k < words * 64; ++k) {
      float* row = rows + k * sums_columns;
      if (k0 + k < s.k)
        load_row<float, float, sums_columns>(s, in, k0 + k, j0, j1, row);
      else
        std::fill(row, row + sums_columns, 0.0f);
    }
    bit_sums_avx512()->add(words, s.m, bits + k0 / 64 * s.m + i0, i1 - i0, rows, sums);
  }
  for (i64 i = i0; i < i1; ++i)
    for (i64 j = j0; j < j1; ++j)
      out[i * s.out_row + j * s.out_column] =
          sums[((i - i0) / sums_rows * sums_columns + j - j0) * sums_rows + (i - i0) % sums_rows];
}

// The words of all rows, first words first: rows that are walked down lie next to each other then.
void turn(const State& s, const Word* bits, Word* turned) {
  parallel_for(s.m, 1024, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i)
      for (i64 w = 0; w < (s.k + 63) / 64; ++w) turned[w * s.m + i] = bits[i * s.bits_row + w];
  });
}

void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 down = (s.m + s.row_block - 1) / s.row_block, across = (s.n + s.width - 1) / s.width;
  const auto one = [&](i64 number, Word* turned) {
    const Cursor item(s.batch, number);
    const auto operand = [&](int i) {
      return static_cast<std::byte*>(launch.operand[i]) + item.offset(i);
    };
    const Word* bits = reinterpret_cast<const Word*>(operand(0));
    if (turned != nullptr) {
      turn(s, bits, turned);
      bits = turned;
    }
    parallel_for(down * across, 1, [&](i64 begin, i64 end) {
      for (i64 at = begin; at < end; ++at) {
        const i64 i0 = at % down * s.row_block, j0 = at / down * s.width;
        s.block(s, bits, operand(1), operand(2), i0, std::min(s.m, i0 + s.row_block), j0,
                std::min(s.n, j0 + s.width));
      }
    });
  };
  if (s.m < few_rows) {
    parallel_for(s.batch.size(), 1, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) one(i, nullptr);
    });
  } else {
    for (i64 i = 0; i < s.batch.size(); ++i) one(i, static_cast<Word*>(launch.workspace));
  }
}

template <class In, class Sum>
void choose(State& s) {
  constexpr int wide = 32 / sizeof(Sum);
  s.width = s.n == 1 ? 1 : wide;
  s.block = s.n == 1 ? &block<In, Sum, 1> : &block<In, Sum, wide>;
  const i64 most = std::min<i64>(2048, block_bytes / (s.width * static_cast<i64>(sizeof(Sum))));
  if constexpr (std::is_same_v<In, float>)
    if (s.n > 1 && s.m >= few_rows && bit_sums_avx512() != nullptr) s.block = &block_in_registers;
  // Few rows are cut up for the threads; where tables are made, blocks are worth them.
  s.row_block = s.m < few_rows ? 4 : most;
}

}  // namespace

Prepared prepare_bitdense_cpu(const BitDenseSpec& spec, Device) {
  check_bitdense(spec);
  auto state = std::make_shared<State>();
  State& s = *state;
  const Layout &bits = spec.bits.layout, &in = spec.in.layout, &out = spec.out.layout;
  const i64 last = out.ndim() - 1;
  s.m = out.shape[last - 1];
  s.n = out.shape[last];
  s.k = spec.inner;
  s.bits_row = bits.strides[last - 1];
  s.in_row = in.strides[last - 1];
  s.in_column = in.strides[last];
  s.out_row = out.strides[last - 1];
  s.out_column = out.strides[last];
  const Layout bb = batch_layout(bits), ib = batch_layout(in), ob = batch_layout(out);
  s.batch = Loop({&bb, &ib, &ob}, {8, size_of(spec.in.dtype), size_of(spec.out.dtype)});
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double, c64, c128>(
      spec.in.dtype, "bit_dense", [&]<class T>() {
        // Sums that wrap are unsigned; they are read as what they are modulo 2^64.
        if constexpr (std::is_integral_v<T>)
          choose<T, std::uint64_t>(s);
        else
          choose<T, T>(s);
      });
  Prepared p;
  if (s.m >= few_rows) p.workspace = (s.k + 63) / 64 * s.m * 8;
  p.flops = static_cast<double>(out.size()) * static_cast<double>(s.k) *
            (is_complex(spec.out.dtype) ? 2 : 1);
  p.task = {&run, std::move(state)};
  return p;
}

}  // namespace tessera
