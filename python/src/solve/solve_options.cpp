// SPDX-License-Identifier: Apache-2.0
// What all solvers take and give: options, checkpoints, iterations, results, proximal maps.
#include "solve/solve.hpp"

#include <nanobind/stl/vector.h>

#include "core/callables.hpp"
#include "core/repr.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {

Checkpoint checkpoint_from(nb::handle h) {
  if (h.is_none()) return {};
  if (nb::isinstance<Checkpoint>(h)) return nb::cast<Checkpoint>(h);
  nb::object path = nb::steal(PyOS_FSPath(h.ptr()));
  if (!path.is_valid()) throw nb::python_error();
  return {.path = nb::cast<std::string>(nb::str(path))};
}

namespace {

using nb::literals::operator""_a;

// The caller's function between iterations; what it raises ends the solve and is raised again.
struct CalledBetween {
  Callable f;
  bool operator()(const Iteration& i) const {
    const nb::gil_scoped_acquire locked;
    const nb::object answer = f()(nb::cast(i));
    return !answer.is(nb::bool_(false));
  }
};

int traverse_options(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* callback = nb::inst_ptr<SolveOptions>(self)->callback.target<CalledBetween>();
  return callback ? callback->f.traverse_alone(visit, arg) : 0;
}
PyType_Slot options_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_options)},
                               {0, nullptr}};

SolveOptions make_options(nb::handle x0, double rtol, double atol, i64 maxiter, nb::handle callback,
                          bool progress, nb::handle checkpoint, i64 check_every) {
  SolveOptions o;
  o.rtol = rtol;
  o.atol = atol;
  o.maxiter = maxiter;
  o.progress = progress;
  if (!x0.is_none()) o.x0 = as_array(x0, "x0");
  if (!callback.is_none()) o.callback = CalledBetween{Callable(callback)};
  o.checkpoint = checkpoint_from(checkpoint);
  o.check_every = check_every;
  o.poll = &check_signals;
  return o;
}

nb::object array_or_none(const Array& a) { return a ? wrap(a) : nb::object(nb::none()); }

constexpr const char* getstate = "def __getstate__(self) -> tuple[typing.Any, ...]";
constexpr const char* setstate = "def __setstate__(self, state: tuple[typing.Any, ...], /) -> None";

Array array_or_nothing(nb::handle h) { return h.is_none() ? Array() : as_array(h, "unpickling"); }

void set_iteration(Iteration* self, const nb::tuple& s) {
  require<ArgumentError>(s.size() == 3, "unpickling: an Iteration of ", s.size(),
                         " fields, expected 3");
  new (self) Iteration{int_from(nb::object(s[0]), "unpickling"), nb::cast<double>(s[1]),
                       array_or_nothing(s[2])};
}

void bind_options(nb::module_& m) {
  nb::class_<SolveOptions>(m, "_SolveOptions", nb::type_slots(options_slots));
  m.def("_solve_options", &make_options, "x0"_a.none(), "rtol"_a, "atol"_a, "maxiter"_a,
        "callback"_a.none(), "progress"_a, "checkpoint"_a.none(), "check_every"_a,
        nb::sig("def _solve_options(x0: ArrayLike | None, rtol: float, atol: float, maxiter: int, "
                "callback: typing.Callable[[Iteration], typing.Any] | None, progress: bool, "
                "checkpoint: typing.Any, check_every: int) -> _SolveOptions"));
  m.def(
      "_with_parameters",
      [](const std::string& solver, const std::vector<std::string>& arguments,
         const std::string& doc) { return with_parameters(solver, arguments, doc); },
      "solver"_a, "arguments"_a, "doc"_a,
      nb::sig("def _with_parameters(solver: str, arguments: list[str], doc: str) -> str"));
  nb::class_<Checkpoint>(m, "Checkpoint",
                         "A file from which a solve that was killed goes on, bit for bit.\n\n"
                         "Written every ``every`` iterations (0: by time alone) and at least every "
                         "``seconds``, and when\nthe solve ends. A checkpoint of another problem "
                         "is refused.\n\n"
                         ">>> c = ts.solve.Checkpoint('run.npz', every=100)\n"
                         ">>> c.path, c.every\n('run.npz', 100)\n")
      .def(
          "__init__",
          [](Checkpoint* c, nb::handle path, i64 every, double seconds) {
            new (c) Checkpoint(checkpoint_from(path));
            c->every = every;
            c->seconds = seconds;
          },
          "path"_a, "every"_a = 0, "seconds"_a = 60.0,
          nb::sig("def __init__(self, path: str | os.PathLike[str], every: int = 0, seconds: float "
                  "= 60.0) -> None"))
      .def_ro("path", &Checkpoint::path, "Where the file is.")
      .def_ro("every", &Checkpoint::every, "Iterations between two writes.")
      .def_ro("seconds", &Checkpoint::seconds, "Most seconds between two writes.");
  nb::class_<Iteration>(m, "Iteration",
                        "What a solver's callback gets.\n\n"
                        ">>> seen = []\n>>> r = ts.solve.cg(ts.Diagonal([1.0, 2.0], ('X',)), [1.0, "
                        "1.0], callback=lambda i: seen.append(i.residual))\n"
                        ">>> len(seen) == r.iterations\nTrue\n")
      .def_ro("number", &Iteration::number, "1, 2, …")
      .def_ro("residual", &Iteration::residual, "The solver's measure, as in the history.")
      .def_prop_ro(
          "x",
          [](const Iteration& i) { return i.stored ? nb::cast(*i.stored) : array_or_none(i.x); },
          nb::sig("def x(self) -> Array | StoredArray | None"),
          "The solver's own iterate: copy it to keep it. On disk where the solver's vectors are.")
      .def(
          "__getstate__",
          [](const Iteration& i) {
            return nb::make_tuple(i.number, i.residual,
                                  i.x ? wrap(i.x.copy()) : nb::object(nb::none()));
          },
          nb::sig(getstate))
      .def("__setstate__", &set_iteration, nb::sig(setstate));
}

void set_common(SolveResult& r, const nb::tuple& s, std::size_t fields) {
  require<ArgumentError>(s.size() == fields, "unpickling: a result of ", s.size(),
                         " fields, expected ", fields);
  r.x = array_or_nothing(s[0]);
  r.iterations = int_from(nb::object(s[1]), "unpickling");
  r.converged = nb::cast<bool>(s[2]);
  r.reason = nb::cast<std::string>(s[3]);
  for (nb::handle v : nb::borrow(s[4])) r.history.push_back(nb::cast<double>(v));
}

// What a pickle keeps of a result: the fields of all, then the arrays of its class.
template <auto... arrays, class R, class... Bases>
void bind_state(nb::class_<R, Bases...>& c) {
  c.def(
      "__getstate__",
      [](const R& r) {
        return nb::make_tuple(array_or_none(r.x), r.iterations, r.converged, r.reason,
                              list_of(r.history), array_or_none(r.*arrays)...);
      },
      nb::sig(getstate));
  c.def(
      "__setstate__",
      [](R* self, const nb::tuple& s) {
        R r;
        std::size_t next = 5;
        set_common(r, s, next + sizeof...(arrays));
        ((r.*arrays = array_or_nothing(s[next++])), ...);
        new (self) R(std::move(r));
      },
      nb::sig(setstate));
}

void bind_results(nb::module_& m) {
  nb::class_<SolveResult> result(
      m, "SolveResult",
      "What a solver found, and how it went.\n\n"
      ">>> r = ts.solve.cg(ts.Scalar(2.0), [4.0]); r.x.tolist(), r.converged\n([2.0], True)\n");
  result
      .def_prop_ro(
          "x", [](const SolveResult& r) { return array_or_none(r.x); },
          nb::sig("def x(self) -> Array"), "The solution.")
      .def_ro("iterations", &SolveResult::iterations, "Iterations made.")
      .def_ro("converged", &SolveResult::converged, "The measure reached the tolerance.")
      .def_ro("reason", &SolveResult::reason, "Why it stopped.")
      .def_prop_ro(
          "history", [](const SolveResult& r) { return list_of(r.history); },
          nb::sig("def history(self) -> list[float]"),
          "The solver's measure, before the first iteration and after each.")
      .def("__repr__",
           [](nb::handle self) {
             const auto& r = nb::cast<const SolveResult&>(self);
             return nb::str(cat("<", nb::cast<std::string>(self.type().attr("__name__")), ": ",
                                r.iterations, " iterations, ", r.reason, ">")
                                .c_str());
           })
      .def(
          "_repr_html_",
          [](nb::handle self) {
            return nb::module_::import_("tessera._views").attr("result")(self);
          },
          nb::sig("def _repr_html_(self) -> str"));
  bind_state<>(result);
  nb::class_<EigenResult, SolveResult> eigen(
      m, "EigenResult",
      "Eigenvalues and eigenvectors, and how they were found.\n\n"
      ">>> r = ts.solve.lanczos(ts.Diagonal([1.0, 2.0, 5.0], ('X',)), k=1)\n"
      ">>> round(r.eigenvalues.tolist()[0], 6), r.eigenvectors.shape\n(5.0, (3, 1))\n");
  eigen
      .def_prop_ro(
          "eigenvalues", [](const EigenResult& r) { return array_or_none(r.eigenvalues); },
          nb::sig("def eigenvalues(self) -> Array"), "Real numbers, ascending.")
      .def_prop_ro(
          "eigenvalue", [](const EigenResult& r) { return array_or_none(r.eigenvalues); },
          nb::sig("def eigenvalue(self) -> Array"), "The same as eigenvalues.")
      .def_prop_ro(
          "eigenvectors", [](const EigenResult& r) { return array_or_none(r.eigenvectors); },
          nb::sig("def eigenvectors(self) -> Array"), "Of length one, along the last axis.");
  bind_state<&EigenResult::eigenvalues, &EigenResult::eigenvectors>(eigen);
  nb::class_<SvdResult, SolveResult> svd(
      m, "SvdResult",
      "A singular value decomposition; unpacks to U, S, Vh.\n\n"
      ">>> U, S, Vh = ts.solve.svd(ts.Diagonal([3.0, 1.0, 2.0], ('X',)), k=2)\n"
      ">>> U.shape, S.numpy().round(6).tolist(), Vh.shape\n((3, 2), [3.0, 2.0], (2, 3))\n");
  svd.def_prop_ro(
         "U", [](const SvdResult& r) { return array_or_none(r.U); },
         nb::sig("def U(self) -> Array"), "Left vectors, (*oshape, k).")
      .def_prop_ro(
          "S", [](const SvdResult& r) { return array_or_none(r.S); },
          nb::sig("def S(self) -> Array"), "Singular values, descending.")
      .def_prop_ro(
          "Vh", [](const SvdResult& r) { return array_or_none(r.Vh); },
          nb::sig("def Vh(self) -> Array"), "Right vectors, conjugated, (k, *ishape).")
      .def(
          "__iter__",
          [](const SvdResult& r) {
            return nb::iter(
                nb::make_tuple(array_or_none(r.U), array_or_none(r.S), array_or_none(r.Vh)));
          },
          nb::sig("def __iter__(self) -> typing.Iterator[Array]"));
  bind_state<&SvdResult::U, &SvdResult::S, &SvdResult::Vh>(svd);
}

Prox box_of(double low, double high) { return prox::box(low, high); }

Prox group_of(double lam, nb::handle axes) { return prox::group(lam, shape_from(axes)); }

Prox simplex_of(double total, nb::handle axes) {
  if (axes.is_none()) return prox::simplex(total);
  return prox::simplex(total, shape_from(axes));
}

// Pairs (size, map).
Prox blocks_of(nb::handle blocks, nb::handle axis) {
  std::vector<prox::Block> of;
  for (const nb::object& block : several(blocks).value_or(std::vector<nb::object>{})) {
    const auto pair = several(block);
    require<ArgumentError>(pair && pair->size() == 2,
                           "prox.blocks: expected pairs of a size and a map, got ", repr_of(block));
    of.push_back({int_from((*pair)[0], "prox.blocks"), prox_from((*pair)[1], "prox.blocks")});
  }
  return prox::blocks(of, int_from(axis, "prox.blocks"));
}

Prox squared_of(double lam, nb::handle center) {
  return prox::l2_squared(lam, center.is_none() ? Array() : as_array(center, "prox.l2_squared"));
}

// The function that made it, and its arguments in their order.
nb::tuple reduced_prox(const Prox& p) {
  require<DTypeError>(!p.maker.empty(), "pickle: prox.", p.name, " is a function of C++");
  nb::list arguments;
  if (p.maker == "blocks") {
    nb::list pairs;
    for (std::size_t i = 0; i < p.parts.size(); ++i)
      pairs.append(nb::make_tuple(static_cast<i64>(p.numbers[i]), p.parts[i]));
    arguments.append(pairs);
    arguments.append((*p.axes)[0]);
  } else {
    for (const double v : p.numbers) arguments.append(v);
  }
  if (p.axes && p.maker != "blocks") arguments.append(tuple_of(*p.axes));
  if (p.center) arguments.append(wrap(p.center));
  const nb::module_ core = nb::module_::import_("tessera._tessera");
  return nb::make_tuple(core.attr(cat("_prox_", p.maker).c_str()), nb::tuple(arguments));
}

void bind_prox(nb::module_& m) {
  nb::class_<Prox>(m, "Prox",
                   "A proximal map, argmin_x f(x) + |x - v|^2 / (2 t); made by ts.solve.prox.\n\n"
                   ">>> p = ts.solve.prox.l1(1.0); p([3.0, -0.5], 1.0).tolist()\n[2.0, 0.0]\n")
      .def(
          "__call__",
          [](const Prox& p, nb::handle v, double t) {
            const Array x = as_array(v, "prox");
            return wrap(released([&] { return apply_prox(p, x, t); }));
          },
          "v"_a, "t"_a = 1.0, nb::sig("def __call__(self, v: ArrayLike, t: float = 1.0) -> Array"))
      .def_ro("name", &Prox::name, "Which map it is.")
      .def("__reduce__", &reduced_prox, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__repr__", [](const Prox& p) { return nb::str(cat("prox.", p.name).c_str()); });
  m.def("_prox_none", &prox::none);
  m.def("_prox_l1", &prox::l1, "lam"_a);
  m.def("_prox_l2", &prox::l2, "lam"_a);
  m.def("_prox_nonneg", &prox::nonneg);
  m.def("_prox_box", &box_of, "low"_a, "high"_a);
  m.def("_prox_l2_squared", &squared_of, "lam"_a, "center"_a.none() = nb::none(),
        nb::sig("def _prox_l2_squared(lam: float, center: ArrayLike | None = None) -> Prox"));
  m.def("_prox_simplex", &simplex_of, "total"_a, "axes"_a.none() = nb::none(),
        nb::sig("def _prox_simplex(total: float, axes: int | typing.Sequence[int] | None = None) "
                "-> Prox"));
  m.def("_prox_blocks", &blocks_of, "blocks"_a, "axis"_a,
        nb::sig("def _prox_blocks(blocks: typing.Any, axis: int) -> Prox"));
  m.def("_prox_group", &group_of, "lam"_a, "axes"_a,
        nb::sig("def _prox_group(lam: float, axes: int | typing.Sequence[int]) -> Prox"));
}

}  // namespace

nb::list list_of(const std::vector<double>& v) {
  nb::list l;
  for (const double x : v) l.append(x);
  return l;
}

std::optional<NamedLinop> linop_or_none(nb::handle h, std::string_view who) {
  if (h.is_none()) return std::nullopt;
  return linop_from(h, who);
}

Which which_from(const std::string& name) {
  if (name == "LM") return Which::magnitude;
  if (name == "LA") return Which::largest;
  if (name == "SA") return Which::smallest;
  require<ArgumentError>(name == "BE", "lanczos: which is '", name,
                         "', expected 'LM', 'LA', 'SA' or 'BE'");
  return Which::both_ends;
}

FistaSettings fista_settings(nb::handle step, bool momentum, bool restart) {
  if (nb::isinstance<nb::str>(step)) {
    const std::string word = nb::cast<std::string>(step);
    require<ArgumentError>(word == "search", "fista: step '", word,
                           "'; expected a number, 'search', or None for that of the power method");
    return {0, momentum, restart, true};
  }
  return {step.is_none() ? 0.0 : nb::cast<double>(step), momentum, restart};
}

namespace {

ProxPass::Target target_from(const std::string& word) {
  if (word == "vector") return ProxPass::Target::vector;
  return word == "kept" ? ProxPass::Target::kept : ProxPass::Target::nothing;
}

// A Pass of tessera/_array_prox.py.
ProxPass pass_from(nb::handle pass) {
  const auto shape = [&](const char* name) { return shape_from(pass.attr(name)); };
  ProxPass p{shape("begin"), shape("shape"), shape("blocks"), shape("shift"), {}, false, {}};
  p.target = target_from(nb::cast<std::string>(pass.attr("target")));
  p.reads_kept = nb::cast<bool>(pass.attr("reads_kept"));
  p.map = [f = Callable(pass.attr("map"))](const Array& v, const Array& kept, const Shape& begin) {
    const nb::gil_scoped_acquire locked;
    const nb::object other = kept ? nb::object(wrap(kept.copy())) : nb::none();
    const nb::object found = f()(wrap(v.copy()), other, tuple_of(begin));
    return found.is_none() ? Array() : as_array(found, "prox");
  };
  return p;
}

}  // namespace

Prox prox_from(nb::handle h, std::string_view who) {
  if (h.is_none()) return prox::none();
  if (nb::isinstance<Prox>(h)) return nb::cast<Prox>(h);
  require<DTypeError>(
      PyCallable_Check(h.ptr()) != 0, who,
      ": expected one of ts.solve.prox or a function of an array and a number, got ",
      Py_TYPE(h.ptr())->tp_name);
  // A name tells one function from another in checkpoints.
  const nb::object name = nb::getattr(h, "name", nb::none());
  const std::string called =
      nb::isinstance<nb::str>(name) ? nb::cast<std::string>(name) : "function";
  Prox p = prox::function(called, [f = Callable(h)](const Array& v, double t) {
    const nb::gil_scoped_acquire locked;
    return as_array(f()(wrap(v.copy()), t), "prox");
  });
  const nb::object numbered = nb::getattr(h, "at_iteration", nb::none());
  if (!numbered.is_none())
    p.numbered = [f = Callable(numbered)](const Array& v, double t, i64 iteration) {
      const nb::gil_scoped_acquire locked;
      return as_array(f()(wrap(v.copy()), t, iteration), "prox");
    };
  const nb::object passes = nb::getattr(h, "_passes", nb::none());
  if (!passes.is_none())
    p.passes = [f = Callable(passes)](const Shape& shape, DType dtype, double t, i64 iteration,
                                      i64 room) {
      const nb::gil_scoped_acquire locked;
      std::vector<ProxPass> all;
      for (const nb::handle pass : f()(tuple_of(shape), size_of(dtype), t, iteration, room))
        all.push_back(pass_from(pass));
      return all;
    };
  return p;
}

std::optional<std::vector<nb::object>> several(nb::handle h) {
  if (!PyList_Check(h.ptr()) && !PyTuple_Check(h.ptr())) return std::nullopt;
  std::vector<nb::object> items;
  for (const nb::handle item : h) items.push_back(nb::borrow(item));
  return items;
}

PdhgParts::PdhgParts(nb::handle a, nb::handle b, nb::handle f) {
  const auto list = several(a);
  if (!list) {
    operators = {nb::borrow(a)};
    bs = {nb::borrow(b)};
    fs = {nb::borrow(f)};
    return;
  }
  operators = *list;
  require<ArgumentError>(!operators.empty(), "pdhg: a list of no operators");
  bs = several(b).value_or(std::vector<nb::object>{});
  fs = f.is_none() ? std::vector<nb::object>(operators.size(), nb::none())
                   : several(f).value_or(std::vector<nb::object>{});
  require<ArgumentError>(bs.size() == operators.size() && fs.size() == operators.size(),
                         "pdhg: ", operators.size(), " operators beside ", bs.size(), " of b and ",
                         fs.size(), " of f; expected lists of one length");
  require<ArgumentError>(!bs.front().is_none(), "pdhg: the first b is None; expected an array");
}

Prox PdhgParts::f(std::size_t i) const {
  return fs[i].is_none() ? prox::l2_squared(1) : prox_from(fs[i], "pdhg");
}

void bind_solve_options(nb::module_& m) {
  bind_options(m);
  bind_results(m);
  bind_prox(m);
}

}  // namespace tessera::python
