// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

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

// hit(at, j) for each element that is not zero among positions [begin, end) of the row-major order:
// `at` holds the outer coordinates, j the last one.
template <class T, class Hit>
void walk(const State& s, const T* data, i64 begin, i64 end, Hit&& hit) {
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
    for (; j < stop; ++j)
      if (truth(row[j * step])) hit(at, j);
    j = 0;
    for (i64 d = last - 1; d >= 0; --d) {
      row += s.strides[d];
      if (++at[d] < s.shape[d]) break;
      row -= s.strides[d] * s.shape[d];
      at[d] = 0;
    }
  }
}

// Counts per chunk, their running sum, then each chunk writes from its own position on.
template <class T>
void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const T* const data = static_cast<const T*>(launch.operand[0]);
  i64* const out = static_cast<i64*>(launch.operand[1]);
  const i64 last_axis = s.shape.size() - 1;
  i64* const counts = static_cast<i64*>(launch.workspace);
  auto bound = [&](i64 chunk) {
    return s.size / s.chunks * chunk + std::min(chunk, s.size % s.chunks);
  };
  parallel_for(s.chunks, 1, [&](i64 first, i64 last) {
    for (i64 c = first; c < last; ++c) {
      i64 n = 0;
      walk(s, data, bound(c), bound(c + 1), [&](const i64*, i64) { ++n; });
      counts[c] = n;
    }
  });
  i64 before = 0;
  for (i64 c = 0; c < s.chunks; ++c) before += std::exchange(counts[c], before);
  parallel_for(s.chunks, 1, [&](i64 first, i64 last) {
    for (i64 c = first; c < last; ++c) {
      i64 row = counts[c];
      walk(s, data, bound(c), bound(c + 1), [&](const i64* at, i64 j) {
        if (row >= s.found) return;  // the data changed after they were counted
        i64* const to = out + row++ * s.row_step;
        for (i64 d = 0; d < last_axis; ++d) to[d * s.column_step] = at[d];
        to[last_axis * s.column_step] = j;
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
  p.workspace = s->chunks * static_cast<i64>(sizeof(i64));
  p.task.run = run_function(spec.in.dtype);
  p.task.state = std::move(s);
  return p;
}

}  // namespace tessera
