// SPDX-License-Identifier: Apache-2.0
// Note [tables of rows]: whether there is a path asks for the union of the rows of b that a row of
// a selects. For a few rows of b, the unions of all their subsets stand in a table; a row of a then
// takes one of them per group of its bits instead of several rows. A row whose bits are all set
// cannot change any more: it is looked at no further, so dense matrices are done after a few rows
// of b.
#include <algorithm>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

using Word = std::uint64_t;
constexpr i64 panel = 8;                           // words of a row of a table: a cache line
constexpr i64 most_rows = 2048, least_rows = 256;  // of the result that one task takes

// Rows of b that are united at once, half a word of a. Five tables of 64 or 128 unions take 28 kB,
// less than the first cache: fewer and longer ones are made for longer than they are used.
constexpr i64 depth = 32;
constexpr i64 group_bits[] = {6, 6, 6, 7, 7};
constexpr i64 unions = 3 * 64 + 2 * 128;

struct State {
  i64 m = 0, k = 0, columns = 0, words = 0;  // words of a row of b and of the result
  i64 a_row = 0, b_row = 0, c_row = 0;
  i64 row_block = 0;
  Loop batch;  // any: a, b, out; closure: a, out
};

// table[x] = union of the `count` rows whose bit is set in x, `n` words each. Rows from `live` on
// are empty.
inline void fill_table(Word* table, const Word* rows, i64 row_step, i64 count, i64 live, i64 n) {
  std::fill(table, table + n, Word{0});
  for (i64 r = 0; r < count; ++r) {
    const i64 half = i64{1} << r;
    for (i64 x = 0; x < half; ++x) {
      const Word* from = table + x * n;
      Word* to = table + (half + x) * n;
      if (r < live) {
        const Word* row = rows + r * row_step;
        for (i64 w = 0; w < n; ++w) to[w] = from[w] | row[w];
      } else {
        std::copy(from, from + n, to);
      }
    }
  }
}

inline void unite(Word* __restrict to, const Word* __restrict a, const Word* __restrict b, i64 n) {
  for (i64 w = 0; w < n; ++w) to[w] |= a[w] | b[w];
}

// Bits [k0, k0 + count) of a row, all of them in one word.
inline Word pick(const Word* row, i64 k0, i64 count) {
  return row[k0 / 64] >> (k0 % 64) & ((Word{1} << count) - 1);
}

// The tables of `depth` rows of b from k0 on, one after the other.
inline void fill_tables(const State& s, const Word* b, i64 k0, i64 w0, Word* table) {
  for (const i64 bits : group_bits) {
    fill_table(table, b + k0 * s.b_row + w0, s.b_row, bits, std::clamp<i64>(s.k - k0, 0, bits),
               panel);
    table += (i64{1} << bits) * panel;
    k0 += bits;
  }
}

// A row of the result takes what the bits x of its row of a select; whether all of `full` is set.
inline bool unite_groups(Word* __restrict to, Word x, const Word* __restrict table,
                         const Word* __restrict full) {
  Word sum[panel];
  for (i64 w = 0; w < panel; ++w) sum[w] = to[w];
  for (const i64 bits : group_bits) {
    const Word* const from = table + (x & ((Word{1} << bits) - 1)) * panel;
    for (i64 w = 0; w < panel; ++w) sum[w] |= from[w];
    table += (i64{1} << bits) * panel;
    x >>= bits;
  }
  Word missing = 0;
  for (i64 w = 0; w < panel; ++w) {
    to[w] = sum[w];
    missing |= full[w] & ~sum[w];
  }
  return missing == 0;
}

// Eight words of rows [i0, i1) of the result.
inline void any_block(const State& s, const Word* a, const Word* b, Word* c, i64 i0, i64 i1,
                      i64 w0) {
  alignas(64) Word table[unions * panel];
  alignas(64) Word full[panel];
  for (i64 w = 0; w < panel; ++w) {
    const i64 live = std::clamp<i64>(s.columns - 64 * (w0 + w), 0, 64);
    full[w] = live == 64 ? ~Word{0} : (Word{1} << live) - 1;
  }
  std::uint16_t open[most_rows];  // rows that lack a bit, from i0
  i64 left = i1 - i0;
  for (i64 i = 0; i < left; ++i) {
    open[i] = static_cast<std::uint16_t>(i);
    std::fill_n(c + (i0 + i) * s.c_row + w0, panel, Word{0});
  }
  for (i64 k0 = 0; k0 < s.k && left > 0; k0 += depth) {
    fill_tables(s, b, k0, w0, table);
    i64 kept = 0;
    for (i64 at = 0; at < left; ++at) {
      const i64 i = i0 + open[at];
      const Word x = pick(a + i * s.a_row, k0, depth);
      const bool done = unite_groups(c + i * s.c_row + w0, x, table, full);
      open[kept] = open[at];
      kept += done ? 0 : 1;
    }
    left = kept;
  }
}

const Word* words_at(const Launch& l, int operand, const Cursor& c) {
  return reinterpret_cast<const Word*>(static_cast<const std::byte*>(l.operand[operand]) +
                                       c.offset(operand));
}

void run_any(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 down = (s.m + s.row_block - 1) / s.row_block, across = s.words / panel,
            all = down * across;
  parallel_for(s.batch.size() * all, 1, [&](i64 begin, i64 end) {
    for (i64 at = begin; at < end; ++at) {
      const Cursor item(s.batch, at / all);
      const i64 i0 = at % all / across * s.row_block;
      wide([&] {
        any_block(s, words_at(launch, 0, item), words_at(launch, 1, item),
                  const_cast<Word*>(words_at(launch, 2, item)), i0, std::min(s.m, i0 + s.row_block),
                  at % all % across * panel);
      });
    }
  });
}

// Paths that pass through rows [k0, k0 + 16) only, between those rows.
void close_pivots(const State& s, Word* r, i64 k0, i64 k1) {
  for (i64 k = k0; k < k1; ++k)
    for (i64 i = k0; i < k1; ++i) {
      Word* row = r + i * s.c_row;
      const Word* via = r + k * s.c_row;
      if (i != k && (row[k / 64] >> (k % 64) & 1) != 0)
        for (i64 w = 0; w < s.words; ++w) row[w] |= via[w];
    }
}

// Warshall's algorithm, 16 vertices at a time: once the 16 rows know their own detours, every other
// row takes the union of those that it reaches.
void close(const State& s, Word* r, Word* table) {
  for (i64 k0 = 0; k0 < s.m; k0 += 16) {
    const i64 k1 = std::min(s.m, k0 + 16);
    close_pivots(s, r, k0, k1);
    Word* tables[2] = {table, table + 256 * s.words};
    for (i64 t = 0; t < 2; ++t)
      wide([&] {
        fill_table(tables[t], r + (k0 + 8 * t) * s.c_row, s.c_row, 8,
                   std::clamp<i64>(k1 - k0 - 8 * t, 0, 8), s.words);
      });
    parallel_for(s.m, std::max<i64>(1, (1 << 16) / s.words), [&](i64 begin, i64 end) {
      wide([&] {
        for (i64 i = begin; i < end; ++i) {
          if (i >= k0 && i < k1) continue;  // read by nobody here, and complete
          Word* to = r + i * s.c_row;
          const Word x = pick(to, k0, 16);
          if (x == 0) continue;
          unite(to, tables[0] + (x & 255) * s.words, tables[1] + (x >> 8) * s.words, s.words);
        }
      });
    });
  }
}

void run_closure(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  for (i64 i = 0; i < s.batch.size(); ++i) {
    const Cursor item(s.batch, i);
    const Word* a = words_at(launch, 0, item);
    Word* r = const_cast<Word*>(words_at(launch, 1, item));
    if (a != r)
      for (i64 row = 0; row < s.m; ++row)
        std::memcpy(r + row * s.c_row, a + row * s.a_row, static_cast<std::size_t>(s.words) * 8);
    close(s, r, static_cast<Word*>(launch.workspace));
  }
}

}  // namespace

Prepared prepare_any_cpu(const BitMatmulSpec& spec) {
  auto state = std::make_shared<State>();
  State& s = *state;
  const Layout &a = spec.a.layout, &b = spec.b.layout, &c = spec.out.layout;
  const i64 rows = c.ndim() - 2;
  s.m = c.shape[rows];
  s.k = spec.inner;
  s.columns = spec.columns;
  s.words = bit_words(spec.columns);
  s.a_row = a.strides[rows];
  s.b_row = b.strides[rows];
  s.c_row = c.strides[rows];
  const Layout ab = batch_layout(a), bb = batch_layout(b), cb = batch_layout(c);
  s.batch = Loop({&ab, &bb, &cb}, {8, 8, 8});
  // Tables are made again for every block of rows, so there are no more blocks than keep all
  // threads at work.
  const i64 across = std::max<i64>(1, s.batch.size() * (s.words / panel)),
            down = (num_threads() + across - 1) / across;
  s.row_block = std::clamp((s.m + down - 1) / down, least_rows, most_rows);
  Prepared p;
  p.flops = static_cast<double>(c.size()) * static_cast<double>(s.k) / 4;
  p.task = {&run_any, std::move(state)};
  return p;
}

Prepared prepare_closure_cpu(const BitMatmulSpec& spec) {
  auto state = std::make_shared<State>();
  State& s = *state;
  const Layout &a = spec.a.layout, &c = spec.out.layout;
  const i64 rows = c.ndim() - 2;
  s.m = s.k = c.shape[rows];
  s.words = bit_words(spec.columns);
  s.a_row = a.strides[rows];
  s.c_row = c.strides[rows];
  const Layout ab = batch_layout(a), cb = batch_layout(c);
  s.batch = Loop({&ab, &cb}, {8, 8});
  Prepared p;
  p.workspace = 2 * 256 * s.words * 8;
  p.flops = static_cast<double>(c.size()) * static_cast<double>(s.k) / 4;
  p.task = {&run_closure, std::move(state)};
  return p;
}

}  // namespace tessera
