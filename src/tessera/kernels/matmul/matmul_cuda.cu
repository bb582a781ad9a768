// SPDX-License-Identifier: Apache-2.0
// Matrix products on CUDA: cuBLAS for floats (transposes from strides, what does not fit is packed
// into the workspace), a tiled kernel for integers in matmul_integer_cuda.cu. Note [row-major out]:
// cuBLAS is column-major, so out = a b is asked for as outT = bT aT, and a row-major operand needs
// no transposition.
#include <algorithm>

#include "tessera/device/cuda/handles.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {

Prepared prepare_matmul_integer_cuda(const MatmulSpec& spec, Device device);
Prepared prepare_triangle_cuda(const MatmulSpec& spec, Device device);

namespace cuda {
namespace {

struct Matrix {
  i64 rows = 0, columns = 0, row_step = 0, column_step = 0;
  Strides batch;
  bool conj = false;
  int operand = 0;     // of the launch
  i64 packed_at = -1;  // bytes into the workspace when packed
  Pass pack, unpack;
  cublasOperation_t op = CUBLAS_OP_N;
  i64 leading = 0;

  void transpose() {
    std::swap(rows, columns);
    std::swap(row_step, column_step);
  }
  bool row_major() const {
    return (column_step == 1 || columns == 1) &&
           (rows == 1 || row_step >= std::max<i64>(1, columns));
  }
  bool column_major() const {
    return (row_step == 1 || rows == 1) && (columns == 1 || column_step >= std::max<i64>(1, rows));
  }
};

struct MatmulState {
  DType dtype;
  Matrix a, b, out;
  i64 m, n, k, batch = 1, a_step = 0, b_step = 0, out_step = 0;
  std::vector<std::array<i64, loop_operands>> slices;  // element offsets of a, b, out
  c128 alpha, beta;
  bool vector = false;  // one column: matrix times vector
  i64 blas_at = 0, blas_bytes = 0;
  Pass only_scale;  // k == 0
};

Matrix matrix_of(const Operand& o, bool conj, int operand) {
  const i64 r = o.layout.ndim();
  Matrix x;
  x.rows = o.layout.shape[r - 2];
  x.columns = o.layout.shape[r - 1];
  x.row_step = o.layout.strides[r - 2];
  x.column_step = o.layout.strides[r - 1];
  x.batch = Strides(o.layout.strides.begin(), o.layout.strides.begin() + (r - 2));
  x.conj = conj && is_complex(o.dtype);
  x.operand = operand;
  return x;
}

// The matrix and those batch axes along which it differs, row-major in the workspace.
void pack(Matrix& x, const Shape& batch, DType dtype, WorkspacePlan& ws, Device device,
          bool both_ways, bool read) {
  Operand from, to;
  from.dtype = to.dtype = dtype;
  for (i64 i = 0; i < batch.size(); ++i) {
    from.layout.shape.push_back(x.batch[i] == 0 ? 1 : batch[i]);
    from.layout.strides.push_back(x.batch[i]);
  }
  from.layout.shape.append({x.rows, x.columns});
  from.layout.strides.append({x.row_step, x.column_step});
  to.layout = Layout::contiguous(from.layout.shape);
  if (read) x.pack = copy_pass(from, to, device, x.conj ? ElementOp::conj : ElementOp::copy);
  if (both_ways) x.unpack = copy_pass(to, from, device);
  x.conj = false;
  x.row_step = x.columns;
  x.column_step = 1;
  for (i64 i = 0; i < batch.size(); ++i)
    if (x.batch[i] != 0) x.batch[i] = to.layout.strides[i];
  x.packed_at = ws.take(to.layout.size() * size_of(dtype));
}

void choose_op(Matrix& x) {
  if (!x.conj && x.row_major()) {
    x.op = CUBLAS_OP_N;
    x.leading = x.rows == 1 ? std::max<i64>(1, x.columns) : x.row_step;
  } else {
    x.op = x.conj ? CUBLAS_OP_C : CUBLAS_OP_T;
    x.leading = x.columns == 1 ? std::max<i64>(1, x.rows) : x.column_step;
  }
}

// One merged batch axis may become rows or columns of a single product.
void fold_batch(MatmulState& s) {
  if (s.batch == 1 || s.slices.size() != 1) return;
  const bool rows_follow = s.a_step == s.m * s.a.row_step && s.out_step == s.m * s.out.row_step;
  if (s.b_step == 0 && !s.a.conj && s.a.row_major() && (rows_follow || s.m == 1) &&
      s.a_step >= std::max<i64>(1, s.k) && s.out_step >= std::max<i64>(1, s.n)) {
    if (s.m == 1) {
      s.a.row_step = s.a_step;
      s.out.row_step = s.out_step;
    }
    s.m *= s.batch;
    s.a.rows = s.out.rows = s.m;
    s.batch = 1;
  }
}

bool vector_steps_fit(const MatmulState& s) {
  return s.b.row_step > 0 && s.out.row_step > 0 && !s.b.conj;
}

i64 blas_workspace(double multiplications) {
  if (multiplications < 1e7) return i64{64} << 10;
  if (multiplications < 1e9) return i64{4} << 20;
  return i64{32} << 20;
}

cudaDataType_t data_type(DType t) {
  switch (t) {
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f32: return CUDA_R_32F;
    case DType::f64: return CUDA_R_64F;
    case DType::c64: return CUDA_C_32F;
    default: return CUDA_C_64F;
  }
}

// alpha and beta in the precision that cuBLAS computes in.
struct Factors {
  Factors(const MatmulState& s)
      : f{static_cast<float>(s.alpha.re), static_cast<float>(s.beta.re)},
        d{s.alpha.re, s.beta.re},
        c{c64(s.alpha), c64(s.beta)},
        z{s.alpha, s.beta} {
    const void* rows[4][2] = {{&f[0], &f[1]}, {&d[0], &d[1]}, {&c[0], &c[1]}, {&z[0], &z[1]}};
    const int row = s.dtype == DType::f64    ? 1
                    : s.dtype == DType::c64  ? 2
                    : s.dtype == DType::c128 ? 3
                                             : 0;
    alpha = rows[row][0];
    beta = rows[row][1];
  }
  Factors(const Factors&) = delete;
  const void *alpha, *beta;

 private:
  float f[2];
  double d[2];
  c64 c[2];
  c128 z[2];
};

void product(const MatmulState& s, const BlasLock& blas, const void* a, const void* b, void* out) {
  const Factors f(s);
  const cudaDataType_t t = data_type(s.dtype);
  const cublasComputeType_t compute =
      s.dtype == DType::f64 || s.dtype == DType::c128 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  const cublasStatus_t status =
      s.batch == 1 ? cublasGemmEx_64(blas.handle(), s.b.op, s.a.op, s.n, s.m, s.k, f.alpha, b, t,
                                     s.b.leading, a, t, s.a.leading, f.beta, out, t, s.out.leading,
                                     compute, CUBLAS_GEMM_DEFAULT)
                   : cublasGemmStridedBatchedEx_64(
                         blas.handle(), s.b.op, s.a.op, s.n, s.m, s.k, f.alpha, b, t, s.b.leading,
                         s.b_step, a, t, s.a.leading, s.a_step, f.beta, out, t, s.out.leading,
                         s.out_step, s.batch, compute, CUBLAS_GEMM_DEFAULT);
  check(status, "a matrix product with cuBLAS");
}

// out (m x 1) = a b (k x 1). Row-major a is the transposed column-major matrix of k rows.
void matrix_vector(const MatmulState& s, const BlasLock& blas, const void* a, const void* b,
                   void* out) {
  const Factors f(s);
  const bool plain = s.a.op == CUBLAS_OP_N;  // row-major: cuBLAS sees the transpose
  const cublasOperation_t op = plain ? CUBLAS_OP_T : CUBLAS_OP_N;
  const i64 rows = plain ? s.k : s.m, columns = plain ? s.m : s.k, x = s.b.row_step,
            y = s.out.row_step;
  const cublasHandle_t h = blas.handle();
  cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
  const auto call = [&](auto gemv, auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    status = gemv(h, op, rows, columns, static_cast<const T*>(f.alpha), static_cast<const T*>(a),
                  s.a.leading, static_cast<const T*>(b), x, static_cast<const T*>(f.beta),
                  static_cast<T*>(out), y);
  };
  switch (s.dtype) {
    case DType::f32: call(&cublasSgemv_64, static_cast<float*>(nullptr)); break;
    case DType::f64: call(&cublasDgemv_64, static_cast<double*>(nullptr)); break;
    case DType::c64: call(&cublasCgemv_64, static_cast<cuComplex*>(nullptr)); break;
    default: call(&cublasZgemv_64, static_cast<cuDoubleComplex*>(nullptr)); break;
  }
  check(status, "a matrix-vector product with cuBLAS");
}

void run_matmul(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const MatmulState*>(state);
  const auto memory = [&](const Matrix& x) {
    return x.packed_at < 0 ? launch.operand[static_cast<std::size_t>(x.operand)]
                           : at_bytes(launch.workspace, x.packed_at);
  };
  if (s.only_scale) return s.only_scale.run(launch, {launch.operand[2], launch.operand[2]});
  for (const Matrix* x : {&s.a, &s.b, &s.out})
    if (x->pack)
      x->pack.run(launch, {launch.operand[static_cast<std::size_t>(x->operand)], memory(*x)});
  {
    const BlasLock blas(launch.device_index, stream_of(launch),
                        at_bytes(launch.workspace, s.blas_at), s.blas_bytes);
    const i64 bytes = size_of(s.dtype);
    for (const auto& at : s.slices) {
      void *a = at_bytes(memory(s.a), at[0] * bytes), *b = at_bytes(memory(s.b), at[1] * bytes),
           *out = at_bytes(memory(s.out), at[2] * bytes);
      s.vector ? matrix_vector(s, blas, a, b, out) : product(s, blas, a, b, out);
    }
  }
  if (s.out.unpack) s.out.unpack.run(launch, {memory(s.out), launch.operand[2]});
}

void run_zero(const void* state, const Launch& launch) {
  static_cast<const Pass*>(state)->run(launch, {launch.operand[2]});
}

// k == 0: out = beta * out, which must not read out when beta is zero.
Prepared prepare_empty_sum(const MatmulSpec& spec, Device device) {
  if (spec.beta == c128(0, 0)) {
    auto zero = std::make_shared<Pass>(
        element_pass(ElementOp::copy, spec.out.dtype, {{{}, Value(0)}}, spec.out, device));
    return {{&run_zero, zero}};
  }
  auto s = std::make_shared<MatmulState>();
  s->only_scale = scale_pass(spec.out, spec.out, Value(spec.beta), device);
  return {{&run_matmul, s}};
}

void choose_layouts(MatmulState& s, const Shape& batch, const MatmulSpec& spec, WorkspacePlan& ws,
                    Device device) {
  s.a = matrix_of(spec.a, spec.conj_a, 0);
  s.b = matrix_of(spec.b, spec.conj_b, 1);
  s.out = matrix_of(spec.out, false, 2);
  // A column-major result is a row-major result of the transposed problem. One column suits a
  // matrix-vector product; with a batch, one row suits folding the batch into the rows.
  const bool several = count_of(batch) > 1, row = s.out.rows == 1, column = s.out.columns == 1;
  if ((!s.out.row_major() && s.out.column_major()) ||
      (several ? column && !row && s.out.row_step == 1 : row && !column && s.out.column_major())) {
    std::swap(s.a, s.b);
    for (Matrix* x : {&s.a, &s.b, &s.out}) x->transpose();
  }
  const bool reads_out = spec.beta != c128(0, 0);
  MergedLoops merged;
  const auto merge = [&] {
    const std::array<Strides, 3> strides = {s.a.batch, s.b.batch, s.out.batch};
    merged = merge_loops(batch, strides, 2);
  };
  merge();
  const i64 inner = merged.size.empty() ? 1 : merged.size[0];
  const bool scattered =
      merged.count / std::max<i64>(1, inner) > 32;  // too many calls for one product
  for (Matrix* x : {&s.a, &s.b})
    if (x->packed_at < 0 && (scattered || !(x->column_major() || (!x->conj && x->row_major()))))
      pack(*x, batch, s.dtype, ws, device, false, true);
  if (scattered || !s.out.row_major()) pack(s.out, batch, s.dtype, ws, device, true, reads_out);
  merge();
  s.m = s.a.rows;
  s.k = s.a.columns;
  s.n = s.b.columns;
  s.slices = outer_slices(merged, 1);
  if (!merged.size.empty()) {
    s.batch = merged.size[0];
    s.a_step = merged.stride[0][0];
    s.b_step = merged.stride[1][0];
    s.out_step = merged.stride[2][0];
  }
  fold_batch(s);
}

}  // namespace
}  // namespace cuda

Prepared prepare_matmul_cuda(const MatmulSpec& spec, Device device) {
  using namespace cuda;
  const DType t = spec.out.dtype;
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  if (spec.stored != MatmulSpec::Stored::all) return prepare_triangle_cuda(spec, device);
  if (!is_inexact(t)) return prepare_matmul_integer_cuda(spec, device);
  if (spec.a.layout.shape.back() == 0) return prepare_empty_sum(spec, device);
  prepare_blas(device.index);
  auto s = std::make_shared<MatmulState>();
  s->dtype = t;
  s->alpha = spec.alpha;
  s->beta = spec.beta;
  Shape batch = spec.out.layout.shape;
  batch.pop_back();
  batch.pop_back();
  WorkspacePlan ws;
  choose_layouts(*s, batch, spec, ws, device);
  for (Matrix* x : {&s->a, &s->b, &s->out}) choose_op(*x);
  const bool gemv_type = t != DType::f16 && t != DType::bf16;
  s->vector = gemv_type && s->n == 1 && s->batch == 1 && !s->a.conj && vector_steps_fit(*s);
  Prepared p;
  p.flops = (is_complex(t) ? 8.0 : 2.0) * static_cast<double>(spec.out.layout.size()) *
            static_cast<double>(s->k);
  s->blas_bytes = blas_workspace(p.flops / 2) + 256;
  s->blas_at = ws.take(s->blas_bytes);
  p.workspace = ws.total();
  p.task = {&run_matmul, s};
  return p;
}

}  // namespace tessera
