// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/fista_search.hpp"

#include <cmath>
#include <limits>
#include <list>

namespace tessera {
namespace {

constexpr int smallest = -1000, largest = 1000;  // exponents of steps, which are powers of two

struct StepSearch {
  Engine& e;
  const Prox& g;
  const FistaSettings& settings;
  ShardedOperator N;
  // A.H b, the iterate, its extrapolation, what N makes of both; the next iterate and its image
  vec::Vector c, x, z, Nx, Nz, w, Nw, d, v;
  DeviceScalar theta, exponent, momentum, moved, bent, change, size, uphill;
  int k = 0;  // the step is 2^k
  struct Trial {
    int k;
    Sequence part;
  };
  std::list<Trial> trials;
  Run* advance = nullptr;

  StepSearch(Engine& engine, const NamedLinop& A, const VectorSpaces& sides, const Prox& map,
             const FistaSettings& s)
      : e(engine),
        g(map),
        settings(s),
        N(ShardedOperator::square(A.N(), sides.shape, engine.device)) {
    x = e.keep("x", N.in, sides.dtype);
    z = e.keep("z", N.in, sides.dtype);
    Nx = e.keep("N x", N.in, sides.dtype);
    Nz = e.keep("N z", N.in, sides.dtype);
    w = e.work("w", N.in, sides.dtype);
    Nw = e.work("N w", N.in, sides.dtype);
    d = e.work("d", N.in, sides.dtype);
    v = e.work("v", N.in, sides.dtype);
    c = e.image("A.H b", N.in, A.H(), sides.b, sides.dtype);
    theta = e.scalars.cell("t", 1);
    exponent = e.scalars.cell("exponent");
    momentum = e.scalars.cell("momentum");
    moved = e.scalars.cell("moved");
    bent = e.scalars.cell("bent");
    change = e.scalars.cell("change");
    size = e.scalars.cell("size");
    uphill = e.scalars.cell("uphill");
    advance = &e.plan("advance", [this](Recorder& r) { record_advance(r); });
  }

  // The step that the first gradient asks for, or the caller's, as a power of two.
  void begin() {
    Run& first = e.plan("begin", [this](Recorder& r) {
      N.record(r, x, Nx);
      vec::copy(r, Nx, Nz);
      N.record(r, c, d);
      vec::norm2(r, c, e.target(r, moved));
      vec::dot(r, c, d, e.target(r, bent));
    });
    e.scalars.upload();
    e.run(first);
    e.scalars.fetch();
    const double straight = e.scalars.value(moved) / e.scalars.value(bent);
    const double t = settings.step > 0 ? settings.step : 2 * straight;
    k = std::isnormal(t) && t > 0 ? std::clamp(std::ilogb(t), smallest, largest) : 0;
    e.scalars.set(exponent, k);
  }
  void go_on() {
    const double saved = e.scalars.value(exponent);
    k = saved >= smallest && saved <= largest ? static_cast<int>(saved) : 0;
  }

  Sequence& trial() {
    for (Trial& t : trials)
      if (t.k == k) return t.part;
    const double t = std::ldexp(1.0, k);
    Sequence& part = trials.emplace_back(k, Sequence(e, cat("step 2^", k, " "))).part;
    part.record([this, t](Recorder& r) {
      vec::subtract(r, Nz, c, w);
      vec::multiply_add(r, w, -t, z, w);
    });
    part.prox(g, N.in, w, t, w);
    part.record([this](Recorder& r) { record_measures(r); });
    part.finish();
    e.scalars.upload();  // with the constants of the proximal map
    return part;
  }

  // Of the step, d = w - z: |d|^2 and <d, N d>; of the iterate, d = w - x: how far, and whether the
  // momentum points uphill, <z - w, w - x> > 0.
  void record_measures(Recorder& r) {
    N.record(r, w, Nw);
    vec::subtract(r, w, z, d);
    vec::norm2(r, d, e.target(r, moved));
    vec::subtract(r, Nw, Nz, v);
    vec::dot(r, d, v, e.target(r, bent));
    vec::norm2(r, w, e.target(r, size));
    vec::subtract(r, w, x, d);
    vec::norm2(r, d, e.target(r, change));
    vec::subtract(r, z, w, v);
    vec::dot(r, v, d, e.target(r, uphill));
  }
  void record_advance(Recorder& r) {
    vec::multiply_add(r, d, e.factor(r, momentum), w, z);
    vec::subtract(r, Nw, Nx, v);
    vec::multiply_add(r, v, e.factor(r, momentum), Nw, Nz);
    vec::copy(r, w, x);
    vec::copy(r, Nw, Nx);
  }

  // |A d|^2 <= |d|^2 / t, but for the rounding of N w and N z, whose difference is formed.
  bool short_enough() const {
    const double epsilon = real_of(x.dtype()) == DType::f32 ? 0x1p-23 : 0x1p-52;
    const double d2 = e.scalars.value(moved), rounding = std::sqrt(d2 * e.scalars.value(size));
    return std::ldexp(e.scalars.value(bent), k) <=
           d2 * (1 + 64 * epsilon) + 64 * epsilon * rounding;
  }

  void step() {
    for (;; --k) {
      trial()(e.iteration());
      e.scalars.fetch();
      for (const DeviceScalar s : {moved, bent, size, change, uphill})
        if (!std::isfinite(e.scalars.value(s)))
          return e.report(std::numeric_limits<double>::quiet_NaN(), 2);
      if (k <= smallest || short_enough()) break;
    }
    const double far = std::sqrt(e.scalars.value(change)), all = std::sqrt(e.scalars.value(size));
    const bool anew = settings.restart && e.scalars.value(uphill) > 0;
    const double t = anew ? 1 : e.scalars.value(theta);
    const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    e.scalars.set(momentum, settings.momentum ? (t - 1) / next : 0);
    e.scalars.set(theta, next);
    e.scalars.set(exponent, k);
    e.scalars.upload();
    e.run(*advance);
    e.report(far / std::max(all, 1e-150), far <= e.target_of(all) ? has_converged : still_running);
  }
};

}  // namespace

SolveResult search_steps(Engine& e, const NamedLinop& A, const VectorSpaces& sides, const Prox& g,
                         const FistaSettings& settings) {
  StepSearch s(e, A, sides, g, settings);
  if (e.resume()) {
    s.go_on();
  } else {
    e.start_at(s.x, s.N.in);
    e.start_at(s.z, s.N.in);
    s.begin();
    e.begin(1);
  }
  return e.iterate_on_host([&] { s.step(); });
}

}  // namespace tessera
