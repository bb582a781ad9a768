// SPDX-License-Identifier: Apache-2.0
// Positions of nonzero elements on CUDA: an ordered selection over the row-major positions, which
// writes the coordinates of the n-th hit straight into row n. Hits beyond the rows of `out` are
// dropped.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <cub/device/device_select.cuh>

#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int most_axes = 32;

struct IsNonzero {
  Loops loops;  // row-major; operand 0: in
  const void* in;
  DType type;
  __device__ bool operator()(i64 position) const {
    i64 at[1];
    loops.offsets(position, at);
    return load_as<bool>(in, type, at[0]);
  }
};

struct WriteCoordinates {
  i64* out;
  i64 rows, row_step, column_step;
  int rank;
  i64 size[most_axes];
  __device__ void operator()(i64 row, i64 position) const {
    if (row >= rows) return;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const i64 next = position / size[axis];
      out[row * row_step + axis * column_step] = position - next * size[axis];
      position = next;
    }
  }
};

struct NonzeroState {
  IsNonzero test;
  WriteCoordinates write;
  std::size_t temporary = 0;
};

cudaError_t select(const NonzeroState& s, void* temporary, std::size_t& bytes, i64* found,
                   cudaStream_t stream) {
  return cub::DeviceSelect::If(temporary, bytes, thrust::counting_iterator<i64>(0),
                               thrust::make_tabulate_output_iterator(s.write), found,
                               s.test.loops.count, s.test, stream);
}

void run_nonzero(const void* state, const Launch& launch) {
  NonzeroState s = *static_cast<const NonzeroState*>(state);
  s.test.in = launch.operand[0];
  s.write.out = static_cast<i64*>(launch.operand[1]);
  auto* found = static_cast<i64*>(launch.workspace);
  std::size_t bytes = s.temporary;
  check(select(s, at_bytes(launch.workspace, 256), bytes, found, stream_of(launch)),
        "selecting nonzero elements");
}

}  // namespace
}  // namespace cuda

Prepared prepare_nonzero_cuda(const NonzeroSpec& spec, Device device) {
  using namespace cuda;
  const Layout& in = spec.in.layout;
  if (spec.out.layout.size() == 0 || in.size() == 0) return {{&run_nothing, nullptr}};
  const MergedLoops m = merge_loops(in.shape, {&in.strides, 1}, -1);
  require<NotAvailable>(m.size.size() <= loop_axes && in.ndim() <= most_axes,
                        "nonzero on cuda: shape ", in.shape, " has more than ", loop_axes,
                        " axes that cannot be merged, or more than ", most_axes);
  auto s = std::make_shared<NonzeroState>();
  s->test.loops = device_loops(m, loop_axes);
  s->test.type = spec.in.dtype;
  s->write.rows = spec.out.layout.shape[0];
  s->write.row_step = spec.out.layout.strides[0];
  s->write.column_step = spec.out.layout.strides[1];
  s->write.rank = static_cast<int>(in.ndim());
  for (i64 i = 0; i < in.ndim(); ++i) s->write.size[i] = in.shape[i];
  const DeviceGuard guard(device.index);
  check(select(*s, nullptr, s->temporary, nullptr, nullptr),
        "sizing the selection of nonzero elements");
  Prepared p;
  p.workspace = 256 + static_cast<i64>(s->temporary);
  p.task = {&run_nonzero, s};
  return p;
}

}  // namespace tessera
