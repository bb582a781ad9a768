// SPDX-License-Identifier: Apache-2.0
// Arithmetic of matrices: @ + - * / ** and comparisons, with matrices, arrays and numbers, and the
// functions of tessera.matrix. With an array on either side @ gives an array, which lies where that
// array does.
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/matrix/forms/slices.hpp"
#include "tessera/matrix/functions/elementwise.hpp"
#include "tessera/matrix/functions/functions.hpp"
#include "tessera/matrix/functions/reductions.hpp"
#include "tessera/matrix/products/multiply.hpp"

#include "core/generator.hpp"
#include "dist/dist.hpp"
#include "matrix/matrix.hpp"
#include "matrix/matrix_docs.hpp"
#include "matrix/matrix_functions.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// Nothing where Python should ask the other operand, or say that there is no such operation.
std::optional<Array> other_array(nb::handle h) {
  if (is_dist(h.ptr()) || PyUnicode_Check(h.ptr()) || PyBytes_Check(h.ptr())) return {};
  return try_array(h);
}

// An array of two axes, or a vector, which is a row as in NumPy's broadcasting.
AnyMatrix matrix_of_array(const Array& a, std::string_view who) {
  require<ShapeError>(a.ndim() == 1 || a.ndim() == 2, who, ": an array of shape ", a.shape(),
                      " with a matrix; expected a vector or a matrix");
  return AnyMatrix::dense(a.ndim() == 1 ? a.expand_dims(0) : a);
}

std::optional<AnyMatrix> other_matrix(nb::handle h, std::string_view who) {
  if (is_matrix(h)) return matrix_of(h);
  const auto a = other_array(h);
  return a ? std::optional(matrix_of_array(*a, who)) : std::nullopt;
}

// Of functions, where nobody else can be asked.
AnyMatrix operand_matrix(nb::handle h, std::string_view who) {
  return is_matrix(h) ? matrix_of(h) : matrix_of_array(as_array(h, who), who);
}

nb::object matmul_slot(const AnyMatrix& a, nb::handle other) {
  if (is_matrix(other)) {
    const AnyMatrix& b = matrix_of(other);
    return wrap(released([&] { return matmul(a, b); }));
  }
  const auto x = other_array(other);
  if (!x) throw nb::next_overload();
  return wrap(released([&] { return matmul(a, *x); }));
}

nb::object matmul_from_left(const AnyMatrix& b, nb::handle other) {
  const auto x = other_array(other);
  if (!x) throw nb::next_overload();
  return wrap(released([&] { return matmul(*x, b); }));
}

using OfTwo = AnyMatrix (*)(const AnyMatrix&, const AnyMatrix&);
using OfNumber = AnyMatrix (*)(const AnyMatrix&, const Value&);

// self op other, or other op self where `turned`.
template <class Number>
auto slot(std::string_view who, OfTwo of_two, Number of_number, bool turned) {
  return [=](const AnyMatrix& a, nb::handle other) {
    if (const auto v = factor_from(other)) return wrap(released([&] { return of_number(a, *v); }));
    const auto b = other_matrix(other, who);
    if (!b) throw nb::next_overload();
    return wrap(released([&] { return turned ? of_two(*b, a) : of_two(a, *b); }));
  };
}

template <class F>
void def_slot(nb::class_<AnyMatrix>& c, const char* name, F f) {
  const std::string sig = cat("def ", name, "(self, other: typing.Any, /) -> AnyMatrix");
  c.def(name, f, nb::is_operator(), nb::sig(sig.c_str()));
}

void bind_arithmetic(nb::class_<AnyMatrix>& c) {
  const auto from_number = [](OfNumber f) { return f; };
  const auto product = [](const AnyMatrix& a, const Value& v) { return a.scaled(v); };
  const auto minus = [](const AnyMatrix& a, const Value& v) { return subtract(v, a); };
  const auto over = [](const AnyMatrix& a, const Value& v) { return divide(v, a); };
  def_slot(c, "__add__", slot("add", add, from_number(add), false));
  def_slot(c, "__radd__", slot("add", add, from_number(add), true));
  def_slot(c, "__sub__", slot("subtract", subtract, from_number(subtract), false));
  def_slot(c, "__rsub__", slot("subtract", subtract, minus, true));
  def_slot(c, "__mul__", slot("multiply", multiply, product, false));
  def_slot(c, "__rmul__", slot("multiply", multiply, product, true));
  def_slot(c, "__truediv__", slot("divide", divide, from_number(divide), false));
  def_slot(c, "__rtruediv__", slot("divide", divide, over, true));
  c.def("__matmul__", &matmul_slot, nb::is_operator(),
        nb::sig("def __matmul__(self, other: typing.Any, /) -> typing.Any"))
      .def("__rmatmul__", &matmul_from_left, nb::is_operator(),
           nb::sig("def __rmatmul__(self, other: typing.Any, /) -> Array"));
}

template <ElementOp op>
void def_logical(nb::class_<AnyMatrix>& c, const char* name, const char* turned) {
  const auto of_two = [](const AnyMatrix& a, const AnyMatrix& b) { return logical(op, a, b); };
  const auto of_number = [](const AnyMatrix& a, const Value& v) {
    require<DTypeError>(v.dtype() == DType::b1, tessera::name(op), ": ", v.str(),
                        " with a matrix of bits; expected True, False or a matrix of bits");
    return logical(op, a, AnyMatrix::bit(full({1, 1}, v, DType::b1, a.device())));
  };
  def_slot(c, name, slot(tessera::name(op), of_two, of_number, false));
  def_slot(c, turned, slot(tessera::name(op), of_two, of_number, true));
}

void bind_logic(nb::class_<AnyMatrix>& c) {
  def_logical<ElementOp::bitwise_and>(c, "__and__", "__rand__");
  def_logical<ElementOp::bitwise_or>(c, "__or__", "__ror__");
  def_logical<ElementOp::bitwise_xor>(c, "__xor__", "__rxor__");
}

void bind_powers(nb::class_<AnyMatrix>& c) {
  const auto of_two = [](const AnyMatrix& a, const AnyMatrix& b) { return power(a, b); };
  const auto of_number = [](const AnyMatrix& m, const Value& v) { return power(m, v); };
  const auto from_number = [](const AnyMatrix& m, const Value& v) { return power(v, m); };
  def_slot(c, "__pow__", slot("power", of_two, of_number, false));
  def_slot(c, "__rpow__", slot("power", of_two, from_number, true));
  c.def(
       "__abs__", [](const AnyMatrix& m) { return wrap(released([&] { return absolute(m); })); },
       nb::sig("def __abs__(self) -> AnyMatrix"))
      .def_prop_ro(
          "real", [](const AnyMatrix& m) { return wrap(released([&] { return real_part(m); })); },
          nb::sig("def real(self) -> AnyMatrix"), real_doc)
      .def_prop_ro(
          "imag", [](const AnyMatrix& m) { return wrap(released([&] { return imag_part(m); })); },
          nb::sig("def imag(self) -> AnyMatrix"), imag_doc);
}

template <ElementOp op>
void def_comparison(nb::class_<AnyMatrix>& c, const char* name) {
  const auto of_two = [](const AnyMatrix& a, const AnyMatrix& b) { return compare(op, a, b); };
  const auto of_number = [](const AnyMatrix& a, const Value& v) { return compare(op, a, v); };
  def_slot(c, name, slot(tessera::name(op), of_two, of_number, false));
}

bool truth(const AnyMatrix& m) {
  if (m.rows() * m.cols() != 1)
    raise(PyExc_ValueError,
          "The truth value of a matrix with more or fewer than one element is ambiguous. Use "
          "m.any() or m.all()");
  return released([&] { return any(m); });
}

// Equal matrices compare element by element, as arrays do: they have no hash.
void bind_comparisons(nb::class_<AnyMatrix>& c) {
  def_comparison<ElementOp::equal>(c, "__eq__");
  def_comparison<ElementOp::not_equal>(c, "__ne__");
  def_comparison<ElementOp::less>(c, "__lt__");
  def_comparison<ElementOp::less_equal>(c, "__le__");
  def_comparison<ElementOp::greater>(c, "__gt__");
  def_comparison<ElementOp::greater_equal>(c, "__ge__");
  c.attr("__hash__") = nb::none();
  c.def("__bool__", &truth, nb::sig("def __bool__(self) -> bool"))
      .def(
          "all", [](const AnyMatrix& m) { return released([&] { return all(m); }); },
          nb::sig("def all(self) -> bool"), all_doc)
      .def(
          "any", [](const AnyMatrix& m) { return released([&] { return any(m); }); },
          nb::sig("def any(self) -> bool"), any_doc);
}

nb::object number(const Value& v) { return nb::steal(python_number(v)); }

void bind_numbers(nb::class_<AnyMatrix>& c) {
  c.def(
       "sum",
       [](AnyMatrix& m, nb::handle axis) {
         if (axis.is_none()) return number(released([&] { return sum(m); }));
         const i64 along = int_from(axis, "sum: axis");
         return wrap(released([&] { return sum(m, along); }));
       },
       "axis"_a = nb::none(), nb::sig("def sum(self, axis: int | None = None) -> typing.Any"),
       "The sum of all elements, kept until one changes, or the sums of columns (axis 0) or rows "
       "(axis 1) as an array;\nof integers exactly, bits are counted.\n\n"
       ">>> ts.matrix.Symmetric([[1, 2], [2, 5]]).sum()\n10\n"
       ">>> ts.matrix.Bit([[1, 1, 0], [0, 1, 0]]).sum(axis=0).tolist()\n[1, 2, 0]\n")
      .def(
          "diagonal",
          [](const AnyMatrix& m) { return wrap(released([&] { return diagonal(m); })); },
          nb::sig("def diagonal(self) -> Array"),
          "The elements (i, i) as an array of its own; no other element is read.\n\n"
          ">>> ts.matrix.Bit(np.eye(3)).diagonal().tolist()\n[True, True, True]\n")
      .def(
          "trace", [](AnyMatrix& m) { return number(released([&] { return trace(m); })); },
          nb::sig("def trace(self) -> typing.Any"),
          "The sum of the diagonal. Kept until an element changes.\n\n"
          ">>> ts.matrix.Diagonal([2., 3., 4.]).trace()\n9.0\n")
      .def(
          "norm", [](AnyMatrix& m) { return released([&] { return frobenius_norm(m); }); },
          nb::sig("def norm(self) -> float"),
          "The Frobenius norm. Kept until an element changes.\n\n"
          ">>> ts.matrix.Dense([[3., 4.], [0., 0.]]).norm()\n5.0\n");
}

nb::object dot_of(nb::handle x, nb::handle y) {
  if (is_matrix(x) || is_matrix(y)) {
    const AnyMatrix a = operand_matrix(x, "dot"), b = operand_matrix(y, "dot");
    return number(released([&] { return dot(a, b); }));
  }
  const Array a = as_array(x, "dot"), b = as_array(y, "dot");
  return number(released([&] { return dot(a, b); }));
}

}  // namespace

void bind_matrix_functions(nb::module_& m, nb::class_<AnyMatrix>& c) {
  bind_arithmetic(c);
  bind_powers(c);
  bind_logic(c);
  bind_comparisons(c);
  bind_numbers(c);
  m.def(
      "_random_bits",
      [](Generator& g, i64 rows, i64 cols, double p, bool triangular, nb::handle device) {
        const Given given(nb::none(), device);
        const Form form = triangular ? Form::triangular_bit : Form::bit;
        return wrap(g.draw([&](Random& r) {
          return AnyMatrix::random_bits(form, rows, cols, p, r, given.device.value_or(cpu));
        }));
      },
      "generator"_a, "rows"_a, "cols"_a, "p"_a, "triangular"_a, "device"_a.none(),
      nb::sig("def _random_bits(generator: Generator, rows: int, cols: int, p: float, triangular: "
              "bool, device: typing.Any) -> AnyMatrix"));
  m.def("dot", &dot_of, "x"_a, "y"_a,
        nb::sig("def dot(x: typing.Any, y: typing.Any) -> typing.Any"),
        "Sum of x[i] y[i] of two vectors, or of matrices of one row or column, as a Python number. "
        "Nothing is conjugated, integers are exact, bits are counted.\n\n"
        ">>> ts.matrix.dot([1, 2, 3], [4, 5, 6]), ts.matrix.dot([1j], [1j])\n(32, (-1+0j))\n");
  m.def(
      "cross",
      [](nb::handle x, nb::handle y) {
        const Array a = as_array(x, "cross"), b = as_array(y, "cross");
        return wrap(released([&] { return cross(a, b); }));
      },
      "x"_a, "y"_a, nb::sig("def cross(x: typing.Any, y: typing.Any) -> Array"),
      "The vector product of two vectors of three elements.\n\n"
      ">>> ts.matrix.cross([1., 0., 0.], [0., 1., 0.]).tolist()\n[0.0, 0.0, 1.0]\n");
  m.def(
      "outer",
      [](nb::handle x, nb::handle y) {
        const Array a = as_array(x, "outer"), b = as_array(y, "outer");
        return wrap(released([&] { return outer(a, b); }));
      },
      "x"_a, "y"_a, nb::sig("def outer(x: typing.Any, y: typing.Any) -> AnyMatrix"),
      "x[i] y[j] of two vectors: of bits a Bit, else a Dense.\n\n"
      ">>> ts.matrix.outer([1, 2, 3], [4, 5, 6])[2, 2]\n18\n"
      ">>> ts.matrix.outer([True, False], [True, True]).form\n'Bit'\n");
  m.def(
      "bit_counts",
      [](nb::handle x, nb::handle y) {
        const Array a = as_array(x, "bit_counts"), b = as_array(y, "bit_counts");
        return wrap(released([&] { return bit_counts(bit_pack(a), bit_pack(b)); }));
      },
      "a"_a, "b"_a, nb::sig("def bit_counts(a: typing.Any, b: typing.Any) -> Array"),
      "For how many k a[..., i, k] and b[..., k, j] are not zero: products of stacks of matrices "
      "of bits,\nleading axes broadcast. int32, or int64 where the counts need it.\n\n"
      ">>> ts.matrix.bit_counts(np.ones((3, 2, 5), bool), np.ones((5, 2), bool))[2].tolist()\n"
      "[[5, 5], [5, 5]]\n");
  m.def(
      "boolean_product",
      [](nb::handle x, nb::handle y) {
        const AnyMatrix a = matrix_from(x, "boolean_product"),
                        b = matrix_from(y, "boolean_product");
        return wrap(released([&] { return boolean_product(a, b); }));
      },
      "a"_a, "b"_a, nb::sig("def boolean_product(a: typing.Any, b: typing.Any) -> AnyMatrix"),
      "Whether there is a k for which a[i, k] and b[k, j] are not zero, as bits.\n\n"
      ">>> c = ts.matrix.TriangularBit([[0, 1, 0], [0, 0, 1], [0, 0, 0]])\n"
      ">>> ts.matrix.boolean_product(c, c)[0, 2]\nTrue\n");
  m.def(
      "transitive_closure",
      [](nb::handle x) {
        const AnyMatrix a = matrix_from(x, "transitive_closure");
        return wrap(released([&] { return transitive_closure(a); }));
      },
      "a"_a, nb::sig("def transitive_closure(a: typing.Any) -> AnyMatrix"),
      "Whether a path of one or more steps leads from i to j over elements that are not zero, as "
      "bits.\n\n"
      ">>> c = ts.matrix.TriangularBit([[0, 1, 0], [0, 0, 1], [0, 0, 0]])\n"
      ">>> ts.matrix.transitive_closure(c).numpy().astype(int).tolist()\n"
      "[[0, 1, 1], [0, 0, 1], [0, 0, 0]]\n");
}

}  // namespace tessera::python
