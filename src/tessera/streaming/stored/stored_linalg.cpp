// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_linalg.hpp"

#include "tessera/streaming/linalg/cholesky.hpp"
#include "tessera/streaming/stored/result_store.hpp"

namespace tessera::streaming {
namespace {

StorePtr stored_as(const StoredArray& a, DType dtype) {
  return StoredArray(a.expression().as(dtype)).store();
}

void require_matrix(std::string_view who, const StoredArray& a) {
  require<ShapeError>(a.ndim() == 2 && a.shape()[0] == a.shape()[1], who,
                      ": takes a square matrix, got shape ", a.shape());
}

// Refused before a formula is computed or a file made.
DType dtype_of_system(std::string_view who, const StoredArray& a, const StoredArray& b) {
  require_matrix(who, a);
  require<ShapeError>((b.ndim() == 1 || b.ndim() == 2) && b.shape()[0] == a.shape()[0], who,
                      ": a matrix of shape ", a.shape(), " and right sides of shape ", b.shape(),
                      ": the sizes do not match");
  return promote(linalg::working_dtype(a.dtype()), linalg::working_dtype(b.dtype()));
}

const std::vector<std::string> lu_scratch{"factors", "exchanges"};

StorePtr factors_of(const StorePtr& a, const MakeScratch& make) {
  return make("factors", a->grid().shape(), a->grid().dtype());
}
// Exchanges are kept where a run may have to begin behind them.
StorePtr exchanges_of(const StorePtr& a, const MakeScratch& make, const std::string& path) {
  return path.empty() ? nullptr : make("exchanges", {a->grid().shape()[0]}, DType::i32);
}

}  // namespace

StoredArray cholesky(const StoredArray& a, bool upper, const std::string& path) {
  require_matrix("cholesky", a);
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = stored_as(a, t);
  const auto facts = [&] {
    return JobFacts{{"operation", upper ? "cholesky, upper" : "cholesky"}, {"A", from->version()}};
  };
  return StoredArray(
      result_store({path, facts, a.shape(), t},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_cholesky(from, out, {.upper = upper}, options);
                   }));
}

StoredArray solve(const StoredArray& a, const StoredArray& b, const std::string& path) {
  const DType t = dtype_of_system("solve", a, b);
  const StorePtr matrix = stored_as(a, t), right = stored_as(b, t);
  const auto facts = [&] {
    return JobFacts{{"operation", "solve"}, {"A", matrix->version()}, {"B", right->version()}};
  };
  return StoredArray(
      result_store({path, facts, b.shape(), t, lu_scratch},
                   [&](const StorePtr& out, const Options& options, const MakeScratch& scratch) {
                     return plan_solve(matrix, right, out, factors_of(matrix, scratch), options,
                                       exchanges_of(matrix, scratch, path));
                   }));
}

StoredArray inverse(const StoredArray& a, const std::string& path) {
  require_matrix("inverse", a);
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = stored_as(a, t);
  const auto facts = [&] { return JobFacts{{"operation", "inverse"}, {"A", from->version()}}; };
  return StoredArray(
      result_store({path, facts, a.shape(), t, lu_scratch},
                   [&](const StorePtr& out, const Options& options, const MakeScratch& scratch) {
                     return plan_inverse(from, out, factors_of(from, scratch), options,
                                         exchanges_of(from, scratch, path));
                   }));
}

StoredArray solve_triangular(const StoredArray& a, const StoredArray& b,
                             const TriangularOptions& what, const std::string& path) {
  const DType t = dtype_of_system("solve_triangular", a, b);
  const StorePtr matrix = stored_as(a, t), right = stored_as(b, t);
  const auto facts = [&] {
    return JobFacts{{"operation", cat("solve_triangular, ", what.lower ? "lower" : "upper", " ",
                                      static_cast<int>(what.turn), what.unit ? ", unit" : "")},
                    {"A", matrix->version()},
                    {"B", right->version()}};
  };
  return StoredArray(
      result_store({path, facts, b.shape(), t},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_solve_triangular(matrix, right, out, what, options);
                   }));
}

}  // namespace tessera::streaming
