// SPDX-License-Identifier: Apache-2.0
// Bits times numbers on CUDA: panels of bits become zeros and ones of the numbers' type, and the
// matrix product of that type adds panel after panel to the result. Numbers that are not finite
// would make NaN of the zeros: the product takes zeros in their places, and they are added after it
// where their bit is set.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {

Prepared prepare_matmul_cuda(const MatmulSpec& spec, Device device);
Prepared prepare_matmul_integer_cuda(const MatmulSpec& spec, Device device);

namespace cuda {
namespace {

constexpr i64 panel_elements = i64{1} << 26;
constexpr i64 most_rows = i64{1} << 16, least_columns = 512;

struct Step {
  i64 bits_at = 0, in_at = 0, out_at = 0;  // bytes from the first element of an item
  i64 rows = 0, terms = 0;
  Pass unpack;
  Task product;
};

// One step as the kernels below see it; strides in elements.
struct PanelArgs {
  const std::uint64_t* bits;
  const void* in;
  void *finite, *out;  // finite: dense, (terms, columns)
  int* found;          // 1 once a number was not finite
  i64 rows, terms, columns;
  i64 bits_row, in_row, in_column, out_row, out_column;
};

template <class T>
__device__ bool is_finite(const T& x) {
  if constexpr (requires { x.re; })
    return isfinite(x.re) && isfinite(x.im);
  else
    return isfinite(x);
}

template <class T>
__global__ void take_finite(PanelArgs a) {
  for (i64 at = thread_position(); at < a.terms * a.columns; at += thread_count()) {
    const i64 k = at / a.columns, j = at - k * a.columns;
    const T x = static_cast<const T*>(a.in)[k * a.in_row + j * a.in_column];
    const bool finite = is_finite(x);
    static_cast<T*>(a.finite)[at] = finite ? x : T(0);
    if (!finite) *a.found = 1;
  }
}

template <class T>
__global__ void add_others(PanelArgs a) {
  if (*a.found == 0) return;
  for (i64 at = thread_position(); at < a.rows * a.columns; at += thread_count()) {
    const i64 i = at / a.columns, j = at - i * a.columns;
    const T* in = static_cast<const T*>(a.in) + j * a.in_column;
    T* out = static_cast<T*>(a.out) + i * a.out_row + j * a.out_column;
    T sum = *out;
    for (i64 w = 0; w < (a.terms + 63) / 64; ++w)
      for (std::uint64_t x = a.bits[i * a.bits_row + w]; x != 0; x &= x - 1) {
        const T v = in[(w * 64 + __ffsll(static_cast<long long>(x)) - 1) * a.in_row];
        if (!is_finite(v)) sum = sum + v;
      }
    *out = sum;
  }
}

template <class T>
void start_take(const PanelArgs& a, cudaStream_t stream) {
  check(cudaMemsetAsync(a.found, 0, sizeof(int), stream), "clearing a flag");
  take_finite<T><<<blocks_for(a.terms * a.columns, block_threads), block_threads, 0, stream>>>(a);
  check_launch("launching the copy of finite numbers");
}

template <class T>
void start_add(const PanelArgs& a, cudaStream_t stream) {
  add_others<T><<<blocks_for(a.rows * a.columns, block_threads), block_threads, 0, stream>>>(a);
  check_launch("launching the sum of numbers that are not finite");
}

struct DenseState {
  std::vector<Step> steps;
  std::vector<std::array<i64, loop_operands>> items;       // bytes of bits, in, out
  PanelArgs panel{};                                       // what all steps share
  i64 finite_at = 0, found_at = 0, product_at = 0;         // in the workspace
  void (*take)(const PanelArgs&, cudaStream_t) = nullptr;  // null for integers
  void (*add)(const PanelArgs&, cudaStream_t) = nullptr;
};

void run_dense(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const DenseState*>(state);
  for (const auto& item : s.items)
    for (const Step& step : s.steps) {
      void* bits = at_bytes(launch.operand[0], item[0] + step.bits_at);
      Launch l = launch;
      l.operand[0] = launch.workspace;
      l.operand[1] = at_bytes(launch.operand[1], item[1] + step.in_at);
      l.operand[2] = at_bytes(launch.operand[2], item[2] + step.out_at);
      l.workspace = at_bytes(launch.workspace, s.product_at);
      PanelArgs panel = s.panel;
      panel.bits = static_cast<const std::uint64_t*>(bits);
      panel.in = l.operand[1];
      panel.finite = at_bytes(launch.workspace, s.finite_at);
      panel.out = l.operand[2];
      panel.found = static_cast<int*>(at_bytes(launch.workspace, s.found_at));
      panel.rows = step.rows;
      panel.terms = step.terms;
      step.unpack.run(launch, {bits, launch.workspace});
      if (s.take) {
        s.take(panel, stream_of(launch));
        l.operand[1] = panel.finite;
      }
      step.product.run(step.product.state.get(), l);
      if (s.add) s.add(panel, stream_of(launch));
    }
}

Layout matrix(const Layout& l, i64 rows, i64 columns) {
  const i64 last = l.ndim() - 1;
  return {{rows, columns}, {l.strides[last - 1], l.strides[last]}, 0};
}

// Rows [i, i + m) and terms [k, k + terms).
Step step_of(const BitDenseSpec& spec, i64 i, i64 m, i64 k, i64 terms, Device device,
             i64* workspace) {
  const Layout &bits = spec.bits.layout, &in = spec.in.layout, &out = spec.out.layout;
  const i64 row = out.ndim() - 2, n = out.shape.back();
  const bool integers = is_integer(spec.in.dtype);
  const Operand ones = dense_operand({m, terms}, integers ? DType::i8 : spec.in.dtype);
  Step s;
  s.rows = m;
  s.terms = terms;
  s.bits_at = (i * bits.strides[row] + k / 64) * 8;
  s.in_at = k * in.strides[row] * size_of(spec.in.dtype);
  s.out_at = i * out.strides[row] * size_of(spec.out.dtype);
  s.unpack.task =
      prepare_bit_move(
          {BitMove::unpack, {matrix(bits, m, bit_words(terms)), DType::u64}, ones, terms}, false)
          .task;
  MatmulSpec product;
  product.a = ones;
  product.b = integers ? Operand{matrix(in, terms, n), spec.in.dtype}
                       : dense_operand({terms, n}, spec.in.dtype);
  product.out = {matrix(out, m, n), spec.out.dtype};
  product.beta = k > 0 ? c128(1, 0) : c128(0, 0);
  const Prepared p = integers ? prepare_matmul_integer_cuda(product, device)
                              : prepare_matmul_cuda(product, device);
  s.product = p.task;
  *workspace = std::max(*workspace, p.workspace);
  return s;
}

}  // namespace
}  // namespace cuda

Prepared prepare_bitdense_cuda(const BitDenseSpec& spec, Device device) {
  using namespace cuda;
  check_bitdense(spec);
  auto s = std::make_shared<DenseState>();
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double, c64, c128>(
      spec.in.dtype, "bit_dense", [&]<class T>() {
        if constexpr (!std::is_integral_v<T>) {
          s->take = &start_take<T>;
          s->add = &start_add<T>;
        }
      });
  const Layout &bits = spec.bits.layout, &in = spec.in.layout, &out = spec.out.layout;
  if (out.size() == 0) return {{&run_nothing, nullptr}};
  const i64 last = out.ndim() - 1, rows = out.shape[last - 1], columns = out.shape[last],
            height = std::min(rows, most_rows);
  const i64 longest = std::max(height, s->take ? columns : 1);
  const i64 width =
      std::min(std::max<i64>(spec.inner, 1),
               std::max(least_columns, panel_elements / longest / least_columns * least_columns));
  s->panel.columns = columns;
  s->panel.bits_row = bits.strides[last - 1];
  s->panel.in_row = in.strides[last - 1];
  s->panel.in_column = in.strides[last];
  s->panel.out_row = out.strides[last - 1];
  s->panel.out_column = out.strides[last];
  const std::array<Strides, 3> strides = {batch_layout(bits).strides, batch_layout(in).strides,
                                          batch_layout(out).strides};
  s->items = outer_slices(merge_loops(batch_layout(out).shape, strides, 2), 0);
  for (auto& at : s->items) {
    at[0] *= 8;
    at[1] *= size_of(spec.in.dtype);
    at[2] *= size_of(spec.out.dtype);
  }
  WorkspacePlan ws;
  ws.take(height * width * size_of(spec.in.dtype));
  if (s->take) {
    s->finite_at = ws.take(width * columns * size_of(spec.in.dtype));
    s->found_at = ws.take(sizeof(int));
  }
  i64 product = 0;
  for (i64 i = 0; i < rows; i += height)
    for (i64 k = 0; k == 0 || k < spec.inner; k += width)
      s->steps.push_back(step_of(spec, i, std::min(height, rows - i), k,
                                 std::min(width, spec.inner - k), device, &product));
  s->product_at = ws.take(product);
  Prepared p;
  p.workspace = ws.total();
  p.flops = 2.0 * static_cast<double>(out.size()) * static_cast<double>(spec.inner);
  p.task = {&run_dense, s};
  return p;
}

}  // namespace tessera
