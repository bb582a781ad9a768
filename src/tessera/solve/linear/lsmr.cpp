// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/lsmr.hpp"

#include "tessera/solve/linear/bidiagonal.hpp"

namespace tessera {
namespace {

// Names as in the paper of Fong and Saunders (2011).
struct Lsmr {
  Engine& e;
  ScalarProgram& b;
  Bidiagonal g;
  LeastSquaresSettings settings;
  vec::Vector h, hbar;

  Lsmr(Engine& engine, const NamedLinop& A, const VectorSpaces& sides,
       const LeastSquaresSettings& s)
      : e(engine), b(engine.scalars), g(engine, A, sides), settings(s) {
    h = e.keep("h", g.A.in, sides.dtype);
    hbar = e.keep("hbar", g.A.in, sides.dtype);
    for (const char* one : {"rho", "rhobar", "cbar", "rhodold"}) b.cell(one, 1);
    b.cell("minrbar", 1e100);
  }

  void start(Recorder& r, const Array& x0) {
    g.start(r, x0);
    vec::copy(r, g.v, h);
    b.store(b.cell("zetabar"), g.alpha * g.beta);
    b.store(b.cell("alphabar"), g.alpha);
    b.store(b.cell("betadd"), g.beta);
    b.store(b.cell("norm A2"), g.alpha * g.alpha);
    b.record(r);
  }

  void rotate() {
    const DeviceScalar alphabar = b.cell("alphabar"), alphahat = b.cell("alphahat"),
                       rho = b.cell("rho"), rhobar = b.cell("rhobar"), cbar = b.cell("cbar"),
                       sbar = b.cell("sbar"), zeta = b.cell("zeta"), zetabar = b.cell("zetabar");
    b.store(alphahat, length(alphabar, b.constant(settings.damp)));
    b.store(b.cell("chat"), alphabar / alphahat);
    b.store(b.cell("shat"), settings.damp / alphahat);
    b.store(b.cell("rhoold"), rho);
    b.store(rho, length(alphahat, g.beta));
    const DeviceScalar c = b.cell("c"), s = b.cell("s"), thetanew = b.cell("thetanew"),
                       thetabar = b.cell("thetabar"), rhotemp = b.cell("rhotemp");
    b.store(c, alphahat / rho);
    b.store(s, g.beta / rho);
    b.store(thetanew, s * g.alpha);
    b.store(alphabar, c * g.alpha);
    b.store(b.cell("rhobarold"), rhobar);
    b.store(b.cell("zetaold"), zeta);
    b.store(thetabar, sbar * rho);
    b.store(rhotemp, cbar * rho);
    b.store(rhobar, length(rhotemp, thetanew));
    b.store(cbar, rhotemp / rhobar);
    b.store(sbar, thetanew / rhobar);
    b.store(zeta, cbar * zetabar);
    b.store(zetabar, -(sbar * zetabar));
  }

  void estimate_residual() {
    const DeviceScalar betadd = b.cell("betadd"), betad = b.cell("betad"),
                       acute = b.cell("betaacute"), check = b.cell("betacheck"),
                       betahat = b.cell("betahat"), d = b.cell("d");
    const DeviceScalar rhodold = b.cell("rhodold"), rhotilde = b.cell("rhotildeold"),
                       thetabar = b.cell("thetabar"), thetatilde = b.cell("thetatilde"),
                       tautilde = b.cell("tautildeold"), ctilde = b.cell("ctilde"),
                       stilde = b.cell("stilde"), before = b.cell("thetatildeold");
    b.store(acute, b.cell("chat") * betadd);
    b.store(check, -(b.cell("shat") * betadd));
    b.store(betahat, b.cell("c") * acute);
    b.store(betadd, -(b.cell("s") * acute));
    b.store(before, thetatilde);
    b.store(rhotilde, length(rhodold, thetabar));
    b.store(ctilde, rhodold / rhotilde);
    b.store(stilde, thetabar / rhotilde);
    b.store(thetatilde, stilde * b.cell("rhobar"));
    b.store(rhodold, ctilde * b.cell("rhobar"));
    b.store(betad, ctilde * betahat - stilde * betad);
    b.store(tautilde, (b.cell("zetaold") - before * tautilde) / rhotilde);
    const DeviceScalar taud = (b.cell("zeta") - thetatilde * tautilde) / rhodold;
    b.store(d, d + check * check);
    const DeviceScalar gap = betad - taud;
    b.store(b.cell("r norm"), root(d + gap * gap + betadd * betadd));
  }

  void estimate_operator() {
    const DeviceScalar a2 = b.cell("norm A2"), most = b.cell("maxrbar"), least = b.cell("minrbar"),
                       old = b.cell("rhobarold"), temp = b.cell("rhotemp"), later = b.cell("later");
    b.store(a2, a2 + g.beta * g.beta);
    b.store(b.cell("a norm"), root(a2));
    b.store(a2, a2 + g.alpha * g.alpha);
    b.store(most, choose(later, larger(most, old), most));  // the first `old` is no estimate
    b.store(least, choose(later, smaller(least, old), least));
    b.store(later, 1.0);
    b.store(b.cell("a cond"), larger(most, temp) / smaller(least, temp));
  }

  void step(Recorder& r) {
    g.advance(r);
    rotate();
    const DeviceScalar running = b.cell("running"), along_hbar = b.cell("along hbar"),
                       along_x = b.cell("along x"), along_h = b.cell("along h");
    const DeviceScalar rho = b.cell("rho"), rhobar = b.cell("rhobar");
    b.store(running, e.status <= 0.0);
    const DeviceScalar back = b.cell("thetabar") * rho / (b.cell("rhoold") * b.cell("rhobarold"));
    b.store(along_hbar, choose(running, -back, 0.0));
    b.store(along_x, choose(running, b.cell("zeta") / (rho * rhobar), 0.0));
    b.store(along_h, choose(running, -(b.cell("thetanew") / rho), 0.0));
    estimate_residual();
    estimate_operator();
    b.record(r);
    vec::multiply_add(r, hbar, e.factor(r, along_hbar), h, hbar);
    vec::add_scaled(r, hbar, e.factor(r, along_x), g.x);
    vec::multiply_add(r, h, e.factor(r, along_h), g.v, h);
    const DeviceScalar x_norm = b.cell("x norm");
    vec::norm2(r, g.x, e.target(r, x_norm));
    b.store(x_norm, root(x_norm));
    store_tests(e,
                {b.cell("r norm"), magnitude(b.cell("zetabar")), b.cell("a norm"), b.cell("a cond"),
                 x_norm, g.b_norm},
                settings.conlim);
    b.record(r);
  }
};

}  // namespace

SolveResult lsmr(const NamedLinop& A, const Array& b, const SolveOptions& options,
                 const LeastSquaresSettings& settings) {
  return solve_least_squares<Lsmr>("lsmr", A, b, options, settings);
}

}  // namespace tessera
