// SPDX-License-Identifier: Apache-2.0
// The functions of the plug-in: matrices go to the grid, are treated there, and come back.
#include <cmath>
#include <complex>

#include "tessera/distributed/linalg/scalapack/grid.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist::scalapack {
namespace {

constexpr int one = 1;

// Memory for work; ScaLAPACK's own answers are sometimes too small, so it gets some more.
struct Work {
  std::vector<std::byte> bytes;
  int size = 0;
  Work(double asked, DType t) : size(static_cast<int>(std::min(2e9, 1.25 * asked + 1024))) {
    bytes.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size_of(t)));
  }
  void* data() { return bytes.data(); }
};

// The first number of an answer, whatever its type.
double first_of(const void* p, DType t) {
  return real_of(t) == DType::f32 ? static_cast<double>(*static_cast<const float*>(p))
                                  : *static_cast<const double*>(p);
}
constexpr int ask = -1;
struct Answer {
  alignas(16) std::byte room[64] = {};
};

int same_on_all(const Communicator& comm, int info) {
  i64 worst[2] = {-info, info};
  comm.allreduce(worst, 2, DType::i64, Combine::max);
  return static_cast<int>(worst[0] > 0 ? -worst[0] : worst[1]);
}

int matmul(const Communicator& comm, const DistributedMatrix& a, const DistributedMatrix& b,
           DistributedMatrix& c) {
  const Grid grid(comm);
  const i64 block = block_for(grid, std::min(a.rows, b.columns), a.columns);
  const Matrix ma(grid, a, block), mb(grid, b, block),
      mc(grid, a.rows, b.columns, a.local.dtype(), block);
  const int m = ma.d()[2], n = mb.d()[3], k = ma.d()[3];
  // 1 and 0 in every type: the first number of the pair is read, or both.
  const DType t = ma.dtype();
  const double d1[2] = {1, 0}, d0[2] = {0, 0};
  const float f1[2] = {1, 0}, f0[2] = {0, 0};
  const bool narrow = real_of(t) == DType::f32;
  const void *alpha = narrow ? static_cast<const void*>(f1) : d1,
             *beta = narrow ? static_cast<const void*>(f0) : d0;
  pick(t, psgemm_, pdgemm_, pcgemm_, pzgemm_)("N", "N", &m, &n, &k, alpha, ma.data(), &one, &one,
                                              ma.d(), mb.data(), &one, &one, mb.d(), beta,
                                              mc.data(), &one, &one, mc.d());
  mc.back(c);
  return 0;
}

int solve(const Communicator& comm, DistributedMatrix& a, DistributedMatrix& b) {
  const Grid grid(comm);
  const i64 block = block_for(grid, a.rows, a.columns);
  const Matrix ma(grid, a, block), mb(grid, b, block);
  std::vector<int> pivots(static_cast<std::size_t>(ma.local_rows() + ma.block()));
  int info = 0;
  pick(ma.dtype(), psgesv_, pdgesv_, pcgesv_, pzgesv_)(&ma.d()[2], &mb.d()[3], ma.data(), &one,
                                                       &one, ma.d(), pivots.data(), mb.data(), &one,
                                                       &one, mb.d(), &info);
  mb.back(b);
  return same_on_all(comm, info);
}

int factored(const Matrix& a, std::vector<int>& pivots) {
  pivots.resize(static_cast<std::size_t>(i64{a.local_rows()} + a.block()));
  int info = 0;
  pick(a.dtype(), psgetrf_, pdgetrf_, pcgetrf_, pzgetrf_)(&a.d()[2], &a.d()[3], a.data(), &one,
                                                          &one, a.d(), pivots.data(), &info);
  return info;
}

int inverse(const Communicator& comm, DistributedMatrix& a) {
  const Grid grid(comm);
  const Matrix m(grid, a, block_for(grid, a.rows, a.columns));
  std::vector<int> pivots;
  if (const int info = same_on_all(comm, factored(m, pivots))) return info;
  const auto getri = pick(m.dtype(), psgetri_, pdgetri_, pcgetri_, pzgetri_);
  Answer size;
  int ints = 0, info = 0;
  getri(&m.d()[2], m.data(), &one, &one, m.d(), pivots.data(), size.room, &ask, &ints, &ask, &info);
  Work work(first_of(size.room, m.dtype()), m.dtype());
  std::vector<int> more(static_cast<std::size_t>(ints + 1024));
  const int count = static_cast<int>(more.size());
  getri(&m.d()[2], m.data(), &one, &one, m.d(), pivots.data(), work.data(), &work.size, more.data(),
        &count, &info);
  m.back(a);
  return same_on_all(comm, info);
}

int cholesky(const Communicator& comm, DistributedMatrix& a) {
  const Grid grid(comm);
  const Matrix m(grid, a, block_for(grid, a.rows, a.columns));
  int info = 0;
  pick(m.dtype(), pspotrf_, pdpotrf_, pcpotrf_, pzpotrf_)("L", &m.d()[2], m.data(), &one, &one,
                                                          m.d(), &info, 1);
  m.clear([](i64 i, i64 j) { return i < j; });
  m.back(a);
  return same_on_all(comm, info);
}

// The upper left part of the matrix, as one of its own.
void copy_corner(const Grid& grid, const Matrix& from, const Matrix& to) {
  pick(from.dtype(), psgemr2d_, pdgemr2d_, pcgemr2d_, pzgemr2d_)(
      &to.d()[2], &to.d()[3], from.data(), &one, &one, from.d(), to.data(), &one, &one, to.d(),
      &grid.context);
}

int qr(const Communicator& comm, DistributedMatrix& a, DistributedMatrix& q, DistributedMatrix& r) {
  const Grid grid(comm);
  const DType t = a.local.dtype();
  const i64 block = block_for(grid, a.rows, a.columns), k = std::min(a.rows, a.columns);
  const Matrix m(grid, a, block), mq(grid, a.rows, k, t, block), mr(grid, k, a.columns, t, block);
  std::vector<std::byte> tau(
      static_cast<std::size_t>((m.local_columns() + m.block()) * size_of(t)));
  const auto geqrf = pick(t, psgeqrf_, pdgeqrf_, pcgeqrf_, pzgeqrf_);
  Answer size;
  int info = 0;
  geqrf(&m.d()[2], &m.d()[3], m.data(), &one, &one, m.d(), tau.data(), size.room, &ask, &info);
  Work work(first_of(size.room, t), t);
  geqrf(&m.d()[2], &m.d()[3], m.data(), &one, &one, m.d(), tau.data(), work.data(), &work.size,
        &info);
  if (same_on_all(comm, info)) return info;
  copy_corner(grid, m, mr);
  mr.clear([](i64 i, i64 j) { return i > j; });
  copy_corner(grid, m, mq);
  const auto orgqr = pick(t, psorgqr_, pdorgqr_, pcungqr_, pzungqr_);
  const int few = static_cast<int>(k);
  orgqr(&mq.d()[2], &few, &few, mq.data(), &one, &one, mq.d(), tau.data(), size.room, &ask, &info);
  Work room(first_of(size.room, t), t);
  orgqr(&mq.d()[2], &few, &few, mq.data(), &one, &one, mq.d(), tau.data(), room.data(), &room.size,
        &info);
  mq.back(q);
  mr.back(r);
  return same_on_all(comm, info);
}

int eigh(const Communicator& comm, DistributedMatrix& a, const Array& values,
         DistributedMatrix& vectors) {
  const Grid grid(comm);
  const DType t = a.local.dtype();
  const i64 block = block_for(grid, a.rows, a.columns);
  const Matrix m(grid, a, block), z(grid, a.rows, a.rows, t, block);
  const int* n = &m.d()[2];
  int info = 0;
  auto call = [&](void* w, int ws, void* r, int rs, int* i, int is) {
    if (is_complex(t))
      (t == DType::c64 ? pcheevd_ : pzheevd_)("V", "L", n, m.data(), &one, &one, m.d(),
                                              values.host_data(), z.data(), &one, &one, z.d(), w,
                                              &ws, r, &rs, i, &is, &info, 1, 1);
    else
      (t == DType::f32 ? pssyevd_ : pdsyevd_)("V", "L", n, m.data(), &one, &one, m.d(),
                                              values.host_data(), z.data(), &one, &one, z.d(), w,
                                              &ws, i, &is, &info, 1, 1);
  };
  Answer size, real;
  int ints[16] = {};
  call(size.room, ask, real.room, ask, ints, ask);
  Work work(first_of(size.room, t), t), more(first_of(real.room, real_of(t)), real_of(t));
  std::vector<int> room(static_cast<std::size_t>(ints[0] + 1024));
  call(work.data(), work.size, more.data(), more.size, room.data(), static_cast<int>(room.size()));
  z.back(vectors);
  return same_on_all(comm, info);
}

int svd(const Communicator& comm, DistributedMatrix& a, DistributedMatrix& u, const Array& values,
        DistributedMatrix& vh) {
  const Grid grid(comm);
  const DType t = a.local.dtype();
  const i64 block = block_for(grid, a.rows, a.columns);
  const Matrix m(grid, a, block), mu(grid, u.rows, u.columns, t, block),
      mv(grid, vh.rows, vh.columns, t, block);
  const int *rows = &m.d()[2], *columns = &m.d()[3];
  Work real(1 + 4.0 * static_cast<double>(std::max(a.rows, a.columns)), real_of(t));
  int info = 0;
  auto call = [&](void* w, int ws) {
    if (is_complex(t))
      (t == DType::c64 ? pcgesvd_ : pzgesvd_)(
          "V", "V", rows, columns, m.data(), &one, &one, m.d(), values.host_data(), mu.data(), &one,
          &one, mu.d(), mv.data(), &one, &one, mv.d(), w, &ws, real.data(), &info, 1, 1);
    else
      (t == DType::f32 ? psgesvd_ : pdgesvd_)("V", "V", rows, columns, m.data(), &one, &one, m.d(),
                                              values.host_data(), mu.data(), &one, &one, mu.d(),
                                              mv.data(), &one, &one, mv.d(), w, &ws, &info, 1, 1);
  };
  Answer size;
  call(size.room, ask);
  Work work(first_of(size.room, t), t);
  call(work.data(), work.size);
  mu.back(u);
  mv.back(vh);
  return same_on_all(comm, info);
}

// Each rank multiplies the numbers of the diagonal that it has.
template <class T, class R>
void own_diagonal(const Grid& grid, const Matrix& m, const std::vector<int>& pivots, T& sign,
                  R& logs) {
  const T* p = static_cast<const T*>(m.data());
  const i64 leading = std::max(1, m.local_rows());
  for (i64 i = 0; i < m.local_rows(); ++i) {
    const i64 g = m.global_row(i);
    if (grid.column == 0 && pivots[static_cast<std::size_t>(i)] != g + 1) sign = -sign;
    const i64 owner = g / m.block() % grid.columns;
    if (owner != grid.column) continue;
    const i64 j = g / (m.block() * grid.columns) * m.block() + g % m.block();
    const T d = p[j * leading + i];
    const R length = std::abs(d);
    sign *= length == R(0) ? T(0) : d / length;
    logs += std::log(length);
  }
}

int slogdet(const Communicator& comm, DistributedMatrix& a, const Array& sign, const Array& logs) {
  const Grid grid(comm);
  const Matrix m(grid, a, block_for(grid, a.rows, a.columns));
  std::vector<int> pivots;
  const int info = same_on_all(comm, factored(m, pivots));
  dispatch<float, double, std::complex<float>, std::complex<double>>(
      m.dtype(), "slogdet", [&]<class T>() {
        using R = decltype(std::abs(T()));
        T& s = *static_cast<T*>(sign.host_data());
        R& l = *static_cast<R*>(logs.host_data());
        s = T(1);
        l = R(0);
        own_diagonal(grid, m, pivots, s, l);
        comm.allreduce(&s, 1, sign.dtype(), Combine::prod);
        comm.allreduce(&l, 1, logs.dtype(), Combine::sum);
      });
  return info;
}

}  // namespace
}  // namespace tessera::dist::scalapack

// The one function that libtessera looks for in this library.
extern "C" TESSERA_API const tessera::dist::DenseBackend* tessera_scalapack() {
  using namespace tessera::dist::scalapack;
  static const std::string tag = tessera::dist::dense_abi_tag();
  static const tessera::dist::DenseBackend backend{tag.c_str(), matmul, solve, inverse, cholesky,
                                                   qr,          eigh,   svd,   slogdet};
  return &backend;
}
