// SPDX-License-Identifier: Apache-2.0
// Pickles and files of operators: their description (linop/state.hpp) and, for operators made of
// Python functions, these.
#include "callables.hpp"
#include "operators.hpp"
#include "tessera/linop/ops/simple_linop.hpp"
#include "tessera/matrix/operator.hpp"
#include "tessera/solve/polynomial_preconditioner.hpp"
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

nb::object function_of(const SimpleLinop::Function& f, const NamedLinop& a) {
  if (!f) return nb::none();
  const CalledFunction* called = f.target<CalledFunction>();
  require<DTypeError>(called != nullptr, "pickle: ", a, " holds functions of C++");
  return called->f();
}

// The arguments that make an operator of Python functions again.
nb::object functions_of(const NamedLinop& a) {
  const auto* s = a.as<SimpleLinop>();
  require<DTypeError>(s != nullptr, "pickle: ", a,
                      " has a place in a group of ranks; pickle the operator it was made of");
  nb::dict sizes;
  for (const auto& [d, n] : s->sizes) sizes[nb::cast(d)] = n;
  return nb::make_tuple(function_of(s->forward, a), function_of(s->backward, a),
                        function_of(s->own_normal, a), tuple_of(s->names.ishape),
                        tuple_of(s->names.oshape),
                        s->label.empty() ? nb::none() : nb::object(nb::str(s->label.c_str())),
                        sizes, dtype_object(s->least));
}

// (text, arrays, functions): what `_restore_linop` takes.
nb::tuple state_of(const NamedLinop& a) {
  nb::list functions, arrays;
  const LinopDescription d = describe(a, [&](const NamedLinop& part) {
    functions.append(functions_of(part));
    return static_cast<i64>(functions.size()) - 1;
  });
  for (const Array& x : d.arrays) arrays.append(wrap(x));
  return nb::make_tuple(nb::str(d.text.c_str(), d.text.size()), arrays, functions);
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
  c.def(
      "__reduce__",
      [](const LinopObject& a) {
        return nb::make_tuple(nb::module_::import_("tessera._pickle").attr("restored"),
                              state_of(a.op));
      },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.def("_restore_linop", &restored, "text"_a, "arrays"_a, "functions"_a,
        nb::sig("def _restore_linop(text: str, arrays: typing.Sequence[Array], functions: "
                "typing.Sequence[NamedLinop]) -> NamedLinop"));
}

}  // namespace tessera::python
