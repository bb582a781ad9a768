// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {
namespace {

constexpr i64 grain = 16384;  // elements per chunk

struct Read {
  template <class T>
  void one(const T& picked, T& other) const {
    other = picked;
  }
  template <class T>
  void line(const T* picked, i64 p, T* other, i64 o, i64 n) const {
    if (p == 1 && o == 1) {
      std::memcpy(other, picked, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    for (i64 i = 0; i < n; ++i) other[i * o] = picked[i * p];
  }
};

// How far ahead rows are fetched into the second cache: positions that jump are beyond what the
// processor foresees.
constexpr i64 bytes_ahead = 8192, line_bytes = 64, longest_row = 4096;

// Rows of equal length that lie densely on both sides, one after the other in `out`, picked by one
// list of positions. Bytes is 0 where the length is not a constant.
struct Rows {
  const i64* positions;
  i64 size, step;  // of the picked axis; bytes
  const std::byte* source;
  std::byte* out;
  i64 out_step, bytes;

  const std::byte* row(i64 j) const {
    const i64 v = positions[j];
    return source + (v < 0 ? v + size : v) * step;
  }
  template <i64 Bytes>
  void copy(i64 begin, i64 end) const {
    const i64 length = Bytes > 0 ? Bytes : bytes;
    const i64 ahead = std::max<i64>(1, bytes_ahead / length);
    for (i64 j = begin; j < end; ++j) {
      if (j + ahead < end)
        for (i64 b = 0; b < length; b += line_bytes) __builtin_prefetch(row(j + ahead) + b, 0, 2);
      std::memcpy(out + j * out_step, row(j), static_cast<std::size_t>(length));
    }
  }
  void copy(i64 begin, i64 end) const {
    switch (bytes) {
      case 16: return copy<16>(begin, end);
      case 32: return copy<32>(begin, end);
      case 64: return copy<64>(begin, end);
      case 128: return copy<128>(begin, end);
      case 256: return copy<256>(begin, end);
      default: return copy<0>(begin, end);
    }
  }
};

bool one_list_of_rows(const PickLoop& loop, i64 element) {
  return loop.sizes.size() == 1 && !loop.lead_inner && loop.lead.shape.size() == 1 &&
         inner_stride(loop.lead, 0) == 1 && loop.rest.shape.size() == 1 &&
         inner_stride(loop.rest, 0) == 1 && inner_stride(loop.rest, 1) == 1 &&
         loop.rest.count * element <= longest_row;
}

void gather_rows(const PickLoop& loop, const i64* positions, const void* source, void* out,
                 i64 element) {
  const Rows rows{positions,
                  loop.sizes[0],
                  loop.steps[0] * element,
                  static_cast<const std::byte*>(source),
                  static_cast<std::byte*>(out),
                  inner_stride(loop.lead, 1) * element,
                  loop.rest.count * element};
  parallel_for(loop.lead.count, std::max<i64>(1, grain / loop.rest.count),
               [&](i64 begin, i64 end) { rows.copy(begin, end); });
}

struct State {
  PickLoop loop;
  i64 element = 1;
};

template <class T>
void run_typed(const PickLoop& loop, const i64* const* indices, T* source, T* out) {
  const i64 lead = loop.lead.count, rest = loop.rest.count;
  if (rest >=
      grain) {  // long rows: chunks of rest positions, each over all lead positions of a part
    const i64 parts = (rest + grain - 1) / grain;
    parallel_for(lead * parts, 1, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) {
        const i64 j = i / parts, first = i % parts * grain;
        pick_range(loop, indices, source, out, j, j + 1, first, std::min(grain, rest - first),
                   Read{});
      }
    });
    return;
  }
  parallel_for(lead, std::max<i64>(1, grain / rest), [&](i64 begin, i64 end) {
    pick_range(loop, indices, source, out, begin, end, 0, rest, Read{});
  });
}

void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 k = s.loop.sizes.size();
  const i64* indices[max_operands];
  for (i64 a = 0; a < k; ++a)
    indices[a] = static_cast<const i64*>(launch.operand[static_cast<std::size_t>(a + 1)]);
  void *source = launch.operand[0], *out = launch.operand[static_cast<std::size_t>(k + 1)];
  if (s.loop.lead.count == 0 || s.loop.rest.count == 0) return;
  if (one_list_of_rows(s.loop, s.element))
    return gather_rows(s.loop, indices[0], source, out, s.element);
  with_size(s.element, [&]<class T>() {
    run_typed(s.loop, indices, static_cast<T*>(source), static_cast<T*>(out));
  });
}

}  // namespace

Prepared prepare_gather_cpu(const GatherSpec& spec, Device) {
  require<DTypeError>(spec.source.dtype == spec.out.dtype, "gather: from ", name(spec.source.dtype),
                      " into ", name(spec.out.dtype));
  auto state = std::make_shared<State>();
  state->loop = make_pick_loop(spec.source, spec.indices, spec.out);
  state->element = size_of(spec.out.dtype);
  Prepared p;
  p.task = {run, std::move(state)};
  return p;
}

}  // namespace tessera
