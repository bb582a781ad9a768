// SPDX-License-Identifier: Apache-2.0
// Note [finite numbers]: zeros that meet finite numbers give zeros, so that the plain product of
// the whole matrix is right, and the quickest. Only where a row of b that meets such a zero holds
// an infinity or a NaN the product is put together of what is stored.
#include <algorithm>
#include <cmath>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/matmul/loops.hpp"
#include "tessera/kernels/matmul/triangle.hpp"

namespace tessera {

Prepared prepare_matmul_cpu(const MatmulSpec& spec, Device device);

namespace {

constexpr i64 most_of_a_corner = 32;  // rows and columns: multiplied row by row, by loops

struct FullBlock {
  Task task;
  i64 a = 0, b = 0, out = 0;  // bytes
};

struct TriangleState {
  MatmulSpec spec;
  i64 element = 0;
  Task whole;
  i64 first = 0, last = 0;  // rows of b that meet elements that are not stored
  bool (*all_finite)(const TriangleState& s, const void* b) = nullptr;
  LoopFn loop = nullptr;
  LoopArgs args;  // of one row of a corner, without its length
  std::vector<FullBlock> full;
  std::vector<TriangleBlock> corners;
};

bool is_finite(double v) { return std::isfinite(v); }  // and shorter ones
template <class R>
bool is_finite(const Complex<R>& v) {
  return std::isfinite(v.re) && std::isfinite(v.im);
}

template <class T>
bool rows_are_finite(const TriangleState& s, const void* b) {
  const T* const from = static_cast<const T*>(b);
  bool finite = true;
  for (i64 p = s.first; p < s.last && finite; ++p)
    for (i64 j = 0; j < s.args.n; ++j)
      finite = finite && is_finite(from[p * s.args.b_rows + j * s.args.b_columns]);
  return finite;
}

std::byte* bytes_at(void* p, i64 offset) { return static_cast<std::byte*>(p) + offset; }

void corner_row(const TriangleState& s, const Launch& launch, const TriangleBlock& corner, i64 r) {
  const i64 begin = corner.begin_of(s.spec, r), end = corner.end_of(s.spec, r);
  if (begin >= end) return;
  LoopArgs args = s.args;
  args.k = end - begin;
  s.loop(args, bytes_at(launch.operand[0], (r * args.a_rows + begin * args.a_columns) * s.element),
         bytes_at(launch.operand[1], begin * args.b_rows * s.element),
         bytes_at(launch.operand[2], r * args.c_rows * s.element), 0, 1);
}

void run_triangle(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const TriangleState*>(state);
  if (s.all_finite(s, launch.operand[1])) return s.whole.run(s.whole.state.get(), launch);
  if (s.spec.beta != c128(1, 0)) {  // a sum of nothing: beta * out
    LoopArgs none = s.args;
    none.beta = s.spec.beta;
    const i64 rows = s.spec.out.layout.shape[0];
    parallel_for(rows, std::max<i64>(1, 65536 / none.n), [&](i64 begin, i64 end) {
      s.loop(none, launch.operand[0], launch.operand[1], launch.operand[2], begin, end);
    });
  }
  for (const TriangleBlock& corner : s.corners)
    parallel_for(corner.rows, std::max<i64>(1, 65536 / (corner.columns * s.args.n)),
                 [&](i64 begin, i64 end) {
                   for (i64 i = begin; i < end; ++i) corner_row(s, launch, corner, corner.row + i);
                 });
  for (const FullBlock& block : s.full) {
    Launch part = launch;
    part.operand[0] = bytes_at(launch.operand[0], block.a);
    part.operand[1] = bytes_at(launch.operand[1], block.b);
    part.operand[2] = bytes_at(launch.operand[2], block.out);
    block.task.run(block.task.state.get(), part);
  }
}

}  // namespace

Prepared prepare_triangle_cpu(const MatmulSpec& spec, Device device) {
  MatmulSpec plain = spec;
  plain.stored = MatmulSpec::Stored::all;
  Prepared p = prepare_matmul_cpu(plain, device);
  auto state = std::make_shared<TriangleState>();
  TriangleState& s = *state;
  const Layout &a = spec.a.layout, &b = spec.b.layout, &c = spec.out.layout;
  const DType t = spec.out.dtype;
  const bool upper = spec.stored == MatmulSpec::Stored::upper;
  s.first = upper ? 0 : std::max<i64>(0, spec.diagonal + 1);
  s.last = upper ? std::min(a.shape[1], a.shape[0] - 1 + spec.diagonal) : a.shape[1];
  if (s.first >= s.last) return p;
  dispatch<Half, BFloat16, float, double, c64, c128>(
      t, "matmul", [&]<class T>() { s.all_finite = &rows_are_finite<T>; });
  s.spec = spec;
  s.element = size_of(t);
  s.loop = loop_product(t);
  s.args = {.m = 1,
            .n = c.shape[1],
            .k = 0,
            .a_rows = a.strides[0],
            .a_columns = a.strides[1],
            .b_rows = b.strides[0],
            .b_columns = b.strides[1],
            .c_rows = c.strides[0],
            .c_columns = c.strides[1],
            .conj_a = spec.conj_a && is_complex(t),
            .conj_b = spec.conj_b && is_complex(t),
            .alpha = spec.alpha,
            .beta = c128(1, 0)};
  for (const TriangleBlock& block : triangle_blocks(spec, most_of_a_corner)) {
    if (!block.full) {
      s.corners.push_back(block);
      continue;
    }
    const BlockProduct product = block_product(spec, block);
    Prepared part = prepare_matmul_cpu(product.spec, device);
    p.workspace = std::max(p.workspace, part.workspace);
    s.full.push_back({std::move(part.task), product.a * s.element, product.b * s.element,
                      product.out * s.element});
  }
  s.whole = std::move(p.task);
  p.task = {&run_triangle, std::move(state)};
  return p;
}

}  // namespace tessera
