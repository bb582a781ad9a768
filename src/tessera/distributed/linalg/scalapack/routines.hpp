// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of BLACS and ScaLAPACK that we call, with one signature for all four types: what is
// a matrix is an address. Character arguments of Fortran carry their lengths at the end.
//   pick(dtype, psgemm_, pdgemm_, pcgemm_, pzgemm_)("N", "N", &m, ...);

#include <mpi.h>

#include <cstddef>

#include "tessera/base/dtype.hpp"

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* me, const int* first, const int* ranks);

// Positions (i, j) count from 1; d is the descriptor of the matrix before it.
#define TESSERA_FOUR(name, arguments) \
  void ps##name##_ arguments;         \
  void pd##name##_ arguments;         \
  void pc##name##_ arguments;         \
  void pz##name##_ arguments;
TESSERA_FOUR(gemr2d, (const int* m, const int* n, const void* a, const int* ia, const int* ja,
                      const int* da, void* b, const int* ib, const int* jb, const int* db,
                      const int* context))
TESSERA_FOUR(gemm, (const char* ta, const char* tb, const int* m, const int* n, const int* k,
                    const void* alpha, const void* a, const int* ia, const int* ja, const int* da,
                    const void* b, const int* ib, const int* jb, const int* db, const void* beta,
                    void* c, const int* ic, const int* jc, const int* dc))
TESSERA_FOUR(gesv, (const int* n, const int* columns, void* a, const int* ia, const int* ja,
                    const int* da, int* pivots, void* b, const int* ib, const int* jb,
                    const int* db, int* info))
TESSERA_FOUR(getrf, (const int* m, const int* n, void* a, const int* ia, const int* ja,
                     const int* da, int* pivots, int* info))
TESSERA_FOUR(getri,
             (const int* n, void* a, const int* ia, const int* ja, const int* da, const int* pivots,
              void* work, const int* size, int* ints, const int* isize, int* info))
TESSERA_FOUR(potrf, (const char* part, const int* n, void* a, const int* ia, const int* ja,
                     const int* da, int* info, std::size_t))
TESSERA_FOUR(geqrf, (const int* m, const int* n, void* a, const int* ia, const int* ja,
                     const int* da, void* tau, void* work, const int* size, int* info))
void psorgqr_(const int* m, const int* n, const int* k, void* a, const int* ia, const int* ja,
              const int* da, const void* tau, void* work, const int* size, int* info);
void pdorgqr_(const int* m, const int* n, const int* k, void* a, const int* ia, const int* ja,
              const int* da, const void* tau, void* work, const int* size, int* info);
void pcungqr_(const int* m, const int* n, const int* k, void* a, const int* ia, const int* ja,
              const int* da, const void* tau, void* work, const int* size, int* info);
void pzungqr_(const int* m, const int* n, const int* k, void* a, const int* ia, const int* ja,
              const int* da, const void* tau, void* work, const int* size, int* info);
#define TESSERA_EIGEN_BEGIN                                                                     \
  const char *job, const char *part, const int *n, void *a, const int *ia, const int *ja,       \
      const int *da, void *w, void *z, const int *iz, const int *jz, const int *dz, void *work, \
      const int *size
void pssyevd_(TESSERA_EIGEN_BEGIN, int* ints, const int* isize, int* info, std::size_t,
              std::size_t);
void pdsyevd_(TESSERA_EIGEN_BEGIN, int* ints, const int* isize, int* info, std::size_t,
              std::size_t);
void pcheevd_(TESSERA_EIGEN_BEGIN, void* real, const int* rsize, int* ints, const int* isize,
              int* info, std::size_t, std::size_t);
void pzheevd_(TESSERA_EIGEN_BEGIN, void* real, const int* rsize, int* ints, const int* isize,
              int* info, std::size_t, std::size_t);
#define TESSERA_SVD_BEGIN                                                               \
  const char *ju, const char *jv, const int *m, const int *n, void *a, const int *ia,   \
      const int *ja, const int *da, void *s, void *u, const int *iu, const int *ju1,    \
      const int *du, void *v, const int *iv, const int *jv1, const int *dv, void *work, \
      const int *size
void psgesvd_(TESSERA_SVD_BEGIN, int* info, std::size_t, std::size_t);
void pdgesvd_(TESSERA_SVD_BEGIN, int* info, std::size_t, std::size_t);
void pcgesvd_(TESSERA_SVD_BEGIN, void* real, int* info, std::size_t, std::size_t);
void pzgesvd_(TESSERA_SVD_BEGIN, void* real, int* info, std::size_t, std::size_t);
#undef TESSERA_FOUR
#undef TESSERA_EIGEN_BEGIN
#undef TESSERA_SVD_BEGIN
}

namespace tessera::dist::scalapack {

template <class F>
F* pick(DType t, F* s, F* d, F* c, F* z) {
  return t == DType::f32 ? s : t == DType::f64 ? d : t == DType::c64 ? c : z;
}

}  // namespace tessera::dist::scalapack
