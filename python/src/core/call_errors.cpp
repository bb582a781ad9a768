// SPDX-License-Identifier: Apache-2.0
// Calls whose arguments do not fit a signature. nanobind lists signatures; people get a sentence
// with who was called, the argument, what was given and what was expected. A call that succeeds
// costs one more jump; everything else here runs after it has failed.
#include <algorithm>
#include <array>

#include "core/sequence.hpp"
#include "linop/operators.hpp"
#include "streaming/stored_array.hpp"

namespace tessera::python {

namespace {

struct Parameter {
  std::string name, type;
  bool optional = false, many = false, named = false;  // many: *linops, named: by keyword alone
};

Parameter parameter_of(std::string_view text, bool named) {
  const std::size_t colon = text.find(": "), equals = text.find(" = ");
  Parameter p;
  p.name = text.substr(0, std::min(colon, equals));
  if (colon != std::string_view::npos) p.type = text.substr(colon + 2, equals - colon - 2);
  constexpr std::string_view compiled =
      "_tessera.";  // tessera._tessera.Array is tessera.Array to people
  for (std::size_t at = 0; (at = p.type.find(compiled, at)) != std::string::npos;)
    p.type.erase(at, compiled.size());
  p.optional = equals != std::string_view::npos;
  p.many = p.name.starts_with('*');
  p.named = named;
  p.name.erase(0, p.name.find_first_not_of('*'));
  return p;
}

// What a signature of nanobind says: "def f(a: int, *b, c: str | None = \0) -> object".
std::vector<Parameter> parameters_of(std::string_view signature) {
  signature.remove_prefix(signature.rfind("def ") + 4);  // the last where it lists several
  std::vector<Parameter> all;
  int depth = 0;
  bool named = false;
  std::string one;
  for (const char c : signature.substr(signature.find('(') + 1)) {
    if (depth == 0 && (c == ',' || c == ')')) {
      if (!one.empty() && one != "/" && one != "*") all.push_back(parameter_of(one, named));
      named = named || one.starts_with('*');
      one.clear();
      if (c == ')') break;
      continue;
    }
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (!(one.empty() && c == ' ')) one += c;
  }
  return all;
}

bool is_method(nb::handle function) {
  return PyType_HasFeature(Py_TYPE(function.ptr()), Py_TPFLAGS_METHOD_DESCRIPTOR) != 0;
}

// Without the object or class that the function is called on; of several signatures the shortest.
std::vector<Parameter> parameters_of(nb::handle function, bool bound) {
  std::vector<Parameter> shortest;
  const nb::object overloads = function.attr("__nb_signature__");
  std::size_t left = nb::len(overloads);
  for (nb::handle overload : overloads) {
    std::vector<Parameter> all = parameters_of(nb::cast<std::string>(overload[0]));
    // nb::new_ begins with one that unpickling calls
    const bool hidden = all.size() == 1 && all[0].name == "arg" && left > 1;
    --left;
    if (hidden) continue;
    if (shortest.empty() || all.size() < shortest.size()) shortest = std::move(all);
  }
  if (bound && !shortest.empty()) shortest.erase(shortest.begin());
  return shortest;
}

// Whether a value may be of a type that a signature names; true where only the function can tell.
bool fits(nb::handle function, nb::handle value, std::string_view type) {
  if (const std::size_t bar = type.rfind(" | "); bar != std::string_view::npos)
    return fits(function, value, type.substr(0, bar)) ||
           fits(function, value, type.substr(bar + 3));
  PyObject* const p = value.ptr();
  if (type == "None" || type == "typing.Any") return type != "None" || p == Py_None;
  if (p == Py_None) return false;
  if (type == "int") return PyIndex_Check(p) != 0;
  if (type == "float") return PyFloat_Check(p) || nb::hasattr(value, "__float__");
  if (type == "bool") return PyBool_Check(p);
  if (type == "str") return PyUnicode_Check(p);
  if (type.starts_with("dict[")) return PyDict_Check(p);
  if (type.starts_with("typing.Callable")) return PyCallable_Check(p) != 0;
  const std::string name(type.substr(type.rfind('.') + 1));
  const nb::object home = nb::module_::import_(nb::str(function.attr("__module__")).c_str());
  const nb::object found = nb::getattr(home, name.c_str(), nb::none());
  return !nb::isinstance<nb::type_object>(found) || nb::isinstance(value, found);
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

struct Call {
  nb::handle function;
  PyObject* const* args;  // the values of the keywords stand behind the others
  i64 count;
  nb::handle keywords;
};

// Who was called: "Dense" of its constructor, "Dense.rename", "cg" of what Python's cg calls.
std::string caller_of(const Call& c, std::string owner, bool bound) {
  std::string name = nb::cast<std::string>(c.function.attr("__name__"));
  if (name.starts_with('_') && !name.starts_with("__")) {  // private: people called what calls it
    PyFrameObject* frame = PyEval_GetFrame();
    if (!frame) return name.substr(1);
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    return nb::cast<std::string>(code.attr("co_name"));
  }
  if (bound && c.count > 0) {
    PyObject* const self = c.args[0];
    const nb::handle type = PyType_Check(self) ? self : reinterpret_cast<PyObject*>(Py_TYPE(self));
    if (nb::type_check(type)) owner = class_name(type);
  }
  if (name == "__new__" || name == "__init__" || name == "__call__") return owner;
  return owner.empty() ? name : cat(owner, ".", name);
}

// Whether an argument takes True and False, and nothing that other flags are as well.
bool takes_flags(std::string_view type) {
  return type == "bool" || type == "bool | None" || type == "None | bool";
}

// What does not fit, in words.
std::string sentence(const Call& c) {
  const bool made = nb::cast<std::string>(c.function.attr("__name__")) == "__new__";
  const bool bound = made || is_method(c.function);
  const std::string path = nb::cast<std::string>(c.function.attr("__qualname__"));
  const std::string owner = path.substr(0, path.find('.') == path.npos ? 0 : path.rfind('.'));
  const std::string who = caller_of(c, owner, bound);
  if (bound && !made && c.count > 0 && !fits(c.function, c.args[0], owner))
    return cat(who, ": called on ", shown(c.args[0]), "; expected ", owner);
  const std::vector<Parameter> known = parameters_of(c.function, bound);
  const i64 first = bound && c.count > 0 ? 1 : 0;
  std::vector<nb::handle> given(known.size());
  std::size_t place = 0;
  for (i64 i = first; i < c.count; ++i) {
    if (place < known.size() && known[place].many) continue;
    if (place >= known.size() || known[place].named)
      return cat(who, ": ", c.count - first, " arguments are given; it takes ", names_of(known));
    given[place++] = c.args[i];
  }
  const i64 named = c.keywords.is_valid() ? static_cast<i64>(nb::len(c.keywords)) : 0;
  for (i64 k = 0; k < named; ++k) {
    const std::string word = nb::cast<std::string>(nb::object(c.keywords[k]));
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const Parameter& p) { return p.name == word && !p.many; });
    if (it == known.end())
      return cat(who, ": there is no argument '", word, "'; it takes ", names_of(known));
    nb::handle& slot = given[static_cast<std::size_t>(it - known.begin())];
    if (slot.is_valid()) return cat(who, ": argument '", word, "' is given twice");
    slot = c.args[c.count + k];
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Parameter& p = known[i];
    const std::string expected = p.type.empty() ? "" : cat("; expected ", p.type);
    if (!given[i].is_valid() && !p.optional && !p.many)
      return cat(who, ": argument '", p.name, "' is missing", expected);
    if (given[i].is_valid() && !fits(c.function, given[i], p.type))
      return cat(who, ": argument '", p.name, "' is ", shown(given[i]), expected);
  }
  std::string types;
  for (i64 i = first; i < c.count + named; ++i)
    types += cat(types.empty() ? "" : ", ", Py_TYPE(c.args[i])->tp_name);
  return cat(who, ": values of type ", types, " do not fit; it takes ", names_of(known));
}

// nanobind's list of signatures, of this function: one that somebody gave us may call other modules
// of nanobind.
bool is_refusal_of_arguments(const Call& c, const nb::python_error& raised) {
  if (!nb::handle(PyExc_TypeError).is(raised.type())) return false;
  const std::string text = nb::str(raised.value()).c_str();
  const std::string name = nb::cast<std::string>(c.function.attr("__name__"));
  return text.starts_with(cat(name, "(): incompatible function arguments."));
}

// Called with an error set: nanobind's list of signatures becomes a sentence, others stay.
void tell(const Call& c) noexcept {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  nb::python_error raised;  // takes the error
  try {
    if (!is_refusal_of_arguments(c, raised)) return raised.restore();
    const nb::object told = nb::borrow(PyExc_TypeError)(sentence(c));
    told.attr("arguments_refused") = true;  // for those who know another function (_numpy.py)
    PyErr_SetObject(PyExc_TypeError, told.ptr());
  } catch (...) {
    PyErr_Clear();
    raised.restore();
  }
}

// The call again with flags of Python in place of others, where it was refused for them. Called
// with an error set; nothing: it stays.
PyObject* call_with_flags(const Call& c, vectorcallfunc call) noexcept {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return nullptr;
  nb::python_error raised;  // takes the error
  try {
    if (is_refusal_of_arguments(c, raised)) {
      const bool bound =
          nb::cast<std::string>(c.function.attr("__name__")) == "__new__" || is_method(c.function);
      const std::vector<Parameter> known = parameters_of(c.function, bound);
      const i64 first = bound && c.count > 0 ? 1 : 0;
      const i64 named = c.keywords.is_valid() ? static_cast<i64>(nb::len(c.keywords)) : 0;
      std::vector<PyObject*> given(c.args, c.args + c.count + named);
      bool any = false;
      for (i64 i = first; i < c.count + named; ++i) {
        const std::string word =
            i < c.count ? "" : nb::cast<std::string>(nb::object(c.keywords[i - c.count]));
        const auto it = i < c.count
                            ? known.begin() + std::min<i64>(i - first, std::ssize(known))
                            : std::find_if(known.begin(), known.end(),
                                           [&](const Parameter& p) { return p.name == word; });
        if (it == known.end() || it->many || !takes_flags(it->type)) continue;
        PyObject*& one = given[static_cast<std::size_t>(i)];
        const nb::handle flag = flag_of(one);
        any = any || flag.is_valid();
        if (flag.is_valid()) one = flag.ptr();
      }
      if (any)
        return call(c.function.ptr(), given.data(), static_cast<std::size_t>(c.count),
                    c.keywords.ptr());
    }
    raised.restore();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (...) {
    raised.restore();
  }
  return nullptr;
}

// A function that refused arrays which are not in memory may have a twin that takes them
// (tessera/stored.py). Called with an error set; nothing: it stays.
PyObject* call_stored(const Call& c) noexcept {
  const i64 named =
      c.keywords.is_valid() ? static_cast<i64>(PyTuple_GET_SIZE(c.keywords.ptr())) : 0;
  bool stored = false;
  for (i64 i = 0; i < c.count + named; ++i)
    stored = stored || is_stored(c.args[i]) || is_stored_matrix(c.args[i]);
  if (!stored) return nullptr;
  // A method of such arrays has done what it can: its twin is itself.
  const std::string_view kind = class_name(reinterpret_cast<PyObject*>(Py_TYPE(c.function.ptr())));
  if (kind == "nb_method" && c.count > 0 && is_stored(c.args[0])) return nullptr;
  nb::python_error raised;  // takes the error
  try {
    const nb::object twin =
        nb::module_::import_("tessera.stored").attr("_twin")(c.function.attr("__name__"));
    if (twin.is_none()) {
      raised.restore();
      return nullptr;
    }
    return PyObject_Vectorcall(twin.ptr(), c.args, static_cast<std::size_t>(c.count),
                               c.keywords.ptr());
  } catch (nb::python_error& e) {
    e.restore();
  } catch (...) {
    raised.restore();
  }
  return nullptr;
}

bool is_called_by_package() {
  PyObject* const globals = PyEval_GetGlobals();  // borrowed; nothing without a frame
  PyObject* const name = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  return name && PyUnicode_Check(name) &&
         nb::cast<std::string>(nb::handle(name)).starts_with("tessera.");
}

// An array that people asked for and memory has no room for may be made on disk
// (tessera/_larger.py). Called with an error set; nothing: it stays, or says more.
PyObject* call_on_disk(const Call& c) noexcept {
  if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return nullptr;
  nb::python_error raised;  // takes the error
  try {
    if (nb::cast<std::string>(c.function.attr("__module__")).ends_with("._tessera") &&
        !is_method(c.function) && !is_called_by_package()) {
      nb::dict options;
      nb::list given;
      for (i64 i = 0; i < c.count; ++i) given.append(nb::handle(c.args[i]));
      if (c.keywords.is_valid())
        for (i64 i = 0; i < PyTuple_GET_SIZE(c.keywords.ptr()); ++i)
          options[nb::handle(PyTuple_GET_ITEM(c.keywords.ptr(), i))] =
              nb::handle(c.args[c.count + i]);
      nb::object found = nb::module_::import_("tessera._larger")
                             .attr("_instead")(c.function.attr("__name__"), raised.value(),
                                               nb::tuple(given), options);
      if (!found.is_none()) return found.release().ptr();
    }
    raised.restore();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (...) {
    raised.restore();
  }
  return nullptr;
}

vectorcallfunc& call_of(nb::handle function) {
  const Py_ssize_t at = Py_TYPE(function.ptr())->tp_vectorcall_offset;
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) + at);
}

// nanobind calls its functions in a few ways, by their numbers of arguments. Each has a twin here
// that explains a failure, so that a call needs no look-up.
constexpr std::size_t most_ways = 8;
std::array<vectorcallfunc, most_ways> ways{};

template <std::size_t way>
PyObject* call_and_tell(PyObject* self, PyObject* const* args, std::size_t nargsf,
                        PyObject* names) {
  PyObject* result = ways[way](self, args, nargsf, names);
  // nanobind keeps a mark of its own beside the one of Python, above any number of arguments
  if (result) return result;
  const Call call{self, args, static_cast<i64>(nargsf & 0xffffffffU), names};
  result = call_with_flags(call, ways[way]);
  if (result) return result;
  result = call_stored(call);
  if (!result) result = call_on_disk(call);
  if (!result) tell(call);
  return result;
}

template <std::size_t... way>
constexpr std::array<vectorcallfunc, most_ways> twins_of(std::index_sequence<way...>) {
  return {&call_and_tell<way>...};
}
constexpr auto twins = twins_of(std::make_index_sequence<most_ways>());

void explain_function(nb::handle function) {
  const std::string_view kind = class_name(reinterpret_cast<PyObject*>(Py_TYPE(function.ptr())));
  if (kind != "nb_func" && kind != "nb_method") return;
  vectorcallfunc& call = call_of(function);
  if (std::find(twins.begin(), twins.end(), call) != twins.end()) return;  // has two names
  const auto way =
      std::find_if(ways.begin(), ways.end(), [&](vectorcallfunc w) { return !w || w == call; });
  if (way == ways.end()) return;
  *way = call;
  call = twins[static_cast<std::size_t>(way - ways.begin())];
}

}  // namespace

void explain_calls(const nb::module_& m) {
  for (nb::handle value : nb::object(m.attr("__dict__").attr("values")())) {
    if (!nb::type_check(value)) {
      explain_function(value);
      continue;
    }
    for (nb::handle member : nb::object(value.attr("__dict__").attr("values")()))
      explain_function(member);
  }
}

}  // namespace tessera::python
