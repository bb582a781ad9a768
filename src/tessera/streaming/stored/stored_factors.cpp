// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_factors.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/streaming/linalg/matmul.hpp"
#include "tessera/streaming/linalg/tall_qr.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/fill.hpp"

namespace tessera::streaming {
namespace {

Options options_of_factors() { return {.budget = stream_budget()}; }

StorePtr backing_scratch(std::string_view, const Shape& shape, DType dtype) {
  return StoredArray::create(shape, dtype).store();
}

// Refused before a formula is computed or a file made.
void require_tall(std::string_view who, const StoredArray& a) {
  require<ShapeError>(a.ndim() == 2, who, ": takes a matrix on disk, got shape ", a.shape());
  require<ShapeError>(a.shape()[0] >= a.shape()[1], who, ": a stored matrix of shape ", a.shape(),
                      " has fewer rows than columns; transpose it");
}

StorePtr tall_store(std::string_view who, const StoredArray& a, DType dtype) {
  require_tall(who, a);
  return StoredArray(a.expression().as(dtype)).store();
}

double default_tolerance(const Shape& shape, DType dtype) {
  const bool single = dtype == DType::f32 || dtype == DType::c64;
  const double epsilon =
      single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  return epsilon * static_cast<double>(std::max(shape[0], shape[1]));
}

// op(a) b, with b a store or an array.
StoredArray product(const StorePtr& a, const StorePtr& b, Turn turn = Turn::none) {
  const i64 rows = a->grid().shape()[turn == Turn::none ? 0 : 1];
  const StoredArray out = StoredArray::create({rows, b->grid().shape()[1]}, a->grid().dtype());
  matmul(a, b, out.store(), {.turn_a = turn}, options_of_factors());
  return out;
}
StorePtr in_memory(const Array& x) {
  return store::memory_store(x.contiguous(), x.size() > 0 ? x.shape() : Shape(x.ndim(), 1));
}

StoredArray adjoint_of_stored(const StoredArray& x) {
  const StoredArray turned = x.transpose();
  if (!is_complex(x.dtype())) return turned;
  const Expression of[] = {turned.expression()};
  return StoredArray(streaming::apply(ElementOp::conj, of).store());
}

}  // namespace

StoredQr qr(const StoredArray& a) {
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = tall_store("qr", a, t);
  const StoredArray q = StoredArray::create(a.shape(), t);
  return {q, plan_qr(from, q.store(), backing_scratch, options_of_factors()).run()};
}

Array qr_triangle(const StoredArray& a) {
  const StorePtr from = tall_store("qr", a, linalg::working_dtype(a.dtype()));
  return plan_qr(from, nullptr, {}, options_of_factors()).run();
}

StoredSvd svd(const StoredArray& a) {
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = tall_store("svd", a, t);
  const StoredArray u = StoredArray::create(a.shape(), t);
  const Array answer = plan_svd(from, u.store(), backing_scratch, options_of_factors()).run();
  const i64 n = a.shape()[1];
  return {u, answer.slice(0, n, n + 1).squeeze(0).real().contiguous(),
          answer.slice(0, 0, n).contiguous()};
}

Array svdvals(const StoredArray& a) {
  require_tall("svdvals", a);
  const Array r = qr_triangle(a);
  if (Planning::now()) return planned_numbers({a.shape()[1]}, real_of(r.dtype()));
  return linalg::svdvals(r);
}

linalg::Lstsq lstsq(const StoredArray& a, const StoredArray& b, double rcond) {
  require<ShapeError>(
      a.ndim() == 2 && (b.ndim() == 1 || b.ndim() == 2) && b.shape()[0] == a.shape()[0],
      "lstsq: a matrix of shape ", a.shape(), " and right sides of shape ", b.shape(),
      " do not fit");
  const DType t = promote(linalg::working_dtype(a.dtype()), linalg::working_dtype(b.dtype()));
  const StorePtr matrix = tall_store("lstsq", a, t);
  const StorePtr right = StoredArray(b.expression().as(t)).store();
  const Array got = plan_qr_system(matrix, right, options_of_factors()).run();
  const i64 m = a.shape()[0], n = a.shape()[1], end = got.shape(1);
  if (Planning::now())
    return {planned_numbers(b.ndim() == 1 ? Shape{n} : Shape{n, end - n}, t),
            planned_numbers({0}, t), n, planned_numbers({n}, real_of(t))};
  const Array upper = got.slice(0, 0, n);
  linalg::Lstsq out = linalg::lstsq(upper.slice(1, 0, n), upper.slice(1, n, end),
                                    rcond < 0 ? default_tolerance(a.shape(), t) : rcond);
  if (b.ndim() == 1) out.x = out.x.squeeze(1);
  if (m > n && out.rank == n)
    out.residuals = got.slice(0, n, n + 1).slice(1, n, end).squeeze(0).real().contiguous();
  return out;
}

StoredArray pinv(const StoredArray& a, double rtol) {
  require<ShapeError>(a.ndim() == 2, "pinv: takes a matrix on disk, got shape ", a.shape());
  if (a.shape()[0] < a.shape()[1]) return pinv(a.transpose(), rtol).transpose();
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = tall_store("pinv", a, t);
  const StoredArray y = StoredArray::create(a.shape(), t);
  plan_pinv_adjoint(from, y.store(), rtol < 0 ? default_tolerance(a.shape(), t) : rtol,
                    backing_scratch, options_of_factors())
      .run();
  return adjoint_of_stored(y);
}

Array multiply(const StoredArray& a, const Array& x, Turn turn) {
  const DType t = linalg::working_dtype(a.dtype());
  require<ShapeError>(
      a.ndim() == 2 && x.ndim() == 2 && x.shape(0) == a.shape()[turn == Turn::none ? 1 : 0],
      "multiply: a matrix on disk of shape ", a.shape(), turn == Turn::none ? "" : ", turned,",
      " and an array of shape ", x.shape(), " do not fit");
  require<DTypeError>(x.dtype() == t, "multiply: a matrix on disk in ", name(t),
                      " and an array in ", name(x.dtype()), ": one dtype for both");
  const StorePtr matrix = StoredArray(a.expression().as(t)).store();
  const Array out = empty_dense({a.shape()[turn == Turn::none ? 0 : 1], x.shape(1)}, t);
  matmul(matrix, in_memory(x.to(cpu)), in_memory(out), {.turn_a = turn}, options_of_factors());
  return out;
}

RandomizedSvd randomized_svd(const StoredArray& a, const RandomizedSvdOptions& what) {
  require<ShapeError>(a.ndim() == 2, "randomized_svd: takes a matrix on disk, got shape ",
                      a.shape());
  const i64 least = std::min(a.shape()[0], a.shape()[1]);
  require<ArgumentError>(what.k >= 1 && what.k <= least && what.oversample >= 0 && what.passes >= 1,
                         "randomized_svd: k = ", what.k, ", oversample ", what.oversample, " and ",
                         what.passes, " passes for a matrix of shape ", a.shape(),
                         "; expected k from 1 to ", least,
                         ", oversample of 0 or more, a pass or more");
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr matrix = StoredArray(a.expression().as(t)).store();
  const i64 count = what.k + std::min(what.oversample, least - what.k);
  StoredArray right = drawn({a.shape()[1], count}, t, Random(what.seed).next_normal(t)),
              left = right;
  Array triangle, before;
  std::vector<double> changes;
  bool converged = false;
  while (!converged && static_cast<i64>(changes.size()) < what.passes) {
    left = qr(product(matrix, right.store())).q;
    StoredQr back = qr(product(matrix, left.store(), Turn::adjoint));
    right = back.q;
    triangle = back.r;
    if (Planning::now()) {  // as often as it is allowed to
      changes.push_back(1);
      continue;
    }
    const Array values = linalg::svdvals(triangle).astype(DType::f64).contiguous();
    const double top = values.host<double>()[0];
    double change = 0;
    for (i64 i = 0; i < what.k; ++i)
      change = std::max(
          change, std::abs(values.host<double>()[i] - (before ? before.host<double>()[i] : 0)));
    changes.push_back(change / (top > 0 ? top : 1));
    converged = change <= std::max(what.rtol * top, what.atol);
    before = values;
  }
  // left^H a = triangle^H right^H
  const linalg::Svd f = linalg::svd(ops::conj(triangle).transpose().contiguous(), false);
  const StoredArray u = product(left.store(), in_memory(f.u.slice(1, 0, what.k)));
  const Array v = ops::conj(f.vh.slice(0, 0, what.k)).transpose();
  return {u, f.s.slice(0, 0, what.k).contiguous(),
          adjoint_of_stored(product(right.store(), in_memory(v))), std::move(changes), converged};
}

}  // namespace tessera::streaming
