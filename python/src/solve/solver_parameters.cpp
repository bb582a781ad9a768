// SPDX-License-Identifier: Apache-2.0
// What each argument of the solvers means, for `help` and the reference. Most mean the same for all solvers and are
// said once; where one differs, its text stands under "solver.argument", and that of arrays over ranks under
// "ranks.argument".
#include <deque>

#include "solve/solve.hpp"

namespace tessera::python {

namespace {

struct Text {
  std::string_view argument;
  const char* text;
};

constexpr Text texts[] = {
    {"A", "The operator."},
    {"lanczos.A", "The operator, Hermitian; or a matrix on disk."},
    {"randomized_svd.A", "The operator; or a matrix on disk."},
    {"ranks.lanczos.A", "The operator, Hermitian."},
    {"ranks.randomized_svd.A", "The operator."},
    {"cg.A", "The operator, Hermitian and positive (semi)definite, as ``A.N`` is."},
    {"minres.A", "The operator, Hermitian; it may be indefinite or singular."},
    {"gmres.A", "The operator, any that maps a space into itself."},
    {"b",
     "The right-hand side, of the shape of the operator's output; it says on which device is "
     "solved."},
    {"ranks.b", "The right-hand side, an array over ranks of the shape of the operator's output."},
    {"x0", "The first guess; zeros when not given."},
    {"lanczos.x0", "The first vector; a random one when not given."},
    {"svd.x0", "The first vector; a random one when not given."},
    {"power_method.x0", "The first vector; a random one when not given."},
    {"ranks.lanczos.x0", "The first vector: how it lies over the ranks is how vectors lie."},
    {"ranks.svd.x0", "The first vector: how it lies over the ranks is how vectors lie."},
    {"ranks.power_method.x0", "The first vector: how it lies over the ranks is how vectors lie."},
    {"ranks.randomized_svd.x0", "An array that lies over the ranks as vectors of the input shall."},
    {"M", "A preconditioner: near the inverse of A, Hermitian and positive."},
    {"gmres.M", "A preconditioner, near the inverse of A; it stands on the right."},
    {"f",
     "What is paid for A x - b: one of ``ts.solve.prox``, or a function (v, t) that gives its "
     "proximal map; half of the square when not given."},
    {"g",
     "What is paid for x: one of ``ts.solve.prox``, or a function (v, t) that gives its "
     "proximal map; nothing when not given."},
    {"admm.g",
     "What is paid for G x: one of ``ts.solve.prox``, or a function (v, t) that gives its "
     "proximal map; nothing when not given."},
    {"G", "The operator in front of which ``g`` stands; the identity when not given."},
    {"rho", "The weight of |G x - z|^2 / 2; it changes how quickly it converges, and not to what."},
    {"inner", "Steps of conjugate gradients in each iteration."},
    {"step",
     "The length of a gradient step, at most 1 / |A|^2; from the power method when not "
     "given. 'search': each iteration halves it until it is short enough for the way it goes."},
    {"momentum", "False: plain proximal gradients (ISTA)."},
    {"restart", "After how many vectors it begins anew."},
    {"fista.restart", "True: the momentum starts anew when it points uphill."},
    {"tau", "The step of x; from the power method when not given. tau sigma |A|^2 is at most 1."},
    {"sigma", "The step of the dual variable; from the power method when not given."},
    {"theta", "How far x is extrapolated, from 0 to 1."},
    {"damp", "The weight d of d^2 |x - x0|^2, which is added to the squares."},
    {"conlim", "Stops when the estimated condition of A exceeds it; 0: never."},
    {"shift", "The number s of (A - s I) x = b."},
    {"k", "How many values are wanted."},
    {"which", "'LM': largest magnitude; 'LA': largest; 'SA': smallest; 'BE': half from each end."},
    {"ncv", "How many vectors are kept before it restarts; a number that fits k when not given."},
    {"ranks.ncv", "How many vectors are kept before it restarts; 0: a number that fits k."},
    {"reorthogonalize",
     "False: vectors are kept orthogonal to the last two only, which is quicker "
     "and less safe."},
    {"oversample", "How many random vectors there are beyond k."},
    {"dim",
     "The axes (numbers or names) that make one vector; the others are a batch of problems. "
     "All when not given."},
    {"axes",
     "The axes that make one vector; the others are a batch of problems. All when not "
     "given."},
    {"shape",
     "The shape of the random first vector; what the operator knows of its sizes when not "
     "given."},
    {"dtype", "The dtype of the random first vector; that of the operator when not given."},
    {"device", "Where the random first vector lies; where the operator does when not given."},
    {"seed", "Of the random numbers: the same seed gives the same result."},
    {"rtol", "Converged when the solver's measure falls to ``rtol`` times its reference."},
    {"lanczos.rtol",
     "Converged when the residuals of all k pairs are below ``rtol`` times the "
     "largest value."},
    {"svd.rtol",
     "Converged when the residuals of all k values are below ``rtol`` times the "
     "largest."},
    {"randomized_svd.rtol", "Ends when no value changed by more than ``rtol`` times the largest."},
    {"power_method.rtol", "Converged when the value changes by less than ``rtol`` times itself."},
    {"atol", "Converged when the measure itself falls to it, too; 0: only by ``rtol``."},
    {"maxiter", "How many iterations there are at most."},
    {"gmres.maxiter", "How often A is applied at most."},
    {"lanczos.maxiter", "How often A is applied at most."},
    {"randomized_svd.maxiter", "How many passes there are over the random vectors."},
    {"callback",
     "A function of an ``Iteration``, called after each; it stops the solver by "
     "returning False."},
    {"ranks.callback",
     "A function (iteration, measure), called after each on every rank; False "
     "from one of them stops all."},
    {"along", "The dim of A along which ranks share the work; chosen when not given."},
    {"progress", "True: a bar on stderr."},
    {"checkpoint",
     "A path or a ``Checkpoint``: a solve that was killed goes on from there, bit for "
     "bit."},
    {"check_every",
     "After how many iterations the host looks at the measure; 0: each one on the "
     "cpu, 16 elsewhere. The result is the same."},
    {"T", "The operator, Hermitian."},
    {"degree", "Of the polynomial; -1: the identity."},
    {"norm",
     "What of 1 - x p(x) is small: 'l_2' (or 'l2') the integral of its square, 'l_inf' its "
     "maximum; 'ifista' makes it (1 - x / upper_eig)^(degree + 1)."},
    {"lower_eig", "Where the eigenvalues begin."},
    {"upper_eig", "Where the eigenvalues end."},
};

const char* found(const std::string& argument) {
  for (const Text& t : texts)
    if (t.argument == argument) return t.text;
  return nullptr;
}

const char* text_of(const std::string& solver, const std::string& argument, bool ranks) {
  std::vector<std::string> keys{cat(solver, ".", argument), argument};
  if (ranks)
    keys.insert(keys.begin(), {cat("ranks.", solver, ".", argument), cat("ranks.", argument)});
  for (const std::string& key : keys)
    if (const char* text = found(key)) return text;
  throw ArgumentError(cat("help: nothing is said of the argument ", argument, " of ", solver));
}

// At most 110 letters on a line, as the rest of a docstring.
void add_wrapped(std::string& all, std::string_view text) {
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column == 0 || column + word.size() > 104) {
      all += column == 0 ? "    " : "\n    ";
      column = 0;
    } else {
      all += ' ';
    }
    all += word;
    column += word.size() + 1;
    at = end + 1;
  }
  all += '\n';
}

}  // namespace

std::string with_parameters(const std::string& solver, const std::vector<std::string>& arguments,
                            std::string_view doc, bool ranks) {
  std::string all = "Parameters\n----------\n";
  for (const std::string& a : arguments) {
    all += a + '\n';
    add_wrapped(all, text_of(solver, a, ranks));
  }
  const std::size_t example = doc.find("\n>>>");
  if (example == std::string_view::npos) return cat(doc, "\n\n", all);
  return cat(doc.substr(0, example + 1), all, doc.substr(example));
}

const char* over_ranks(const char* solver, std::vector<std::string> before,
                       const std::vector<std::string>& after, const char* doc) {
  static auto& kept = *new std::deque<std::string>;  // nanobind may keep what it is given
  before.insert(before.begin(), "A");
  for (const char* a : {"rtol", "atol", "maxiter", "callback", "along", "checkpoint"})
    before.emplace_back(a);
  before.insert(before.end(), after.begin(), after.end());
  kept.push_back(with_parameters(solver, before, doc, true));
  return kept.back().c_str();
}

}  // namespace tessera::python
