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
