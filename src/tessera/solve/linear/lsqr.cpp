// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/lsqr.hpp"

#include "tessera/solve/linear/bidiagonal.hpp"

namespace tessera {
namespace {

struct Lsqr {
  Engine& e;
  Bidiagonal g;
  LeastSquaresSettings settings;
  vec::Vector w;

  Lsqr(Engine& engine, const NamedLinop& A, const VectorSpaces& sides,
       const LeastSquaresSettings& s)
      : e(engine), g(engine, A, sides), settings(s) {
    w = e.keep("w", g.A.in, sides.dtype);
    e.scalars.cell("cs2", -1);
  }

  void start(Recorder& r, const Array& x0) {
    g.start(r, x0);
    vec::copy(r, g.v, w);
    e.scalars.store(e.scalars.cell("phibar"), g.beta);
    e.scalars.store(e.scalars.cell("rhobar"), g.alpha);
    e.scalars.record(r);
  }

  // The rotations that keep the bidiagonal matrix triangular; first the one that takes in damp.
  void rotate() {
    ScalarProgram& b = e.scalars;
    const DeviceScalar phibar = b.cell("phibar"), rhobar = b.cell("rhobar"), rho = b.cell("rho");
    const DeviceScalar phi = b.cell("phi"), theta = b.cell("theta"), tau = b.cell("tau");
    const DeviceScalar damped = b.cell("rhobar damped"), res2 = b.cell("res2"), c = b.cell("c"),
                       s = b.cell("s");
    b.store(damped, rhobar);
    if (settings.damp > 0) {
      b.store(damped, length(rhobar, b.constant(settings.damp)));
      const DeviceScalar psi = settings.damp / damped * phibar;
      b.store(res2, res2 + psi * psi);
      b.store(phibar, rhobar / damped * phibar);
    }
    b.store(rho, length(damped, g.beta));
    b.store(c, damped / rho);
    b.store(s, g.beta / rho);
    b.store(theta, s * g.alpha);
    b.store(rhobar, -(c * g.alpha));
    b.store(phi, c * phibar);
    b.store(phibar, s * phibar);
    b.store(tau, s * phi);
  }

  // Estimates of |x - x0|, |A|, its condition, |r| and |A.H r|.
  void estimate() {
    ScalarProgram& b = e.scalars;
    const DeviceScalar rho = b.cell("rho"), theta = b.cell("theta"), phi = b.cell("phi");
    const DeviceScalar cs2 = b.cell("cs2"), sn2 = b.cell("sn2"), z = b.cell("z"),
                       xx = b.cell("xxnorm");
    const DeviceScalar a2 = b.cell("anorm2"), dd = b.cell("ddnorm"), ww = b.cell("ww"),
                       rhs = b.cell("rhs"), gambar = b.cell("gambar"), gamma = b.cell("gamma");
    const DeviceScalar x_norm = b.cell("x norm"), a_norm = b.cell("a norm"),
                       r_norm = b.cell("r norm");
    b.store(rhs, phi - sn2 * rho * z);
    b.store(gambar, -(cs2 * rho));
    const DeviceScalar zbar = rhs / gambar;
    b.store(x_norm, root(xx + zbar * zbar));
    b.store(gamma, length(gambar, theta));
    b.store(cs2, gambar / gamma);
    b.store(sn2, theta / gamma);
    b.store(z, rhs / gamma);
    b.store(xx, xx + z * z);
    b.store(dd, dd + ww / (rho * rho));
    b.store(a_norm, root(a2));
    const DeviceScalar phibar = b.cell("phibar");
    b.store(r_norm, root(phibar * phibar + b.cell("res2")));
    const DeviceScalar ar_norm = g.alpha * magnitude(b.cell("tau"));
    store_tests(e, {r_norm, ar_norm, a_norm, a_norm * root(dd), x_norm, g.b_norm}, settings.conlim);
  }

  void step(Recorder& r) {
    ScalarProgram& b = e.scalars;
    const DeviceScalar a2 = b.cell("anorm2"), old_alpha = b.cell("old alpha");
    const DeviceScalar t1 = b.cell("t1"), t2 = b.cell("t2");
    vec::norm2(r, w, e.target(r, b.cell("ww")));
    b.store(old_alpha, g.alpha);
    b.record(r);
    g.advance(r);
    b.store(a2, a2 + old_alpha * old_alpha + g.beta * g.beta +
                    b.constant(settings.damp * settings.damp));
    rotate();
    const DeviceScalar running = e.status <= 0.0;
    b.store(t1, choose(running, b.cell("phi") / b.cell("rho"), 0.0));
    b.store(t2, choose(running, -(b.cell("theta") / b.cell("rho")), 0.0));
    estimate();
    b.record(r);
    vec::add_scaled(r, w, e.factor(r, t1), g.x);
    vec::multiply_add(r, w, e.factor(r, t2), g.v, w);
  }
};

}  // namespace

SolveResult lsqr(const NamedLinop& A, const Array& b, const SolveOptions& options,
                 const LeastSquaresSettings& settings) {
  return solve_least_squares<Lsqr>("lsqr", A, b, options, settings);
}

}  // namespace tessera
