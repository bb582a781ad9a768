// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix as an operator: one dim in, one dim out, the other dims of both sides pass through. Residency
// as whatever applies it: a Dense for an array, a Sparse for a sparse matrix. What is known of the
// matrix as a whole is trusted, and used for its adjoint and its normal. Integers are summed in 64
// bits whatever they are stored in, so that sums of short ones do not wrap.
//   Matrix(w, dims("N"), dims("M"))   // w of shape (m, n)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// Of square matrices.
struct MatrixFacts {
  int own_adjoint = 0;   // 1: the adjoint is the matrix itself, -1: with the other sign
  bool unitary = false;  // the adjoint is the inverse
};

struct TESSERA_API Matrix {
  NamedLinop inner;
  MatrixFacts facts;

  static constexpr const char* kind = "Matrix";
  // DimError unless w has two axes and each side one dim that the other has not.
  Matrix(const Array& w, const Dims& ishape, const Dims& oshape);
  explicit Matrix(NamedLinop a, MatrixFacts known = {}) : inner(std::move(a)), facts(known) {}
  NamedShape shape() const { return inner.shape(); }
  auto state() const { return std::tuple(inner, i64{facts.own_adjoint}, facts.unitary); }
  static Matrix from_state(NamedLinop a, i64 own_adjoint, bool unitary) {
    return Matrix(std::move(a), {own_adjoint > 0 ? 1 : own_adjoint < 0 ? -1 : 0, unitary});
  }
  std::optional<i64> size(NamedDimension d) const { return inner.size(d); }
  std::optional<Device> device() const { return inner.device(); }
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const { inner.record(r, widened(r, x), y); }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    inner.record_add(r, widened(r, x), y);
    return true;
  }
  Matrix adjoint() const;
  std::optional<NamedLinop> normal() const;
  bool isometry() const { return facts.unitary || inner.isometry(); }
  Matrix renamed(const Renames& r) const { return Matrix(inner.rename(r), facts); }
  NamedLinop split(const Tile& t) const { return Matrix(inner.split(t)); }
  std::optional<NamedLinop> opened() const;
  std::string details() const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.inner);
  }

 private:
  View widened(Recorder& r, const View& x) const;
};

extern template struct NamedLinop::Model<Matrix>;

}  // namespace tessera
