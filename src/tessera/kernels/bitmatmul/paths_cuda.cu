// SPDX-License-Identifier: Apache-2.0
// Whether there is a path, on CUDA: counts by the tensor cores, a panel of rows at a time, whose
// nonzeros are packed. The closure squares the matrix as often as doubles the length of paths up to
// its size; a panel written early only lets later ones see longer paths.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"

namespace tessera {
namespace cuda {
namespace {

constexpr i64 panel_counts = i64{1} << 26;  // 256 MB

// Rows [first, ...) of one matrix.
struct Panel {
  i64 first = 0;
  Pass counts, pack;
};

struct PathState {
  Pass transpose;
  std::vector<Panel> panels;
  std::vector<std::array<i64, loop_operands>> items;  // offsets of a, b, out in words
  i64 a_row = 0, out_row = 0, rows = 0, words = 0;
  i64 left_row = 0;                  // of the left factor: a, or out where that is squared
  i64 turned_at = 0, counts_at = 0;  // in the workspace
  int rounds = 1;
  bool closure = false;
};

void multiply(const PathState& s, const Launch& launch, std::uint64_t* a, std::uint64_t* b,
              std::uint64_t* out) {
  void *turned = at_bytes(launch.workspace, s.turned_at),
       *counts = at_bytes(launch.workspace, s.counts_at);
  s.transpose.run(launch, {b, turned});
  for (const Panel& p : s.panels) {
    p.counts.run(launch, {a + p.first * s.left_row, turned, counts});
    p.pack.run(launch, {counts, out + p.first * s.out_row});
  }
}

void run_paths(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const PathState*>(state);
  const auto words = [&](int i) { return static_cast<std::uint64_t*>(launch.operand[i]); };
  for (const auto& at : s.items) {
    std::uint64_t* a = words(0) + at[0];
    if (!s.closure) {
      multiply(s, launch, a, words(1) + at[1], words(2) + at[2]);
      continue;
    }
    std::uint64_t* out = words(1) + at[2];
    const auto bytes = [](i64 n) { return static_cast<std::size_t>(n) * 8; };
    if (a != out)
      check(cudaMemcpy2DAsync(out, bytes(s.out_row), a, bytes(s.a_row), bytes(s.words),
                              static_cast<std::size_t>(s.rows), cudaMemcpyDeviceToDevice,
                              stream_of(launch)),
            "copying bits");
    for (int i = 0; i < s.rounds; ++i) multiply(s, launch, out, out, out);
  }
}

Operand rows_operand(i64 rows, i64 columns, i64 step, DType dtype) {
  return {Layout{{rows, columns}, {step, 1}, 0}, dtype};
}

// Copies of rows need them in ascending order.
void require_ascending(const Layout& l) {
  const i64 rows = l.ndim() - 2;
  require<NotAvailable>(l.shape[rows] <= 1 || l.strides[rows] >= l.shape[rows + 1],
                        "bit_closure on cuda: rows in reverse order (", l, "); copy the words");
}

}  // namespace

Prepared prepare_bit_paths(const BitMatmulSpec& spec, Device device) {
  const bool closure = spec.kind == BitProduct::closure;
  const Layout &a = spec.a.layout, &out = spec.out.layout, &b = closure ? out : spec.b.layout;
  if (out.size() == 0) return {{&run_nothing, nullptr}};
  const i64 rows = out.ndim() - 2, n = spec.columns, k = spec.inner;
  auto s = std::make_shared<PathState>();
  s->closure = closure;
  s->rows = out.shape[rows];
  s->words = out.shape[rows + 1];
  s->out_row = out.strides[rows];
  s->a_row = a.strides[rows];
  if (closure) {
    require_ascending(a);
    require_ascending(out);
    for (s->rounds = 0; (i64{1} << s->rounds) < n; ++s->rounds) {
    }
  }
  s->left_row = closure ? s->out_row : s->a_row;
  const std::array<Strides, 3> strides = {batch_layout(a).strides, batch_layout(b).strides,
                                          batch_layout(out).strides};
  s->items = outer_slices(merge_loops(batch_layout(out).shape, strides, 2), 0);
  WorkspacePlan ws;
  const i64 inner_words = bit_words(k);
  s->turned_at = ws.take(n * inner_words * 8);
  const i64 height =
      std::clamp<i64>(panel_counts / n / 256 * 256, 256, (s->rows + 255) / 256 * 256);
  const DType count = k > 0x7fffffff ? DType::i64 : DType::i32;
  s->counts_at = ws.take(height * n * size_of(count));
  const Operand right = rows_operand(n, inner_words, inner_words, DType::u64);
  s->transpose.task =
      prepare_bit_move(
          {BitMove::transpose, rows_operand(k, s->words, b.strides[rows], DType::u64), right, n},
          false)
          .task;
  for (i64 first = 0; first < s->rows; first += height) {
    const i64 m = std::min(height, s->rows - first);
    const Operand counts = rows_operand(m, n, n, count);
    BitMatmulSpec product;
    product.a = rows_operand(m, inner_words, s->left_row, DType::u64);
    product.b = right;
    product.out = counts;
    product.inner = k;
    const BitMoveSpec pack{BitMove::pack, counts, rows_operand(m, s->words, s->out_row, DType::u64),
                           n};
    s->panels.push_back({first,
                         {prepare_bit_counts(product, device).task},
                         {prepare_bit_move(pack, closure).task}});
  }
  Prepared p;
  p.workspace = ws.total();
  p.flops = 2.0 * static_cast<double>(s->rows) * static_cast<double>(n) * static_cast<double>(k) *
            static_cast<double>(s->items.size()) * std::max(1, s->rounds);
  p.task = {&run_paths, s};
  return p;
}

}  // namespace cuda
}  // namespace tessera
