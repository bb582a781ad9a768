// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/linalg/linalg.hpp"

#include <algorithm>

#include "tessera/distributed/array/error_of_all.hpp"
#include "tessera/distributed/linalg/linalg_backend.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera::dist::linalg {
namespace {

namespace local = tessera::linalg;
constexpr i64 worth_a_grid = 64 * 64;  // elements: smaller matrices are gathered

// Opened once; never closed.
const TablePlugin<DenseBackend>& loaded() {
  static const auto* once = new TablePlugin<DenseBackend>(load_table<DenseBackend>(
      "libtessera_scalapack.so", dense_backend_symbol, dense_abi_tag(),
      "build it where ScaLAPACK is installed (apt-get install libscalapack-openmpi-dev)"));
  return *once;
}

std::string problem_with(const Communicator& comm) {
  if (comm.alone()) return "one rank needs no grid of ranks";
  if (comm.transport() != "mpi") return cat("ScaLAPACK needs ranks of mpi, these are ", comm.str());
  return loaded().problem;
}

// The plug-in, where all ranks have it and the matrix is worth it. The answer is the same on every
// rank.
const DenseBackend* grid_for(const DNDarray& a) {
  if (!a.distributed() || a.comm().transport() != "mpi" || a.size() < worth_a_grid) return nullptr;
  return a.comm().first_problem(loaded().problem).empty() ? loaded().table : nullptr;
}

void require_matrix(std::string_view who, const DNDarray& a, bool square) {
  require<ShapeError>(a.ndim() >= 2, who,
                      ": expected a matrix or a stack of them, got an array of shape ", a.shape());
  require<ShapeError>(!square || a.shape(a.ndim() - 2) == a.shape(a.ndim() - 1), who,
                      ": expected square matrices, got shape ", a.shape());
}

void require_done(std::string_view who, int info, const char* reason) {
  require<BackendError>(info >= 0, who, ": ScaLAPACK refuses its argument ", i64{-info});
  require<LinAlgError>(info == 0, who, ": ", reason);
}

// What ScaLAPACK iterates on forever must not reach it.
void require_finite(std::string_view who, const DNDarray& a, const char* reason) {
  const Array& mine = a.local();
  i64 finite =
      mine.size() == 0 || reduce(ReduceOp::all, ops::isfinite(mine)).item().as<bool>() ? 1 : 0;
  a.comm().allreduce(&finite, 1, DType::i64, Combine::min);
  require<LinAlgError>(finite == 1, who, ": ", reason);
}

// Blocks of one size, the last ones shorter or empty: what ScaLAPACK can describe.
Partition in_blocks(i64 n, int ranks) {
  const i64 block = (n + ranks - 1) / ranks;
  std::vector<i64> counts;
  for (i64 r = 0; r < ranks; ++r) counts.push_back(std::clamp<i64>(n - r * block, 0, block));
  return Partition::of(counts);
}

Array column_major(const Array& x) {
  const Array turned = empty_dense({x.shape(1), x.shape(0)}, x.dtype());
  turned.copy_from(x.transpose());
  return turned.transpose();
}

DistributedMatrix described(i64 rows, i64 columns, i64 axis, const Communicator& comm) {
  const i64 n = axis == 0 ? rows : columns, p = comm.size();
  return {rows, columns, axis, std::max<i64>(1, (n + p - 1) / p), {}};
}

DistributedMatrix distributed(const DNDarray& x, DType t) {
  const i64 axis = x.split().value_or(0);
  DistributedMatrix d = described(x.shape(0), x.shape(1), axis, x.comm());
  const DNDarray laid = x.distributed_as({axis, in_blocks(x.shape(axis), x.comm().size())});
  d.local = column_major(laid.local().to(cpu).astype(t));
  return d;
}

// Room for a result.
DistributedMatrix distributed_result(i64 rows, i64 columns, i64 axis, DType t,
                                     const Communicator& comm) {
  DistributedMatrix d = described(rows, columns, axis, comm);
  const i64 mine = in_blocks(axis == 0 ? rows : columns, comm.size()).count(comm.rank());
  d.local = empty_dense(axis == 0 ? Shape{columns, mine} : Shape{mine, rows}, t).transpose();
  return d;
}

DNDarray gathered_up(const DistributedMatrix& d, const Distribution& to, Device device,
                     const Communicator& comm) {
  const i64 n = d.axis == 0 ? d.rows : d.columns;
  const DNDarray x(d.local.copy().to(device), {d.rows, d.columns},
                   {d.axis, in_blocks(n, comm.size())}, comm);
  return x.distributed_as(to);
}

// Where a result of this shape lies when it lies as a does.
Distribution like(const DNDarray& a, const Shape& shape) {
  if (!a.split()) return {};
  const i64 n = shape[*a.split()];
  if (n == a.shape(*a.split())) return a.distribution();
  return {a.split(), Partition::even(n, a.comm().size())};
}

DNDarray laid_out(const Array& whole, const Distribution& to, const Communicator& comm) {
  return DNDarray::replicated(whole, comm).distributed_as(to);
}
DNDarray on_all(const Array& x, const DNDarray& like) {
  return DNDarray::replicated(x.to(like.device()), like.comm());
}

// A stack is split along its first axis, so that each rank treats matrices of its own.
bool is_stack(const DNDarray& a) { return a.ndim() > 2 && a.distributed(); }
DNDarray by_matrices(const DNDarray& a) { return *a.split() < a.ndim() - 2 ? a : a.resplit(0); }

// f(own matrices) on every rank; what one of them cannot do is an error of all.
template <class F>
auto each_own(const DNDarray& own, F&& f) {
  decltype(f(own.local())) result;
  error_of_all(own.comm(), [&] {
    try {
      result = f(own.local());
    } catch (const LinAlgError& e) {
      throw e.counted_from(*own.split(), own.part().begin(own.comm().rank()));
    }
  });
  return result;
}

// A result of each_own: leading axes as `own` has them, then back to where a lies.
DNDarray restacked(const Array& mine, const DNDarray& own, const DNDarray& a, bool matrices) {
  Shape shape = mine.shape();
  shape[*own.split()] = own.shape(*own.split());
  const DNDarray x(mine, shape, own.distribution(), a.comm());
  return matrices ? x.distributed_as(like(a, shape)) : x;
}

}  // namespace

std::string backend(const Communicator& comm) {
  const std::string problem = problem_with(comm);
  return problem.empty() ? "ScaLAPACK" : problem;
}

DNDarray matmul(const DNDarray& a, const DNDarray& b) {
  require_same_group("matmul", a, b);
  require<ShapeError>(a.ndim() == 2 && b.ndim() == 2 && a.shape(1) == b.shape(0),
                      "matmul: matrices of shapes ", a.shape(), " and ", b.shape(), " do not fit");
  const Communicator& comm = a.comm();
  const i64 m = a.shape(0), n = b.shape(1);
  Distribution to;
  if (a.split())
    to = {0, a.split() == 0 ? a.part() : Partition::even(m, comm.size())};
  else if (b.split())
    to = {1, b.split() == 1 ? b.part() : Partition::even(n, comm.size())};
  const DType t = promote(a.dtype(), b.dtype());
  const bool fits = local::working_dtype(t) == t;
  const DenseBackend* grid = fits && b.split() ? grid_for(a) : nullptr;
  if (!grid) return laid_out(tessera::matmul(a.gathered(), b.gathered()), to, comm);
  const DistributedMatrix da = distributed(a, t), db = distributed(b, t);
  DistributedMatrix c = distributed_result(m, n, *to.split, t, comm);
  require_done("matmul", grid->matmul(comm, da, db, c), "failed");
  return gathered_up(c, to, a.device(), comm);
}

DNDarray solve(const DNDarray& a, const DNDarray& b) {
  require_same_group("solve", a, b);
  require_matrix("solve", a, true);
  const bool vector = b.ndim() == 1;
  const i64 n = a.shape(a.ndim() - 1);
  const DenseBackend* grid =
      a.ndim() == 2 && b.ndim() <= 2 && b.ndim() > 0 && b.shape(0) == n ? grid_for(a) : nullptr;
  if (!grid) {
    const Array x = local::solve(a.gathered(), b.gathered());
    const bool alike = x.shape() == b.shape();
    return laid_out(x, alike ? b.distribution() : Distribution{}, b.comm());
  }
  const DType t = promote(local::working_dtype(a.dtype()), local::working_dtype(b.dtype()));
  const DNDarray columns =
      vector ? b.with(b.local().expand_dims(1), b.whole().insert_axis(1), b.distribution()) : b;
  DistributedMatrix da = distributed(a, t), x = distributed(columns, t);
  require_done("solve", grid->solve(a.comm(), da, x), "Singular matrix");
  const DNDarray y = gathered_up(x, columns.distribution(), a.device(), a.comm());
  return vector ? y.with(y.local().squeeze(1), y.whole().select(1, 0), y.distribution()) : y;
}

DNDarray inverse(const DNDarray& a) {
  require_matrix("inverse", a, true);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    return restacked(each_own(own, local::inverse), own, a, true);
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) return laid_out(local::inverse(a.gathered()), a.distribution(), a.comm());
  DistributedMatrix d = distributed(a, local::working_dtype(a.dtype()));
  require_done("inverse", grid->inverse(a.comm(), d), "Singular matrix");
  return gathered_up(d, a.distribution(), a.device(), a.comm());
}

DNDarray cholesky(const DNDarray& a) {
  require_matrix("cholesky", a, true);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    return restacked(each_own(own, [](const Array& x) { return local::cholesky(x); }), own, a,
                     true);
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) return laid_out(local::cholesky(a.gathered()), a.distribution(), a.comm());
  DistributedMatrix d = distributed(a, local::working_dtype(a.dtype()));
  require_done("cholesky", grid->cholesky(a.comm(), d), "Matrix is not positive definite");
  return gathered_up(d, a.distribution(), a.device(), a.comm());
}

Qr qr(const DNDarray& a) {
  require_matrix("qr", a, false);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    const local::Qr f = each_own(own, [](const Array& x) { return local::qr(x); });
    return {restacked(f.q, own, a, true), restacked(f.r, own, a, true)};
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) {
    const local::Qr f = local::qr(a.gathered());
    return {laid_out(f.q, like(a, f.q.shape()), a.comm()),
            laid_out(f.r, like(a, f.r.shape()), a.comm())};
  }
  const DType t = local::working_dtype(a.dtype());
  const i64 m = a.shape(0), n = a.shape(1), k = std::min(m, n);
  DistributedMatrix d = distributed(a, t), q = distributed_result(m, k, *a.split(), t, a.comm()),
                    r = distributed_result(k, n, *a.split(), t, a.comm());
  require_done("qr", grid->qr(a.comm(), d, q, r), "failed");
  return {gathered_up(q, like(a, {m, k}), a.device(), a.comm()),
          gathered_up(r, like(a, {k, n}), a.device(), a.comm())};
}

Eigh eigh(const DNDarray& a) {
  require_matrix("eigh", a, true);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    const local::Eigh e = each_own(own, [](const Array& x) { return local::eigh(x); });
    return {restacked(e.values, own, a, false), restacked(e.vectors, own, a, true)};
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) {
    const local::Eigh e = local::eigh(a.gathered());
    return {on_all(e.values, a), laid_out(e.vectors, a.distribution(), a.comm())};
  }
  const DType t = local::working_dtype(a.dtype());
  const i64 n = a.shape(0);
  DistributedMatrix d = distributed(a, t), v = distributed_result(n, n, *a.split(), t, a.comm());
  require_finite("eigh", a, "Eigenvalues did not converge");
  const Array values = empty_dense({n}, real_of(t));
  require_done("eigh", grid->eigh(a.comm(), d, values, v), "Eigenvalues did not converge");
  return {on_all(values, a), gathered_up(v, a.distribution(), a.device(), a.comm())};
}

Svd svd(const DNDarray& a) {
  require_matrix("svd", a, false);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    const local::Svd f = each_own(own, [](const Array& x) { return local::svd(x, false); });
    return {restacked(f.u, own, a, true), restacked(f.s, own, a, false),
            restacked(f.vh, own, a, true)};
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) {
    const local::Svd f = local::svd(a.gathered(), false);
    return {laid_out(f.u, like(a, f.u.shape()), a.comm()), on_all(f.s, a),
            laid_out(f.vh, like(a, f.vh.shape()), a.comm())};
  }
  const DType t = local::working_dtype(a.dtype());
  const i64 m = a.shape(0), n = a.shape(1), k = std::min(m, n);
  DistributedMatrix d = distributed(a, t), u = distributed_result(m, k, *a.split(), t, a.comm()),
                    vh = distributed_result(k, n, *a.split(), t, a.comm());
  require_finite("svd", a, "SVD did not converge");
  const Array s = empty_dense({k}, real_of(t));
  require_done("svd", grid->svd(a.comm(), d, u, s, vh), "SVD did not converge");
  return {gathered_up(u, like(a, {m, k}), a.device(), a.comm()), on_all(s, a),
          gathered_up(vh, like(a, {k, n}), a.device(), a.comm())};
}

SlogDet slogdet(const DNDarray& a) {
  require_matrix("slogdet", a, true);
  if (is_stack(a)) {
    const DNDarray own = by_matrices(a);
    const local::SlogDet d = each_own(own, local::slogdet);
    return {restacked(d.sign, own, a, false), restacked(d.logabsdet, own, a, false)};
  }
  const DenseBackend* grid = grid_for(a);
  if (!grid) {
    const local::SlogDet d = local::slogdet(a.gathered());
    return {on_all(d.sign, a), on_all(d.logabsdet, a)};
  }
  const DType t = local::working_dtype(a.dtype());
  DistributedMatrix d = distributed(a, t);
  const Array sign = empty_dense({}, t), logs = empty_dense({}, real_of(t));
  const int info = grid->slogdet(a.comm(), d, sign, logs);
  require_done("slogdet", std::min(info, 0), "failed");
  return {on_all(sign, a), on_all(logs, a)};
}

DNDarray det(const DNDarray& a) {
  const SlogDet s = slogdet(a);
  const Array mine = ops::multiply(s.sign.local(), ops::exp(s.logabsdet.local()));
  return DNDarray(mine, s.sign.shape(), s.sign.distribution(), a.comm());
}

Lstsq lstsq(const DNDarray& a, const DNDarray& b, double rcond) {
  require_same_group("lstsq", a, b);
  const local::Lstsq f = local::lstsq(a.gathered(), b.gathered(), rcond);
  Distribution to = b.distribution();
  if (to.split == 0) to.part = Partition::even(f.x.shape(0), b.comm().size());
  return {laid_out(f.x, to, b.comm()), on_all(f.residuals, a), f.rank, on_all(f.s, a)};
}

}  // namespace tessera::dist::linalg
