// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/reduce/reduce_truths.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

constexpr i64 chunk_elements = 1 << 15;  // at least, where there are several chunks

struct State {
  Shape shape;
  Strides strides;
  i64 size = 0, chunks = 1;
  i64 found = 0, row_step = 0, column_step = 0;  // of the output
};

inline bool truth(const std::uint8_t& v) { return v != 0; }
inline bool truth(const std::uint16_t& v) { return v != 0; }
inline bool truth(const std::uint32_t& v) { return v != 0; }
inline bool truth(const std::uint64_t& v) { return v != 0; }
inline bool truth(const Half& v) { return (v.bits & 0x7fffu) != 0; }
inline bool truth(const BFloat16& v) { return (v.bits & 0x7fffu) != 0; }
inline bool truth(const float& v) { return v != 0; }
inline bool truth(const double& v) { return v != 0; }
template <class R>
bool truth(const Complex<R>& v) {
  return v.re != 0 || v.im != 0;
}

// line(at, j, truths, n) for the lines of positions [begin, end) of the row-major order: n bytes,
// zero where the element is; `at` holds the outer coordinates, j the last one of the first byte.
template <class T, class Line>
void walk(const State& s, const T* data, i64 begin, i64 end, Line&& line) {
  constexpr i64 block = 1024;
  std::uint8_t truths[block];
  const i64 last = s.shape.size() - 1, inner = s.shape[last], step = s.strides[last];
  i64 at[max_rank];
  i64 rest = begin / inner, j = begin % inner;
  const T* row = data;
  for (i64 d = last - 1; d >= 0; --d) {
    at[d] = rest % s.shape[d];
    rest /= s.shape[d];
    row += at[d] * s.strides[d];
  }
  while (begin < end) {
    const i64 stop = std::min(inner, j + end - begin);
    begin += stop - j;
    if constexpr (std::is_same_v<T, std::uint8_t>)
      if (step == 1) {
        line(at, j, row + j, stop - j);
        j = stop;
      }
    while (j < stop) {
      const i64 n = std::min(block, stop - j);
      if (step == 1)
        wide([n, first = row + j, to = &truths[0]] {
          for (i64 i = 0; i < n; ++i) to[i] = truth(first[i]);
        });
      else
        for (i64 i = 0; i < n; ++i) truths[i] = truth(row[(j + i) * step]);
      line(at, j, truths, n);
      j += n;
    }
    j = 0;
    for (i64 d = last - 1; d >= 0; --d) {
      row += s.strides[d];
      if (++at[d] < s.shape[d]) break;
      row -= s.strides[d] * s.shape[d];
      at[d] = 0;
    }
  }
}

// Bit k is set where byte k of 32 is not zero; 0 quickly where none is.
inline std::uint32_t bits_of_32(const std::uint8_t* truths) {
  std::uint64_t eight[4];
  std::memcpy(eight, truths, sizeof eight);
  if ((eight[0] | eight[1] | eight[2] | eight[3]) == 0) return 0;
  std::uint64_t bits = 0;
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    std::uint64_t w = eight[k];
    w |= w >> 4;
    w |= w >> 2;
    w = (w | w >> 1) & 0x0101010101010101U;
    bits |= (w * 0x0102040810204080U >> 56) << (8 * k);  // each byte's one in the highest byte
  }
  return static_cast<std::uint32_t>(bits);
}

// to[k * step] = j + the place of the k-th byte that is not zero, for at most `room` of them; gives
// their number. Where there are many, each is written in any case and kept where it is true: no
// branch on what nobody foresees.
i64 put_places(const std::uint8_t* truths, i64 n, i64 j, i64* to, i64 step, i64 room) {
  constexpr int few = 4;
  i64 found = 0, i = 0, before = 0;  // found in the block before: most are like their neighbours
  const auto put = [&](i64 k) {
    to[found * step] = j + k;
    found += truths[k] != 0;
  };
  for (; i + 32 <= n && found < room; i += 32) {
    const i64 begin = found;
    std::uint32_t bits = before > few ? ~0U : bits_of_32(truths + i);
    if (std::popcount(bits) > few && found + 32 <= room) {
#pragma GCC unroll 8
      for (i64 k = i; k < i + 32; ++k) put(k);
    } else {
      if (before > few) bits = bits_of_32(truths + i);
      for (; bits != 0 && found < room; bits &= bits - 1)
        to[found++ * step] = j + i + std::countr_zero(bits);
    }
    before = found - begin;
  }
  for (; i < n && found < room; ++i) put(i);
  return found;
}

// Counts per chunk, their running sum, then each chunk writes from its own position on. What is
// found is never more than was counted before, whatever others do to the data meanwhile.
template <class T>
void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const T* const data = static_cast<const T*>(launch.operand[0]);
  i64* const out = static_cast<i64*>(launch.operand[1]);
  const i64 outer = s.shape.size() - 1;
  i64* const starts = static_cast<i64*>(launch.workspace);
  auto bound = [&](i64 chunk) {
    return s.size / s.chunks * chunk + std::min(chunk, s.size % s.chunks);
  };
  starts[0] = 0;
  if (s.chunks > 1)
    parallel_for(s.chunks, 1, [&](i64 first, i64 last) {
      for (i64 c = first; c < last; ++c) {
        i64 n = 0;
        walk(s, data, bound(c), bound(c + 1), [&](const i64*, i64, const std::uint8_t* t, i64 m) {
          i64 here = 0;
          CountLoops<bool>::row(t, nullptr, m, 0, &here);
          n += here;
        });
        starts[c + 1] = n;
      }
    });
  starts[s.chunks] = s.chunks > 1 ? starts[s.chunks] : s.found;
  for (i64 c = 0; c < s.chunks; ++c) starts[c + 1] = std::min(starts[c] + starts[c + 1], s.found);
  parallel_for(s.chunks, 1, [&](i64 first, i64 last) {
    for (i64 c = first; c < last; ++c) {
      i64 row = starts[c];
      walk(s, data, bound(c), bound(c + 1),
           [&](const i64* at, i64 j, const std::uint8_t* t, i64 m) {
             i64* const to = out + row * s.row_step;
             const i64 n =
                 put_places(t, m, j, to + outer * s.column_step, s.row_step, starts[c + 1] - row);
             for (i64 d = 0; d < outer; ++d)
               for (i64 i = 0; i < n; ++i) to[i * s.row_step + d * s.column_step] = at[d];
             row += n;
           });
    }
  });
}

void run_nothing(const void*, const Launch&) {}

RunFn run_function(DType t) {
  switch (t) {
    case DType::f16: return run<Half>;
    case DType::bf16: return run<BFloat16>;
    case DType::f32: return run<float>;
    case DType::f64: return run<double>;
    case DType::c64: return run<c64>;
    case DType::c128: return run<c128>;
    default: break;
  }
  switch (size_of(t)) {  // integers of either sign and bool: any bit counts
    case 1: return run<std::uint8_t>;
    case 2: return run<std::uint16_t>;
    case 4: return run<std::uint32_t>;
    default: return run<std::uint64_t>;
  }
}

}  // namespace

Prepared prepare_nonzero_cpu(const NonzeroSpec& spec, Device) {
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  require<ShapeError>(out.ndim() == 2 && out.shape[1] == in.ndim(), "nonzero: an output of shape ",
                      out.shape, " for an input of rank ", in.ndim());
  require<DTypeError>(spec.out.dtype == DType::i64, "nonzero: positions are int64, not ",
                      name(spec.out.dtype));
  Prepared p;
  if (in.size() == 0 || out.size() == 0) {
    p.task.run = run_nothing;
    return p;
  }
  auto s = std::make_shared<State>();
  s->shape = in.shape;
  s->strides = in.strides;
  s->size = in.size();
  s->chunks = std::clamp(s->size / chunk_elements, i64{1}, i64{4} * num_threads());
  s->found = out.shape[0];
  s->row_step = out.strides[0];
  s->column_step = out.strides[1];
  p.workspace = (s->chunks + 1) * static_cast<i64>(sizeof(i64));
  p.task.run = run_function(spec.in.dtype);
  p.task.state = std::move(s);
  return p;
}

}  // namespace tessera
