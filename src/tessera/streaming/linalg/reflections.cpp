// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/reflections.hpp"

#include "tessera/base/dtype.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/linalg/lapack.hpp"

namespace tessera::streaming {
namespace {

using lapack::Int;

// The letters of one dtype.
template <class T>
struct Routines;
#define TESSERA_ROUTINES(type, number, s)                           \
  template <>                                                       \
  struct Routines<type> {                                           \
    using Number = number;                                          \
    static constexpr auto geqrt = &LAPACKE_##s##geqrt_work;         \
    static constexpr auto gemqrt = &LAPACKE_##s##gemqrt_work;       \
    static constexpr auto tpqrt = &LAPACKE_##s##tpqrt_work;         \
    static constexpr auto tpmqrt = &LAPACKE_##s##tpmqrt_work;       \
    static constexpr char adjoint = is_complex_v<type> ? 'C' : 'T'; \
  };
TESSERA_ROUTINES(float, float, s)
TESSERA_ROUTINES(double, double, d)
TESSERA_ROUTINES(c64, std::complex<float>, c)
TESSERA_ROUTINES(c128, std::complex<double>, z)
#undef TESSERA_ROUTINES

Int count(i64 n) {
  require<BackendError>(n <= std::numeric_limits<Int>::max(), "qr: a block of ", n,
                        " rows or columns is more than LAPACK's 32-bit integers can count");
  return static_cast<Int>(n);
}

// `call` gets the routines and a cast to their numbers.
template <class Call>
void with_routines(DType dtype, Call&& call) {
  limit_library_threads();
  dispatch<float, double, c64, c128>(dtype, "qr", [&]<class T>() {
    using R = Routines<T>;
    const auto cast = [](void* p) { return static_cast<typename R::Number*>(p); };
    const Int info = call(R{}, cast);
    require<BackendError>(info == 0, "qr: LAPACK refuses its argument ", i64{-info});
  });
}

void* column(DType dtype, const Columns& c, i64 row, i64 column) {
  return static_cast<std::byte*>(c.data) + (column * c.ld + row) * size_of(dtype);
}

}  // namespace

void reflect_square(DType dtype, i64 n, i64 block, Columns square, void* factors, void* work) {
  if (n == 0) return;
  with_routines(dtype, [&](auto r, auto as) {
    return r.geqrt(LAPACK_COL_MAJOR, count(n), count(n), count(block), as(square.data),
                   count(square.ld), as(factors), count(block), as(work));
  });
}

void reflect_below(DType dtype, i64 rows, i64 n, i64 block, Columns triangle, Columns panel,
                   void* factors, void* work) {
  if (n == 0) return;
  with_routines(dtype, [&](auto r, auto as) {
    return r.tpqrt(LAPACK_COL_MAJOR, count(rows), count(n), 0, count(block), as(triangle.data),
                   count(triangle.ld), as(panel.data), count(panel.ld), as(factors), count(block),
                   as(work));
  });
}

void apply_square(DType dtype, bool adjoint, i64 n, i64 columns, i64 block, Columns square,
                  void* factors, Columns to, void* work) {
  if (n == 0 || columns == 0) return;
  with_routines(dtype, [&](auto r, auto as) {
    return r.gemqrt(LAPACK_COL_MAJOR, 'L', adjoint ? r.adjoint : 'N', count(n), count(columns),
                    count(n), count(block), as(square.data), count(square.ld), as(factors),
                    count(block), as(to.data), count(to.ld), as(work));
  });
}

void apply_below(DType dtype, bool adjoint, i64 rows, i64 n, i64 columns, i64 block, Columns panel,
                 void* factors, Columns top, Columns bottom, void* work) {
  if (n == 0 || columns == 0) return;
  with_routines(dtype, [&](auto r, auto as) {
    return r.tpmqrt(LAPACK_COL_MAJOR, 'L', adjoint ? r.adjoint : 'N', count(rows), count(columns),
                    count(n), 0, count(block), as(panel.data), count(panel.ld), as(factors),
                    count(block), as(top.data), count(top.ld), as(bottom.data), count(bottom.ld),
                    as(work));
  });
}

void apply_below_triangle(DType dtype, i64 rows, i64 n, i64 block, Columns panel, void* factors,
                          Columns triangle, Columns bottom, void* work) {
  if (n == 0) return;
  // Reflection j meets zeros alone in the columns before j.
  for (i64 j = (n - 1) / block * block; j >= 0; j -= block) {
    const i64 some = std::min(block, n - j);
    with_routines(dtype, [&](auto r, auto as) {
      return r.tpmqrt(LAPACK_COL_MAJOR, 'L', 'N', count(rows), count(n - j), count(some), 0,
                      count(some), as(column(dtype, panel, 0, j)), count(panel.ld),
                      as(column(dtype, {factors, block}, 0, j)), count(block),
                      as(column(dtype, triangle, j, j)), count(triangle.ld),
                      as(column(dtype, bottom, 0, j)), count(bottom.ld), as(work));
    });
  }
}

}  // namespace tessera::streaming
