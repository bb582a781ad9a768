// SPDX-License-Identifier: Apache-2.0
// Dense algebra on CUDA: cuSOLVER's 64-bit functions matrix by matrix, triangles by cuBLAS, and
// small kernels for what LAPACK does besides (permutations, products of pivots, cleared triangles).
// Matrices of at most 32 rows and columns are factored and solved by one warp each, a whole stack
// in one launch (small_cuda.cuh); LU, QR and singular values of those that fit into shared memory
// are found by one block each (block_lu_cuda.cuh, block_qr_cuda.cuh, block_svd_cuda.cuh);
// eigenvalues of stacks of Hermitian ones go to cuSOLVER in one call, those of general ones one by
// one: it has no other call. Columns are not exchanged in QR, and left eigenvectors are not found:
// NotAvailable.
#include <cuComplex.h>

#include "tessera/device/cuda/handles.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/linalg/block_lu_cuda.cuh"
#include "tessera/kernels/linalg/block_svd_cuda.cuh"
#include "tessera/kernels/linalg/dense.hpp"
#include "tessera/kernels/linalg/parts_cuda.cuh"
#include "tessera/kernels/linalg/small_cuda.cuh"
#include "tessera/kernels/linalg/solver_cuda.cuh"

namespace tessera {
namespace cuda {
namespace {

template <class T>
constexpr cudaDataType data_type = std::is_same_v<T, float>    ? CUDA_R_32F
                                   : std::is_same_v<T, double> ? CUDA_R_64F
                                   : std::is_same_v<T, c64>    ? CUDA_C_32F
                                                               : CUDA_C_64F;

struct DenseState {
  DenseSpec spec;
  std::size_t device_bytes = 0, host_bytes = 0;  // of cuSOLVER
  i64 solver_at = 0, info_at = 0, pivots_at = 0, extra_at = 0, more_at = 0, blas_at = 0;
  i64 block_bytes = 0;  // shared memory of one block for each matrix, or 0: not done so
};

constexpr i64 blas_bytes = (i64{4} << 20) + 256;

cublasOperation_t operation(Turn turn) {
  return turn == Turn::none ? CUBLAS_OP_N : turn == Turn::transposed ? CUBLAS_OP_T : CUBLAS_OP_C;
}
cublasFillMode_t fill(bool lower) {
  return lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

// One run of the kernel: the operands by type and the pieces of the workspace.
template <class T>
struct Run {
  using R = Real<T>;
  static constexpr cudaDataType type = data_type<T>, real_type = data_type<R>;
  const DenseState& s;
  const DenseSpec& p;
  const Launch& launch;
  cudaStream_t stream;

  Run(const DenseState& state, const Launch& l)
      : s(state), p(state.spec), launch(l), stream(stream_of(l)) {}

  template <class U>
  U* part(int operand, i64 i, i64 size) const {
    return static_cast<U*>(launch.operand[static_cast<std::size_t>(operand)]) + i * size;
  }
  template <class U>
  U* piece(i64 at) const {
    return static_cast<U*>(at_bytes(launch.workspace, at));
  }
  int* info(i64 i) const { return piece<int>(s.info_at) + i; }
  void* room() const { return at_bytes(launch.workspace, s.solver_at); }
  unsigned blocks(i64 items) const { return blocks_for(items, block_threads, 4096); }

  void report(int operand) const {
    widen_info<<<blocks(p.batch), block_threads, 0, stream>>>(info(0), part<i64>(operand, 0, 1),
                                                              p.batch);
    check_launch("reporting of dense algebra");
  }

  void getrf(SolverLock& solver, T* a, i64* pivots, i64 i) const {
    check(
        cusolverDnXgetrf(solver.handle(), solver.params(), p.m, p.n, type, a, p.m, pivots, type,
                         room(), s.device_bytes, solver.host(s.host_bytes), s.host_bytes, info(i)),
        "factoring with cuSOLVER");
  }
  void getrs(SolverLock& solver, const T* a, const i64* pivots, T* b, i64 columns, Turn turn,
             int* answer) const {
    check(cusolverDnXgetrs(solver.handle(), solver.params(), operation(turn), p.n, columns, type, a,
                           p.n, pivots, type, b, p.n, answer),
          "solving with cuSOLVER");
  }

  void lu(SolverLock& solver) const {
    const i64 k = std::min(p.m, p.n);
    for (i64 i = 0; i < p.batch; ++i)
      getrf(solver, part<T>(0, i, p.m * p.n), part<i64>(1, i, k), i);
    order_rows();
  }
  void order_rows() const {
    const i64 k = std::min(p.m, p.n);
    rows_of_pivots<<<blocks(p.batch), block_threads, 0, stream>>>(
        part<i64>(1, 0, k), part<i64>(2, 0, p.m), p.m, k, p.batch);
    check_launch("ordering rows");
    report(3);
  }

  void lu_solve(SolverLock& solver) const {
    for (i64 i = 0; i < p.batch; ++i)
      getrs(solver, part<T>(0, i, p.n * p.n), part<i64>(1, i, p.n), part<T>(2, i, p.n * p.columns),
            p.columns, p.turn, info(0));
  }

  void inverse(SolverLock& solver) const {
    const i64 size = p.n * p.n;
    for (i64 i = 0; i < p.batch; ++i) {
      T* x = part<T>(1, i, size);
      i64* pivots = piece<i64>(s.pivots_at);
      getrf(solver, part<T>(0, i, size), pivots, i);
      fill_identity<T><<<blocks(size), block_threads, 0, stream>>>(x, p.n, nullptr);
      getrs(solver, part<T>(0, i, size), pivots, x, p.n, Turn::none, info(p.batch));
      fill_identity<T><<<blocks(size), block_threads, 0, stream>>>(x, p.n, info(i));
      check_launch("inverting");
    }
    report(2);
  }

  void slogdet(SolverLock& solver) const {
    for (i64 i = 0; i < p.batch; ++i)
      getrf(solver, part<T>(0, i, p.n * p.n), piece<i64>(s.pivots_at) + i * p.n, i);
    multiply_pivots();
  }
  void multiply_pivots() const {
    products_of_pivots<T><<<blocks(p.batch), block_threads, 0, stream>>>(
        part<T>(0, 0, 1), piece<i64>(s.pivots_at), part<T>(1, 0, 1), part<R>(2, 0, 1),
        part<T>(3, 0, 1), p.n, p.batch);
    check_launch("multiplying pivots");
  }

  void cholesky(SolverLock& solver) const {
    for (i64 i = 0; i < p.batch; ++i) {
      T* a = part<T>(0, i, p.n * p.n);
      check(cusolverDnXpotrf(solver.handle(), solver.params(), fill(p.lower), p.n, type, a, p.n,
                             type, room(), s.device_bytes, solver.host(s.host_bytes), s.host_bytes,
                             info(i)),
            "factoring with cuSOLVER");
      clear_triangle<T><<<blocks(p.n * p.n), block_threads, 0, stream>>>(a, p.n, p.n, p.lower);
      check_launch("clearing a triangle");
    }
    report(1);
  }

  void cholesky_solve(SolverLock& solver) const {
    for (i64 i = 0; i < p.batch; ++i)
      check(cusolverDnXpotrs(solver.handle(), solver.params(), fill(p.lower), p.n, p.columns, type,
                             part<T>(0, i, p.n * p.n), p.n, type, part<T>(1, i, p.n * p.columns),
                             p.n, info(0)),
            "solving with cuSOLVER");
  }

  void look_at_diagonals() const {
    i64* answer = part<i64>(2, 0, 1);
    if (p.unit) {
      check(cudaMemsetAsync(answer, 0, static_cast<std::size_t>(p.batch) * sizeof(i64), stream),
            "clearing answers");
    } else {
      find_zero<T><<<static_cast<unsigned>(p.batch), block_threads, 0, stream>>>(part<T>(0, 0, 1),
                                                                                 p.n, answer);
      check_launch("looking at a diagonal");
    }
  }

  void triangular_solve() const {
    look_at_diagonals();
    const BlasLock blas(launch.device_index, stream, at_bytes(launch.workspace, s.blas_at),
                        blas_bytes);
    for (i64 i = 0; i < p.batch; ++i)
      check(trsm(blas.handle(), part<T>(0, i, p.n * p.n), part<T>(1, i, p.n * p.columns)),
            "solving with cuBLAS");
  }

  cublasStatus_t trsm(cublasHandle_t h, const T* a, T* b) const {
    const auto call = [&](auto f, auto one) {
      using U = decltype(one);
      return f(h, CUBLAS_SIDE_LEFT, fill(p.lower), operation(p.turn),
               p.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, p.n, p.columns, &one,
               reinterpret_cast<const U*>(a), p.n, reinterpret_cast<U*>(b), p.n);
    };
    if constexpr (std::is_same_v<T, float>)
      return call(&cublasStrsm_64, 1.0f);
    else if constexpr (std::is_same_v<T, double>)
      return call(&cublasDtrsm_64, 1.0);
    else if constexpr (std::is_same_v<T, c64>)
      return call(&cublasCtrsm_64, make_cuComplex(1, 0));
    else
      return call(&cublasZtrsm_64, make_cuDoubleComplex(1, 0));
  }

  cusolverStatus_t orgqr(SolverLock& solver, T* q, const T* tau, i64 columns, i64 k,
                         int* answer) const {
    const int m = static_cast<int>(p.m), n = static_cast<int>(columns), r = static_cast<int>(k),
              room_size = static_cast<int>(s.device_bytes / sizeof(T));
    const auto h = solver.handle();
    void* work = room();
    if constexpr (std::is_same_v<T, float>) {
      return cusolverDnSorgqr(h, m, n, r, q, m, tau, static_cast<T*>(work), room_size, answer);
    } else if constexpr (std::is_same_v<T, double>) {
      return cusolverDnDorgqr(h, m, n, r, q, m, tau, static_cast<T*>(work), room_size, answer);
    } else if constexpr (std::is_same_v<T, c64>) {
      using U = cuComplex;
      return cusolverDnCungqr(h, m, n, r, reinterpret_cast<U*>(q), m,
                              reinterpret_cast<const U*>(tau), static_cast<U*>(work), room_size,
                              answer);
    } else {
      using U = cuDoubleComplex;
      return cusolverDnZungqr(h, m, n, r, reinterpret_cast<U*>(q), m,
                              reinterpret_cast<const U*>(tau), static_cast<U*>(work), room_size,
                              answer);
    }
  }

  void qr(SolverLock& solver) const {
    const i64 k = std::min(p.m, p.n), rank = p.full ? p.m : k;
    T* tau = piece<T>(s.extra_at);
    for (i64 i = 0; i < p.batch; ++i) {
      T *a = part<T>(0, i, p.m * p.n), *r = part<T>(2, i, rank * p.n);
      check(cusolverDnXgeqrf(solver.handle(), solver.params(), p.m, p.n, type, a, p.m, type, tau,
                             type, room(), s.device_bytes, solver.host(s.host_bytes), s.host_bytes,
                             info(i)),
            "factoring with cuSOLVER");
      copy_block<T><<<blocks(rank * p.n), block_threads, 0, stream>>>(a, p.m, r, rank, p.n, p.n);
      clear_triangle<T><<<blocks(rank * p.n), block_threads, 0, stream>>>(r, rank, p.n, false);
      if (p.vectors) {
        T* q = part<T>(1, i, p.m * rank);
        copy_block<T><<<blocks(p.m * rank), block_threads, 0, stream>>>(a, p.m, q, p.m, rank, k);
        check(orgqr(solver, q, tau, rank, k, info(p.batch)), "forming Q with cuSOLVER");
      }
      check_launch("taking factors apart");
    }
    report(4);
  }

  void eigh(SolverLock& solver) const {
    check(cusolverDnXsyevBatched(solver.handle(), solver.params(),
                                 p.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR,
                                 fill(p.lower), p.n, type, part<T>(0, 0, 1), p.n, real_type,
                                 part<R>(1, 0, 1), type, room(), s.device_bytes,
                                 solver.host(s.host_bytes), s.host_bytes, info(0), p.batch),
          "finding eigenvalues with cuSOLVER");
    report(2);
  }
  void eigh_one(SolverLock& solver) const {
    check(cusolverDnXsyevd(solver.handle(), solver.params(),
                           p.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR,
                           fill(p.lower), p.n, type, part<T>(0, 0, 1), p.n, real_type,
                           part<R>(1, 0, 1), type, room(), s.device_bytes,
                           solver.host(s.host_bytes), s.host_bytes, info(0)),
          "finding eigenvalues with cuSOLVER");
    report(2);
  }

  void eig(SolverLock& solver) const {
    using C = ComplexOf<R>;
    constexpr bool real = std::is_floating_point_v<T>;
    for (i64 i = 0; i < p.batch; ++i) {
      C *values = part<C>(1, i, p.n), *right = part<C>(3, i, p.vectors ? p.n * p.n : 0);
      T* vectors = real ? piece<T>(s.extra_at) : reinterpret_cast<T*>(right);
      check(cusolverDnXgeev(solver.handle(), solver.params(), CUSOLVER_EIG_MODE_NOVECTOR,
                            p.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR, p.n,
                            type, part<T>(0, i, p.n * p.n), p.n, data_type<C>, values, type,
                            nullptr, p.n, type, p.vectors ? vectors : nullptr, p.n, type, room(),
                            s.device_bytes, solver.host(s.host_bytes), s.host_bytes, info(i)),
            "finding eigenvalues with cuSOLVER");
      if constexpr (real) {
        if (p.vectors)
          unpack_pairs<R>
              <<<blocks(p.n * p.n), block_threads, 0, stream>>>(vectors, values, right, p.n);
        check_launch("unpacking eigenvectors");
      }
    }
    report(4);
  }

  // cuSOLVER wants m >= n: a wide matrix is treated as its adjoint, with u and vh exchanged.
  void svd(SolverLock& solver) const {
    const bool wide = p.m < p.n;
    const i64 m = std::max(p.m, p.n), n = std::min(p.m, p.n), mu = p.full ? m : n;
    const signed char job = !p.vectors ? 'N' : p.full ? 'A' : 'S';
    for (i64 i = 0; i < p.batch; ++i) {
      T *a = part<T>(0, i, m * n), *u = nullptr, *vh = nullptr;
      if (p.vectors) {
        u = wide ? piece<T>(s.more_at) : part<T>(1, i, m * mu);
        vh = wide ? piece<T>(s.more_at) + m * mu : part<T>(3, i, n * n);
      }
      if (wide) {
        T* turned = piece<T>(s.extra_at);
        copy_adjoint<T><<<blocks(m * n), block_threads, 0, stream>>>(a, turned, p.m, p.n);
        a = turned;
      }
      check(cusolverDnXgesvd(solver.handle(), solver.params(), job, job, m, n, type, a, m,
                             real_type, part<R>(2, i, n), type, u, m, type, vh, n, type, room(),
                             s.device_bytes, solver.host(s.host_bytes), s.host_bytes, info(i)),
            "finding singular values with cuSOLVER");
      if (wide && p.vectors) {
        copy_adjoint<T>
            <<<blocks(n * n), block_threads, 0, stream>>>(vh, part<T>(1, i, n * n), n, n);
        copy_adjoint<T>
            <<<blocks(m * mu), block_threads, 0, stream>>>(u, part<T>(3, i, m * mu), m, mu);
      }
      check_launch("turning singular vectors");
    }
    report(4);
  }

  void small() const {
    const SmallStack stack{p.m, p.n, p.columns, p.batch, stream};
    T* a = part<T>(0, 0, 1);
    switch (p.op) {
      case DenseOp::lu: small_lu(stack, a, part<i64>(1, 0, 1), info(0)); return order_rows();
      case DenseOp::lu_solve:
        return small_lu_solve(stack, a, part<i64>(1, 0, 1), part<T>(2, 0, 1), p.turn);
      case DenseOp::inverse: small_inverse(stack, a, part<T>(1, 0, 1), info(0)); return report(2);
      case DenseOp::slogdet:
        small_lu(stack, a, piece<i64>(s.pivots_at), info(0));
        return multiply_pivots();
      case DenseOp::cholesky: small_cholesky(stack, a, info(0), p.lower); return report(1);
      case DenseOp::cholesky_solve:
        return small_cholesky_solve(stack, a, part<T>(1, 0, 1), p.lower);
      default:
        look_at_diagonals();
        small_triangular_solve(stack, a, part<T>(1, 0, 1), {p.lower, p.unit, p.turn});
    }
  }

  void by_blocks() const {
    T *a = part<T>(0, 0, 1), *first = part<T>(1, 0, 1);
    switch (p.op) {
      case DenseOp::lu:
        block_lu(BlockLu(p), s.block_bytes, a, part<i64>(1, 0, 1), info(0), stream);
        return order_rows();
      case DenseOp::slogdet:
        block_lu(BlockLu(p), s.block_bytes, a, piece<i64>(s.pivots_at), info(0), stream);
        return multiply_pivots();
      case DenseOp::inverse:
        block_lu(BlockLu(p), s.block_bytes, a, piece<i64>(s.pivots_at), info(0), stream);
        fill_identities<T>
            <<<blocks(p.batch * p.n * p.n), block_threads, 0, stream>>>(first, p.n, p.batch);
        block_lu_solve(BlockLu(p), s.block_bytes, a, piece<i64>(s.pivots_at), first, p.n,
                       Turn::none, info(0), stream);
        return report(2);
      case DenseOp::lu_solve:
        return block_lu_solve(BlockLu(p), s.block_bytes, a, part<i64>(1, 0, 1), part<T>(2, 0, 1),
                              p.columns, p.turn, nullptr, stream);
      case DenseOp::qr:
        block_qr(BlockQr(p), s.block_bytes, a, p.vectors ? first : nullptr, part<T>(2, 0, 1),
                 info(0), stream);
        return report(4);
      default:
        block_svd(BlockSvd(p), s.block_bytes, a, first, part<R>(2, 0, 1), part<T>(3, 0, 1), info(0),
                  stream);
        report(4);
    }
  }

  void all() const {
    if (is_small(p)) return small();
    if (s.block_bytes > 0) return by_blocks();
    if (p.op == DenseOp::triangular_solve) return triangular_solve();
    SolverLock solver(launch.device_index, stream);
    switch (p.op) {
      case DenseOp::lu: return lu(solver);
      case DenseOp::lu_solve: return lu_solve(solver);
      case DenseOp::inverse: return inverse(solver);
      case DenseOp::slogdet: return slogdet(solver);
      case DenseOp::cholesky: return cholesky(solver);
      case DenseOp::cholesky_solve: return cholesky_solve(solver);
      case DenseOp::qr: return qr(solver);
      case DenseOp::eigh: return p.batch == 1 ? eigh_one(solver) : eigh(solver);
      case DenseOp::eig: return eig(solver);
      default: return svd(solver);
    }
  }
};

template <class T>
void run_dense(const void* state, const Launch& launch) {
  Run<T>(*static_cast<const DenseState*>(state), launch).all();
}

// How much room cuSOLVER wants.
template <class T>
void ask(DenseState& s, int device) {
  using R = Real<T>;
  constexpr cudaDataType type = data_type<T>, real = data_type<R>;
  const DenseSpec& p = s.spec;
  const DeviceGuard guard(device);
  SolverLock solver(device, nullptr);
  const auto h = solver.handle();
  const auto params = solver.params();
  std::size_t &d = s.device_bytes, &host = s.host_bytes;
  const cusolverEigMode_t mode = p.vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
  switch (p.op) {
    case DenseOp::lu:
    case DenseOp::inverse:
    case DenseOp::slogdet:
      status =
          cusolverDnXgetrf_bufferSize(h, params, p.m, p.n, type, nullptr, p.m, type, &d, &host);
      break;
    case DenseOp::cholesky:
      status = cusolverDnXpotrf_bufferSize(h, params, fill(p.lower), p.n, type, nullptr, p.n, type,
                                           &d, &host);
      break;
    case DenseOp::qr:
      status = cusolverDnXgeqrf_bufferSize(h, params, p.m, p.n, type, nullptr, p.m, type, nullptr,
                                           type, &d, &host);
      break;
    case DenseOp::eigh:
      status = p.batch == 1
                   ? cusolverDnXsyevd_bufferSize(h, params, mode, fill(p.lower), p.n, type, nullptr,
                                                 p.n, real, nullptr, type, &d, &host)
                   : cusolverDnXsyevBatched_bufferSize(h, params, mode, fill(p.lower), p.n, type,
                                                       nullptr, p.n, real, nullptr, type, &d, &host,
                                                       p.batch);
      break;
    case DenseOp::eig:
      status = cusolverDnXgeev_bufferSize(h, params, CUSOLVER_EIG_MODE_NOVECTOR, mode, p.n, type,
                                          nullptr, p.n, data_type<ComplexOf<R>>, nullptr, type,
                                          nullptr, p.n, type, nullptr, p.n, type, &d, &host);
      break;
    case DenseOp::svd: {
      const i64 m = std::max(p.m, p.n), n = std::min(p.m, p.n);
      const signed char job = !p.vectors ? 'N' : p.full ? 'A' : 'S';
      status =
          cusolverDnXgesvd_bufferSize(h, params, job, job, m, n, type, nullptr, m, real, nullptr,
                                      type, nullptr, m, type, nullptr, n, type, &d, &host);
      break;
    }
    default: break;
  }
  check(status, "asking cuSOLVER for its workspace");
}

template <class T>
std::size_t room_of_orgqr(const DenseSpec& p, int device) {
  const int m = static_cast<int>(p.m), k = static_cast<int>(std::min(p.m, p.n)),
            rank = p.full ? m : k;
  const DeviceGuard guard(device);
  SolverLock solver(device, nullptr);
  const auto h = solver.handle();
  int size = 0;
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
  if constexpr (std::is_same_v<T, float>)
    status = cusolverDnSorgqr_bufferSize(h, m, rank, k, nullptr, m, nullptr, &size);
  else if constexpr (std::is_same_v<T, double>)
    status = cusolverDnDorgqr_bufferSize(h, m, rank, k, nullptr, m, nullptr, &size);
  else if constexpr (std::is_same_v<T, c64>)
    status = cusolverDnCungqr_bufferSize(h, m, rank, k, nullptr, m, nullptr, &size);
  else
    status = cusolverDnZungqr_bufferSize(h, m, rank, k, nullptr, m, nullptr, &size);
  check(status, "asking cuSOLVER for its workspace");
  return static_cast<std::size_t>(size) * sizeof(T);
}

// The shared memory that a block takes for one matrix; 0 where it has not so much, and for a few
// matrices that are large enough to keep the whole device busy one after another.
template <class T>
i64 bytes_of_block(const DenseSpec& p, int device) {
  constexpr i64 large = 64 * 64, few = 4, more_than_any = 1 << 16;
  if (p.m * p.n > more_than_any || (p.m * p.n > large && p.batch < few)) return 0;
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory of a block");
  const DeviceGuard guard(device);
  // All that a block may have, so that nobody who prepares another matrix asks for less.
  const auto granted = [&](i64 bytes, auto... kernels) -> i64 {
    if (bytes > most) return 0;
    (check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernels),
                                cudaFuncAttributeMaxDynamicSharedMemorySize, most),
           "asking for shared memory"),
     ...);
    return bytes;
  };
  switch (p.op) {
    case DenseOp::lu:
    case DenseOp::slogdet: return granted(BlockLu::bytes<T>(p), &run_block_lu<T>);
    case DenseOp::lu_solve: return granted(BlockLu::solve_bytes<T>(p), &run_block_lu_solve<T>);
    case DenseOp::inverse:
      return granted(std::max(BlockLu::bytes<T>(p), BlockLu::solve_bytes<T>(p)), &run_block_lu<T>,
                     &run_block_lu_solve<T>);
    case DenseOp::qr: return granted(BlockQr::bytes<T>(p), &run_block_qr<T>);
    case DenseOp::svd: return granted(BlockSvd::bytes<T>(p), &run_block_svd<T>);
    default: return 0;
  }
}

template <class T>
Prepared prepare(const DenseSpec& spec, int device) {
  auto s = std::make_shared<DenseState>();
  s->spec = spec;
  const i64 size = static_cast<i64>(sizeof(T)), m = std::max(spec.m, spec.n),
            n = std::min(spec.m, spec.n);
  WorkspacePlan ws;
  s->info_at = ws.take((spec.batch + 1) * static_cast<i64>(sizeof(int)));
  if (!is_small(spec)) s->block_bytes = bytes_of_block<T>(spec, device);
  if (is_small(spec) || s->block_bytes > 0) {
    // nothing of a library
  } else if (spec.op == DenseOp::triangular_solve) {
    prepare_blas(device);
    s->blas_at = ws.take(blas_bytes);
  } else {
    ask<T>(*s, device);
  }
  switch (spec.op) {
    case DenseOp::inverse:
      s->pivots_at = ws.take((s->block_bytes > 0 ? spec.batch : 1) * spec.n * 8);
      break;
    case DenseOp::slogdet: s->pivots_at = ws.take(spec.batch * spec.n * 8); break;
    case DenseOp::qr:
      if (s->block_bytes > 0) break;
      s->device_bytes = std::max(s->device_bytes, room_of_orgqr<T>(spec, device));
      s->extra_at = ws.take(n * size);
      break;
    case DenseOp::eig: s->extra_at = ws.take(spec.vectors ? spec.n * spec.n * size : 0); break;
    case DenseOp::svd:
      if (spec.m >= spec.n || s->block_bytes > 0) break;
      s->extra_at = ws.take(m * n * size);
      s->more_at = ws.take((m * (spec.full ? m : n) + n * n) * size);
      break;
    default: break;
  }
  s->solver_at = ws.take(static_cast<i64>(s->device_bytes));
  Prepared p;
  p.workspace = ws.total();
  p.capturable = false;  // some of cuSOLVER waits for the device
  const double rows = static_cast<double>(m);
  p.flops =
      static_cast<double>(spec.batch) * rows * rows * (rows + static_cast<double>(spec.columns));
  p.task = {&run_dense<T>, std::move(s)};
  return p;
}

}  // namespace
}  // namespace cuda

Prepared prepare_dense_cuda(const DenseSpec& spec, Device device) {
  require<NotAvailable>(!(spec.op == DenseOp::qr && spec.pivoted),
                        "qr: cuSOLVER exchanges no columns; move the array with .to(\"cpu\")");
  require<NotAvailable>(!(spec.op == DenseOp::eig && spec.left),
                        "eig: cuSOLVER finds no left eigenvectors; move the array with "
                        ".to(\"cpu\")");
  Prepared p;
  dispatch<float, double, c64, c128>(spec.dtype, "linalg",
                                     [&]<class T>() { p = cuda::prepare<T>(spec, device.index); });
  return p;
}

}  // namespace tessera
