// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/krylov.hpp"

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {

Array krylov_space(const char* who, const NamedLinop& A, const Space& space,
                   const SolveOptions& options) {
  check_options(who, options);
  const Array probe = options.x0 ? options.x0 : zeros(space.shape, space.dtype, space.device);
  return square_right_side(who, A, probe);
}

EigenResult krylov_search(Engine& e, Basis& basis, const VectorSpace& side, double& last_measure,
                          const KrylovProblem& p) {
  e.outcome(has_converged, true, "residuals of all eigenpairs below tolerance");
  e.about("the operator", p.A, p.like.shape(), p.like.dtype(), p.like.device());
  e.about(p.settings.what, p.settings.text);
  if (!e.resume()) {
    e.scalars.upload();
    if (e.options.x0) {
      e.assign(basis.row(0), side, p.like);
      require<ArgumentError>(!basis.orthonormalise(0).dependent, p.who, ": x0 is zero");
    } else {
      basis.randomise(0, p.seed);
    }
    for (i64 j = 1; j < p.first; ++j) basis.randomise(j, p.seed);
    last_measure = 1;
    e.begin(1);
  }
  EigenResult result;
  static_cast<SolveResult&>(result) = e.iterate_on_host(p.step);
  if (result.iterations > 0) p.finish(result);
  return result;
}

void set_vectors(EigenResult& result, const Array& rows) {
  Shape axes;
  for (i64 a = 1; a < rows.ndim(); ++a) axes.push_back(a);
  axes.push_back(0);
  result.eigenvectors = rows.permute({axes.begin(), axes.end()}).copy();
  result.x = result.eigenvectors;
}

}  // namespace tessera
