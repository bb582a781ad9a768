// SPDX-License-Identifier: Apache-2.0
// Calls whose arguments do not fit a signature. nanobind lists signatures; people get a sentence
// with the operator, the argument, what was given and what was expected. A call that succeeds costs
// one more jump; everything else here runs after it has failed.
#include <algorithm>
#include <unordered_map>

#include "operators.hpp"

namespace tessera::python {

namespace {

struct Parameter {
  std::string name, type;
  bool optional = false, many = false;  // many: *linops
};

// What a signature of nanobind says: "def f(a: int, *b, c: str | None = \0) -> object".
std::vector<Parameter> parameters_of(std::string_view signature) {
  std::vector<Parameter> all;
  const std::size_t open = signature.find('(');
  int depth = 0;
  std::string one;
  for (const char c : signature.substr(open + 1)) {
    if (depth == 0 && (c == ',' || c == ')')) {
      Parameter p;
      const std::size_t colon = one.find(": "), equals = one.find(" = ");
      p.optional = equals != std::string::npos;
      p.name = one.substr(0, std::min(colon, equals));
      if (colon != std::string::npos) p.type = one.substr(colon + 2, equals - colon - 2);
      if (p.name.starts_with('*')) {
        p.many = true;
        p.name.erase(0, 1);
      }
      if (!p.name.empty() && p.name != "/") all.push_back(std::move(p));
      one.clear();
      if (c == ')') break;
      continue;
    }
    depth += (c == '[') - (c == ']');
    if (!(one.empty() && c == ' ')) one += c;
  }
  return all;
}

// The signature that people see: of a class the one of its constructor, without the class.
std::vector<Parameter> parameters_of(nb::handle callable) {
  const bool made = PyType_Check(callable.ptr());
  const nb::object function = made ? nb::object(callable.attr("__new__")) : nb::borrow(callable);
  const nb::object overloads = function.attr("__nb_signature__");
  const nb::object last = overloads[nb::len(overloads) - 1];
  std::vector<Parameter> all = parameters_of(nb::cast<std::string>(last[0]));
  if (made) all.erase(all.begin());
  return all;
}

bool fits(nb::handle value, std::string_view type) {
  PyObject* const p = value.ptr();
  if (p == Py_None) return type.ends_with("| None");
  if (type.ends_with(" | None")) type.remove_suffix(7);
  if (type == "int") return PyIndex_Check(p) != 0;
  if (type == "float") return PyFloat_Check(p) || nb::hasattr(value, "__float__");
  if (type == "bool") return PyBool_Check(p);
  if (type == "str") return PyUnicode_Check(p);
  return true;  // taken as any object, and read with a sentence of its own
}

std::string shown(nb::handle value) {
  if (value.is_none()) return "None";
  std::string text = nb::repr(value).c_str();
  if (text.size() > 40) text = cat(text.substr(0, 37), "...");
  return cat(text, " of type ", Py_TYPE(value.ptr())->tp_name);
}

std::string names_of(const std::vector<Parameter>& all) {
  std::string text;
  for (const Parameter& p : all) text += cat(text.empty() ? "" : ", ", p.many ? "*" : "", p.name);
  return text.empty() ? "no arguments" : text;
}

// What does not fit, in words.
std::string sentence(const std::string& who, nb::handle callable, PyObject* const* args, i64 count,
                     nb::handle keywords) {
  const std::vector<Parameter> known = parameters_of(callable);
  std::vector<nb::handle> given(known.size());
  std::size_t place = 0;
  for (i64 i = 0; i < count; ++i) {
    if (place < known.size() && known[place].many) continue;
    if (place >= known.size())
      return cat(who, ": ", count, " arguments are given; it takes ", names_of(known));
    given[place++] = args[i];
  }
  const i64 named = keywords.is_valid() ? static_cast<i64>(nb::len(keywords)) : 0;
  for (i64 k = 0; k < named; ++k) {
    const std::string word = nb::cast<std::string>(nb::object(keywords[k]));
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const Parameter& p) { return p.name == word && !p.many; });
    if (it == known.end())
      return cat(who, ": there is no argument '", word, "'; it takes ", names_of(known));
    nb::handle& slot = given[static_cast<std::size_t>(it - known.begin())];
    if (slot.is_valid()) return cat(who, ": argument '", word, "' is given twice");
    slot = args[count + k];
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Parameter& p = known[i];
    if (!given[i].is_valid() && !p.optional && !p.many)
      return cat(who, ": argument '", p.name, "' is missing; expected ", p.type);
    if (given[i].is_valid() && !fits(given[i], p.type))
      return cat(who, ": argument '", p.name, "' is ", shown(given[i]), "; expected ", p.type);
  }
  return cat(who, ": the arguments do not fit; it takes ", names_of(known));
}

// Called with an error set: nanobind's list of signatures becomes a sentence, others stay.
void tell(const std::string& who, nb::handle callable, PyObject* const* args, std::size_t nargsf,
          PyObject* keywords) noexcept {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  nb::python_error raised;  // takes the error
  try {
    const std::string text = nb::str(raised.value()).c_str();
    const bool listed = text.find("(): incompatible function arguments.") != std::string::npos;
    if (!listed || !nb::handle(PyExc_TypeError).is(raised.type())) return raised.restore();
    PyErr_SetString(PyExc_TypeError,
                    sentence(who, callable, args, PyVectorcall_NARGS(nargsf), keywords).c_str());
  } catch (...) {
    PyErr_Clear();
    raised.restore();
  }
}

vectorcallfunc& call_of(nb::handle function) {
  const Py_ssize_t at = Py_TYPE(function.ptr())->tp_vectorcall_offset;
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) + at);
}

vectorcallfunc make_instance = nullptr;  // nanobind's own, the same for all its classes

PyObject* call_class(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
  PyObject* made = make_instance(self, args, nargsf, names);
  if (!made) tell(class_name(self), self, args, nargsf, names);
  return made;
}

struct Told {
  vectorcallfunc call;
  std::string who;
};
std::unordered_map<PyObject*, Told>& told() {
  static auto* t = new std::unordered_map<PyObject*, Told>;  // the classes own the functions
  return *t;
}

PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t nargsf,
                        PyObject* names) {
  const Told& f = told().find(self)->second;
  PyObject* result = f.call(self, args, nargsf, names);
  if (!result) tell(f.who, self, args, nargsf, names);
  return result;
}

}  // namespace

void explain_calls(nb::handle operator_class) {
  auto* type = reinterpret_cast<PyTypeObject*>(operator_class.ptr());
  if (!make_instance) make_instance = type->tp_vectorcall;
  type->tp_vectorcall = &call_class;
}

void explain_calls(nb::handle function, std::string who) {
  told().emplace(function.ptr(), Told{call_of(function), std::move(who)});
  call_of(function) = &call_function;
}

}  // namespace tessera::python
