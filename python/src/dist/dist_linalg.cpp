// SPDX-License-Identifier: Apache-2.0
// The entries through which tessera/dist/linalg.py reaches dense linear algebra over ranks.
#include "dist/dist_methods.hpp"
#include "tessera/distributed/linalg/linalg.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

void bind_one(nb::module_& m, const char* name, DNDarray (*f)(const DNDarray&)) {
  const std::string sig = cat("def ", name, "(a: ArrayLike) -> DNDarray");
  m.def(
      name,
      [f](nb::handle a) {
        const DNDarray x = as_dist(a, "linalg");
        return wrap(released([&] { return f(x); }));
      },
      "a"_a, nb::sig(sig.c_str()));
}

void bind_two(nb::module_& m, const char* name, DNDarray (*f)(const DNDarray&, const DNDarray&)) {
  const std::string sig = cat("def ", name, "(a: ArrayLike, b: ArrayLike) -> DNDarray");
  m.def(
      name,
      [f](nb::handle a, nb::handle b) {
        const Communicator comm = group_of({a, b});
        const DNDarray x = as_dist(a, "linalg", comm), y = as_dist(b, "linalg", comm);
        return wrap(released([&] { return f(x, y); }));
      },
      "a"_a, "b"_a, nb::sig(sig.c_str()));
}

}  // namespace

void bind_dist_linalg(nb::module_& m) {
  namespace la = dist::linalg;
  bind_one(m, "_inverse", &la::inverse);
  bind_one(m, "_cholesky", &la::cholesky);
  bind_one(m, "_det", &la::det);
  bind_two(m, "_solve", &la::solve);
  bind_two(m, "_matmul", &la::matmul);
  m.def(
      "_qr",
      [](nb::handle a) {
        const DNDarray x = as_dist(a, "qr");
        la::Qr r = released([&] { return la::qr(x); });
        return tuple_of_arrays({std::move(r.q), std::move(r.r)});
      },
      "a"_a, nb::sig("def _qr(a: ArrayLike) -> tuple[DNDarray, DNDarray]"));
  m.def(
      "_eigh",
      [](nb::handle a) {
        const DNDarray x = as_dist(a, "eigh");
        la::Eigh r = released([&] { return la::eigh(x); });
        return tuple_of_arrays({std::move(r.values), std::move(r.vectors)});
      },
      "a"_a, nb::sig("def _eigh(a: ArrayLike) -> tuple[DNDarray, DNDarray]"));
  m.def(
      "_svd",
      [](nb::handle a) {
        const DNDarray x = as_dist(a, "svd");
        la::Svd r = released([&] { return la::svd(x); });
        return tuple_of_arrays({std::move(r.u), std::move(r.s), std::move(r.vh)});
      },
      "a"_a, nb::sig("def _svd(a: ArrayLike) -> tuple[DNDarray, DNDarray, DNDarray]"));
  m.def(
      "_slogdet",
      [](nb::handle a) {
        const DNDarray x = as_dist(a, "slogdet");
        la::SlogDet r = released([&] { return la::slogdet(x); });
        return tuple_of_arrays({std::move(r.sign), std::move(r.logabsdet)});
      },
      "a"_a, nb::sig("def _slogdet(a: ArrayLike) -> tuple[DNDarray, DNDarray]"));
  m.def(
      "_lstsq",
      [](nb::handle a, nb::handle b, double rcond) {
        const Communicator comm = group_of({a, b});
        const DNDarray x = as_dist(a, "lstsq", comm), y = as_dist(b, "lstsq", comm);
        la::Lstsq r = released([&] { return la::lstsq(x, y, rcond); });
        return nb::make_tuple(wrap(std::move(r.x)), wrap(std::move(r.residuals)), r.rank,
                              wrap(std::move(r.s)));
      },
      "a"_a, "b"_a, "rcond"_a,
      nb::sig("def _lstsq(a: ArrayLike, b: ArrayLike, rcond: float) -> tuple[DNDarray, DNDarray, "
              "int, DNDarray]"));
  m.def(
      "_linalg_backend",
      [](nb::handle comm) {
        const Communicator group = comm_from(comm);
        return released([&] { return la::backend(group); });
      },
      "comm"_a.none(), nb::sig("def _linalg_backend(comm: Communicator | None) -> str"));
}

}  // namespace tessera::python
