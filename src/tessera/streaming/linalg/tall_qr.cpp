// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/tall_qr.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/streaming/linalg/blocks.hpp"
#include "tessera/streaming/linalg/tall_steps.hpp"

namespace tessera::streaming {
namespace {

void require_tall(std::string_view who, const StorePtr& a) {
  const Shape& shape = a->grid().shape();
  require<ShapeError>(shape.size() == 2, who, ": takes a matrix, got a store of shape ", shape);
  require<ShapeError>(
      shape[0] >= shape[1], who,
      ": takes a matrix with as many rows as columns or more, got a store of shape ", shape,
      "; transpose it");
  require_blas(who, a->grid().dtype());
}

void require_output(std::string_view who, const StorePtr& a, const StorePtr& out) {
  const Shape& shape = a->grid().shape();
  const DType t = a->grid().dtype();
  require<ShapeError>(out->grid().shape() == shape, who, ": a matrix of shape ", shape,
                      " into a store of shape ", out->grid().shape(), ": the shapes do not match");
  require<DTypeError>(out->grid().dtype() == t, who, ": ", name(t), " into ",
                      name(out->grid().dtype()), ": one dtype for both");
  require<IoError>(out->writable(), who, ": the output is read-only: ", out->describe());
  require<ArgumentError>(out != a, who, ": the output is the matrix itself");
}

// Once to reduce, and as much again to make Q.
void add_work(StreamPlan& plan, const StorePtr& a, i64 times) {
  const Shape& shape = a->grid().shape();
  if (count_of(shape) == 0) return;
  plan.add_work({.op = Operation::qr,
                 .dtype = a->grid().dtype(),
                 .m = shape[0],
                 .n = shape[1],
                 .batch = times});
}

StreamPlan plan_product(std::string_view who, std::string_view role, const StorePtr& a,
                        const StorePtr& out, const TriangleUse& use, const MakeScratch& scratch,
                        const Options& options) {
  require_tall(who, a);
  require_output(who, a, out);
  StreamPlan plan(cat(who, ": ", a->grid().shape(), ", ", name(a->grid().dtype())), options);
  const i64 from = plan.add_store("A", a), to = plan.add_store(std::string(role), out);
  TallSteps steps(plan, who, a->grid(), TallOutput::product, 0, use.squares, options);
  steps.reduce_and_expand(from, to, use, scratch);
  const i64 n = a->grid().shape()[1];
  plan.gives({use.has_factor ? n + 1 : n, n}, a->grid().dtype());
  add_work(plan, a, 2);
  return plan;
}

}  // namespace

StreamPlan plan_qr(const StorePtr& a, const StorePtr& q, const MakeScratch& scratch,
                   const Options& options) {
  if (q) {
    const TriangleUse itself{.of = [](const Array& r) { return TriangleAnswer{{}, r}; }};
    return plan_product("qr", "Q", a, q, itself, scratch, options);
  }
  require_tall("qr", a);
  StreamPlan plan(cat("qr: ", a->grid().shape(), ", ", name(a->grid().dtype()), ", R alone"),
                  options);
  const i64 from = plan.add_store("A", a);
  TallSteps steps(plan, "qr", a->grid(), TallOutput::triangle, 0, 1, options);
  steps.reduce(from, {});
  plan.gives({a->grid().shape()[1], a->grid().shape()[1]}, a->grid().dtype());
  add_work(plan, a, 1);
  return plan;
}

StreamPlan plan_svd(const StorePtr& a, const StorePtr& u, const MakeScratch& scratch,
                    const Options& options) {
  // R, its three factors, the answer, and LAPACK's copies and work.
  const TriangleUse use{.squares = 12, .has_factor = true, .of = [](const Array& r) {
                          const linalg::Svd f = linalg::svd(r, false);
                          const i64 n = r.shape()[0];
                          const Array answer = empty_dense({n + 1, n}, r.dtype());
                          answer.slice(0, 0, n).copy_from(f.vh);
                          answer.slice(0, n, n + 1).copy_from(f.s.astype(r.dtype()).expand_dims(0));
                          return TriangleAnswer{f.u, answer};
                        }};
  return plan_product("svd", "U", a, u, use, scratch, options);
}

StreamPlan plan_pinv_adjoint(const StorePtr& a, const StorePtr& y, double rtol,
                             const MakeScratch& scratch, const Options& options) {
  const TriangleUse use{.squares = 14, .has_factor = true, .of = [rtol](const Array& r) {
                          const Array inverse = linalg::pinv(r, rtol);
                          return TriangleAnswer{ops::conj(inverse).transpose(), Array()};
                        }};
  return plan_product("pinv", "Y", a, y, use, scratch, options);
}

StreamPlan plan_qr_system(const StorePtr& a, const StorePtr& b, const Options& options) {
  require_tall("lstsq", a);
  const Shape &shape = a->grid().shape(), &sides = b->grid().shape();
  require<ShapeError>((sides.size() == 1 || sides.size() == 2) && sides[0] == shape[0],
                      "lstsq: a matrix of shape ", shape, " and right sides of shape ", sides,
                      " do not fit");
  require<DTypeError>(a->grid().dtype() == b->grid().dtype(), "lstsq: ", name(a->grid().dtype()),
                      " with right sides in ", name(b->grid().dtype()), ": one dtype for both");
  StreamPlan plan(cat("lstsq: ", shape, " with right sides ", sides, ", ", name(a->grid().dtype())),
                  options);
  const i64 from = plan.add_store("A", a), right = plan.add_store("B", b);
  TallSteps steps(plan, "lstsq", a->grid(), TallOutput::system, sides.size() == 1 ? 1 : sides[1], 1,
                  options);
  steps.reduce(from, SideStore{right, sides.size()});
  const i64 columns = sides.size() == 1 ? 1 : sides[1];
  plan.gives({shape[1] + 1, shape[1] + columns}, a->grid().dtype());
  add_work(plan, a, 1);
  return plan;
}

}  // namespace tessera::streaming
