// SPDX-License-Identifier: Apache-2.0
// Pickles and files of operators: their description (linop/state.hpp) and, for operators made of
// Python functions, these.
#include "core/callables.hpp"
#include "linop/operators.hpp"
#include "linop/written.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/matrix/products/operator.hpp"
#include "tessera/solve/core/polynomial_preconditioner.hpp"
#include "tessera/split/async_streamer.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

OperatorReaders every_reader() {
  OperatorReaders all = linop_readers();
  for (const OperatorReaders& more : {matrix_readers(), split_readers(), solve_readers()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <class Called, class F>
nb::object function_of(const F& f, const SimpleLinop& s) {
  if (!f) return nb::none();
  const Called* called = f.template target<Called>();
  require<DTypeError>(called != nullptr, "pickle: SimpleLinop ", s.names.str(),
                      " holds functions of C++");
  return called->f();
}

Renames renames_between(const NamedShape& from, const NamedShape& to) {
  Renames r;
  for (const auto& [a, b] : {std::pair(from.ishape, to.ishape), {from.oshape, to.oshape}})
    for (i64 i = 0; i < a.size(); ++i) r.emplace_back(a[i], b[i]);
  return r;
}

// The arguments of SimpleLinop.
nb::tuple arguments_of(const SimpleLinop& s) {
  const SimpleLinop::Calls& c = s.calls;
  nb::dict sizes;
  for (const auto& [d, n] : renamed_sizes(s.sizes, renames_between(s.names, s.first_names())))
    sizes[nb::cast(d)] = n;
  return nb::make_tuple(function_of<CalledFunction>(c.forward, s),
                        function_of<CalledFunction>(c.backward, s),
                        function_of<CalledFunction>(c.normal, s), tuple_of(s.first_names().ishape),
                        tuple_of(s.first_names().oshape),
                        s.label.empty() ? nb::none() : nb::object(nb::str(s.label.c_str())), sizes,
                        dtype_object(s.least), function_of<CalledSplit>(c.split, s),
                        function_of<CalledSize>(c.size, s));
}

// (form, of what, names): "H" or "N" of another one, "written" by a class or made of "functions".
nb::object functions_of(const SimpleLinop& s) {
  const nb::tuple names = nb::make_tuple(tuple_of(s.names.ishape), tuple_of(s.names.oshape));
  if (s.flipped()) return nb::make_tuple("H", functions_of(s.adjoint()), names);
  if (s.normal_of()) return nb::make_tuple("N", functions_of(*s.normal_of()), names);
  const nb::object written = written_state(s);
  if (!written.is_none()) return nb::make_tuple("written", written, names);
  return nb::make_tuple("functions", arguments_of(s), names);
}

nb::object foreign_part(const NamedLinop& a) {
  const auto* s = a.as<SimpleLinop>();
  require<DTypeError>(
      s != nullptr, "pickle: ", a,
      " has a place in a group of ranks, or an array on disk; pickle the operator it "
      "was made of, in memory");
  return functions_of(*s);
}

// (text, arrays, functions): what `_restore_linop` takes.
nb::tuple state_of(const NamedLinop& a) {
  nb::list functions, arrays;
  const LinopDescription d = describe(a, [&](const NamedLinop& part) {
    functions.append(foreign_part(part));
    return static_cast<i64>(functions.size()) - 1;
  });
  for (const Array& x : d.arrays) arrays.append(wrap(x));
  return nb::make_tuple(nb::str(d.text.c_str(), d.text.size()), arrays, functions);
}

nb::tuple reduced(nb::handle self) {
  (void)linop_from(self, "pickle");
  const auto* a = nb::inst_ptr<LinopObject>(self);
  const nb::module_ pickle = nb::module_::import_("tessera._pickle");
  if (const SimpleLinop* s = a->written ? a->op.as<SimpleLinop>() : nullptr)
    return nb::make_tuple(pickle.attr("foreign"), nb::make_tuple(functions_of(*s)));
  return nb::make_tuple(pickle.attr("restored"), state_of(a->op));
}

nb::object restored(const std::string& text, nb::handle arrays, nb::handle functions) {
  LinopDescription d{text, {}};
  for (nb::handle x : nb::borrow(arrays)) d.arrays.push_back(as_array(x, "unpickling"));
  const nb::list made(nb::borrow(functions));
  return wrap_linop(restore(d, every_reader(), [&](i64 i) {
    require<IoError>(i >= 0 && i < static_cast<i64>(made.size()),
                     "unpickling: an operator of functions number ", i, " of ", made.size());
    return linop_from(made[static_cast<std::size_t>(i)], "unpickling");
  }));
}

}  // namespace

void bind_pickle(nb::module_& m, nb::class_<LinopObject>& c) {
  m.def(
      "_linop_state", [](nb::handle a) { return state_of(linop_from(a, "save")); }, "linop"_a,
      nb::sig("def _linop_state(linop: NamedLinop) -> tuple[str, list[Array], list[typing.Any]]"));
  c.def("__reduce__", &reduced, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.def("_restore_linop", &restored, "text"_a, "arrays"_a, "functions"_a,
        nb::sig("def _restore_linop(text: str, arrays: typing.Sequence[Array], functions: "
                "typing.Sequence[NamedLinop]) -> NamedLinop"));
}

}  // namespace tessera::python
