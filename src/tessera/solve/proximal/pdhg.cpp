// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/pdhg.hpp"

#include <cmath>

#include "tessera/solve/proximal/sequence.hpp"

namespace tessera {
namespace {

// The operators of all terms over one x: in pieces where all of them can be cut as the first is.
std::vector<ShardedOperator> shards_of(const std::vector<PdhgTerm>& terms, const VectorSpaces& s,
                                       Device base) {
  std::vector<ShardedOperator> all{ShardedOperator(terms.front().K, s.shape, s.b.shape(), base)};
  const VectorSpace side = all.front().in;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const NamedLinop& K = terms[i].K;
    const Shape out = K.output_shape(s.shape);
    if (ShardedOperator own(K, s.shape, out, base); own.in == side) {
      all.push_back(std::move(own));
    } else if (auto beside = ShardedOperator::beside(side, K, out)) {
      all.push_back(std::move(*beside));
    } else {
      all.clear();
      for (const PdhgTerm& t : terms)
        all.push_back(ShardedOperator::whole_of(t.K, s.shape, t.K.output_shape(s.shape), base));
      return all;
    }
  }
  return all;
}

// What belongs to one term: its dual variable y, and v and q between the steps.
struct Term {
  ShardedOperator K;
  Prox f;
  double sigma;
  vec::Vector b{}, y{}, v{}, q{};
  DeviceScalar dy2{}, y2{};
};

struct Pdhg {
  Engine& e;
  double tau, theta;
  VectorSpace in;
  std::vector<Term> terms;
  vec::Vector x, xbar, w, d, back;
  Sequence step;

  Pdhg(Engine& engine, const std::vector<PdhgTerm>& given, const VectorSpaces& s, double tau_,
       const std::vector<double>& sigmas, double theta_)
      : Pdhg(engine, given, s, tau_, sigmas, theta_, shards_of(given, s, engine.device)) {}

  Pdhg(Engine& engine, const std::vector<PdhgTerm>& given, const VectorSpaces& s, double tau_,
       const std::vector<double>& sigmas, double theta_, std::vector<ShardedOperator> shards)
      : e(engine), tau(tau_), theta(theta_), in(shards.front().in), step(engine) {
    x = e.keep("x", in, s.dtype);
    xbar = e.keep("xbar", in, s.dtype);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string of = i == 0 ? "" : cat(" ", i);
      const DType dtype = i == 0 ? s.b.dtype() : given[i].K.output_dtype(s.dtype);
      const VectorSpace out = shards[i].out;
      Term t{std::move(shards[i]), given[i].f, sigmas[i]};
      if (i == 0)
        t.b = e.given("b", out, s.b);
      else if (given[i].b)
        t.b = e.given("b" + of, out, e.as("b" + of, given[i].b, out.shape(), dtype));
      t.y = e.keep("y" + of, out, dtype);
      t.v = e.work("v" + of, out, dtype);
      t.q = e.work("q" + of, out, dtype);
      t.dy2 = e.scalars.cell("dy2" + of);
      t.y2 = e.scalars.cell("y2" + of);
      terms.push_back(std::move(t));
    }
    w = e.work("w", in, s.dtype);
    d = e.work("d", in, s.dtype);
    if (terms.size() > 1) back = e.work("K.H y", in, s.dtype);
  }

  // The dual step of a term by Moreau: with v = y / sigma + K xbar - b,
  // y = sigma (v - prox_f(v, 1/sigma)).
  void record_dual(const Term& t) {
    step.record([this, &t](Recorder& r) {
      t.K.record(r, xbar, t.v);
      if (!t.b.pieces.empty()) vec::subtract(r, t.v, t.b, t.v);
      vec::multiply_add(r, t.y, 1 / t.sigma, t.v, t.v);
    });
    step.prox(t.f, t.K.out, t.v, 1 / t.sigma, t.q);
    step.record([this, &t](Recorder& r) {
      vec::subtract(r, t.v, t.q, t.v);
      vec::multiply_add(r, t.v, -t.sigma, t.y, t.q);  // minus the change of y
      vec::norm2(r, t.q, e.target(r, t.dy2));
      vec::scale(r, t.sigma, t.v, t.y);
      vec::norm2(r, t.y, e.target(r, t.y2));
      const bool first = &t == &terms.front();
      t.K.record_adjoint(r, t.y, first ? w : back);
      if (!first) vec::add(r, w, back, w);
    });
  }

  void record(const Prox& g) {
    for (const Term& t : terms) record_dual(t);
    step.record([this](Recorder& r) { vec::multiply_add(r, w, -tau, x, w); });
    step.prox(g, in, w, tau, w);
    step.record([this](Recorder& r) { advance(r); });
    step.finish();
  }

  void advance(Recorder& r) {
    ScalarProgram& c = e.scalars;
    const DeviceScalar dx = c.cell("dx2"), x2 = c.cell("x2"), running = c.cell("running"),
                       rtol = c.cell("rtol"), atol = c.cell("atol");
    DeviceScalar dy = terms.front().dy2, y2 = terms.front().y2;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      dy = dy + terms[i].dy2;
      y2 = y2 + terms[i].y2;
    }
    vec::subtract(r, w, x, d);
    vec::norm2(r, d, e.target(r, dx));
    vec::norm2(r, w, e.target(r, x2));
    vec::multiply_add(r, d, theta, w, xbar);
    const DeviceScalar tiny = c.constant(1e-300);
    const DeviceScalar primal = root(dx) / root(larger(x2, tiny)),
                       dual = root(dy) / root(larger(y2, tiny));
    c.store(e.measure, larger(primal, dual));
    const DeviceScalar small =
        (root(dx) <= larger(rtol * root(x2), atol)) && (root(dy) <= larger(rtol * root(y2), atol));
    c.store(running, e.status <= 0.0);
    c.store(e.status, choose(running, choose(finite(dx) && finite(dy), small, 2.0), e.status));
    c.report(e.measure, e.status);
    c.record(r);
    vec::select(r, e.factor(r, running), w, x, x);
  }
};

void check_term(const PdhgTerm& t, std::size_t i, const VectorSpaces& s) {
  const DType dtype = t.K.output_dtype(s.dtype), back = t.K.H().output_dtype(dtype);
  require<DTypeError>(back == s.dtype, "pdhg: the adjoint of operator ", i, ", ", t.K, ", maps ",
                      dtype, " to ", back, ", expected ", s.dtype);
  const Shape out = t.K.output_shape(s.shape);
  require<ShapeError>(!t.b || t.b.shape() == out, "pdhg: operator ", i, ", ", t.K, ", maps shape ",
                      s.shape, " to ", out, ", beside a b of ", t.b ? t.b.shape() : Shape());
}

struct Steps {
  double tau;
  std::vector<double> sigmas;
};

// tau sum sigma |K|^2 = 1 where they are not given: each term has its share of it.
Steps steps_of(const std::vector<PdhgTerm>& terms, const PdhgSettings& settings,
               const VectorSpaces& s) {
  Steps steps{settings.tau, std::vector<double>(terms.size(), settings.sigma)};
  if (settings.tau > 0 && settings.sigma > 0) return steps;
  std::vector<double> norms;
  double sum = 0;
  for (const PdhgTerm& t : terms) {
    const double n2 = squared_norm_of("pdhg", t.K, s.shape, s.dtype, s.b.device());
    norms.push_back(n2 > 0 ? n2 : 1);
    sum += norms.back();
  }
  if (steps.tau == 0)
    steps.tau = settings.sigma > 0 ? 1 / (settings.sigma * sum) : 1 / std::sqrt(norms.front());
  if (settings.sigma == 0)
    for (std::size_t i = 0; i < terms.size(); ++i)
      steps.sigmas[i] = 1 / (static_cast<double>(terms.size()) * steps.tau * norms[i]);
  return steps;
}

SolveKey key_of(const std::vector<PdhgTerm>& terms, const Prox& g, const VectorSpaces& s,
                const Steps& steps, double theta) {
  std::vector<double> numbers{steps.tau, theta};
  numbers.insert(numbers.end(), steps.sigmas.begin(), steps.sigmas.end());
  SolveKey key = with_maps({"pdhg", s.b, {}, numbers}, {&g});
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i > 0) key.maps += cat(terms[i].K.serial(), terms[i].b ? " with b " : " ");
    key = with_maps(std::move(key), {&terms[i].f});
  }
  return key;
}

}  // namespace

SolveResult pdhg(const NamedLinop& A, const Array& b, const Prox& f, const Prox& g,
                 const SolveOptions& options, const PdhgSettings& settings) {
  check_options("pdhg", options);
  require<ArgumentError>(settings.tau >= 0 && settings.sigma >= 0, "pdhg: tau ", settings.tau,
                         " and sigma ", settings.sigma, " must not be negative");
  const VectorSpaces sides = both_sides("pdhg", A, b);
  std::vector<PdhgTerm> terms{{A, f, b}};
  terms.insert(terms.end(), settings.more.begin(), settings.more.end());
  for (std::size_t i = 1; i < terms.size(); ++i) check_term(terms[i], i, sides);
  const Steps steps = steps_of(terms, settings, sides);
  Engine e(key_of(terms, g, sides, steps, settings.theta), A, options, sides.dtype);
  Pdhg s(e, terms, sides, steps.tau, steps.sigmas, settings.theta);
  e.outcome(has_converged, true, "both variables change less than the tolerance");
  e.outcome(2, false, "diverged: the numbers are not finite; give smaller tau and sigma");
  e.about("the operator", A, sides.shape, sides.dtype, e.device);
  e.about("b", sides.b);
  e.about("f and g", cat(f.name, " ", g.name));
  e.about("tau, sigma, theta", cat(settings.tau, " ", settings.sigma, " ", settings.theta));
  for (std::size_t i = 1; i < terms.size(); ++i) {
    e.about(cat("operator ", i), terms[i].K, sides.shape, sides.dtype, e.device);
    if (terms[i].b) e.about(cat("b ", i), terms[i].b);
    e.about(cat("f ", i), terms[i].f.name);
  }
  s.record(g);
  if (!e.resume()) {
    e.start_at(s.x, s.in);
    e.start_at(s.xbar, s.in);
    e.begin(1);
  }
  e.set_tolerances();
  return e.iterate([&] { s.step(); });
}

}  // namespace tessera
