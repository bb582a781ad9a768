// SPDX-License-Identifier: Apache-2.0
// Every element-wise operation as a function with out=, made from the library's own list.
#include "common.hpp"
#include "element_docs.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// At least one operand of the library's call is an array: numbers alone become arrays of rank 0.
template <std::size_t N>
nb::object call(ElementOp op, const std::array<nb::handle, N>& inputs, nb::handle out) {
  std::vector<ArrayOrValue> operands;
  operands.reserve(N);
  bool any = false;
  for (nb::handle h : inputs) {
    operands.push_back(operand(h, name(op)));
    any = any || !operands.back().is_value();
  }
  if (!any) {
    for (std::size_t i = 0; i < N; ++i) operands[i] = as_array(inputs[i], name(op));
  }
  if (out.is_none()) return wrap(released([&] { return elementwise(op, operands); }));
  // NumPy's ufuncs also take out=(array,).
  nb::handle target = PyTuple_Check(out.ptr()) && PyTuple_GET_SIZE(out.ptr()) == 1
                          ? PyTuple_GET_ITEM(out.ptr(), 0)
                          : out.ptr();
  const Array& a = target_array(target, name(op));
  require<ArgumentError>(a.storage().writable(), name(op), ": output array is read-only");
  released([&] { elementwise(op, operands, a); });
  return nb::borrow(target);
}

// Every operation has its line in element_docs, except copy and where, which have their own
// functions.
constexpr int operation_count = 0
#define ELEMENT(name, arity, family) +1
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
    ;
static_assert(std::size(element_docs) == operation_count - 2);

std::string signature(std::string_view name, int arity) {
  const char* of[] = {"x: ArrayLike, /, ", "x1: ArrayLike, x2: ArrayLike, /, ",
                      "x1: ArrayLike, x2: ArrayLike, x3: ArrayLike, /, "};
  return cat("def ", name, "(", of[arity - 1], "*, out: Array | None = None) -> Array");
}

void bind_one(nb::module_& m, const char* python_name, ElementOp op, const char* doc) {
  const std::string sig = signature(python_name, arity(op));
  if (arity(op) == 1) {
    m.def(
        python_name, [op](nb::handle x, nb::handle out) { return call<1>(op, {x}, out); },
        nb::arg("x"), nb::kw_only(), "out"_a = nb::none(), nb::sig(sig.c_str()), doc);
  } else if (arity(op) == 2) {
    m.def(
        python_name,
        [op](nb::handle a, nb::handle b, nb::handle out) {
          return call<2>(op, {a, b}, out);
        },
        "x1"_a, "x2"_a, nb::kw_only(), "out"_a = nb::none(), nb::sig(sig.c_str()), doc);
  } else {
    m.def(
        python_name,
        [op](nb::handle a, nb::handle b, nb::handle c, nb::handle out) {
          return call<3>(op, {a, b, c}, out);
        },
        "x1"_a, "x2"_a, "x3"_a, nb::kw_only(), "out"_a = nb::none(), nb::sig(sig.c_str()), doc);
  }
}

}  // namespace

void bind_functions(nb::module_& m) {
  for (const ElementDoc& d : element_docs) {
    const std::string doc =
        cat(d.text, "\n\n>>> ts.", d.name, "(", d.arguments, ").tolist()\n", d.result, "\n");
    bind_one(m, d.name, d.op, doc.c_str());
  }
  struct Alias {
    const char *name, *of;
  };
  constexpr Alias aliases[] = {
      {"abs", "absolute"},      {"true_divide", "divide"}, {"mod", "remainder"},
      {"conjugate", "conj"},    {"pow", "power"},          {"acos", "arccos"},
      {"asin", "arcsin"},       {"atan", "arctan"},        {"acosh", "arccosh"},
      {"asinh", "arcsinh"},     {"atanh", "arctanh"},      {"atan2", "arctan2"},
      {"bitwise_not", "invert"}};
  for (const Alias& a : aliases) m.attr(a.name) = m.attr(a.of);
}

}  // namespace tessera::python
