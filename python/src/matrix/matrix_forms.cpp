// SPDX-License-Identifier: Apache-2.0
// How matrices are made from what Python has: one class per form.
#include "core/sequence.hpp"
#include "matrix/matrix.hpp"
#include "matrix/matrix_docs.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// A class of its own for each form, so that Python can ask isinstance(m, Bit).
template <Form form>
struct MatrixOf : AnyMatrix {
  explicit MatrixOf(AnyMatrix m) : AnyMatrix(std::move(m)) {}
};

template <Form form>
nb::object wrapped(AnyMatrix&& m) {
  return nb::cast(MatrixOf<form>(std::move(m)));
}

// The memory stays that of the array, which its owner may write to.
AnyMatrix sharing(const Array& a) {
  require<ShapeError>(a.ndim() == 2, "Dense: expected an array of two axes, got shape ", a.shape());
  auto p = make_payload(Form::dense, a.shape(0), a.shape(1), a.dtype(), a);
  p->shared = true;
  return p;
}

// NumPy's integers too, but no array.
bool is_integer_object(nb::handle h) {
  if (PyBool_Check(h.ptr())) return false;
  return PyLong_Check(h.ptr()) || (PyIndex_Check(h.ptr()) && !nb::hasattr(h, "__len__"));
}

// n, or (rows, cols): zeros of that shape. Lists of numbers are elements.
std::optional<Shape> shape_given(nb::handle h) {
  if (is_integer_object(h)) {
    const i64 n = int_from(h, "shape");
    return Shape{n, n};
  }
  if (!PyTuple_Check(h.ptr()) || PyTuple_GET_SIZE(h.ptr()) != 2) return {};
  for (const nb::handle n : nb::borrow<nb::tuple>(h))
    if (PyBool_Check(n.ptr()) || !is_one_integer(n)) return {};
  return shape_from(h);
}

AnyMatrix zeros_of(Form form, const Shape& shape, const Given& g, DType otherwise = DType::f64) {
  return AnyMatrix::zeros(form, shape[0], shape[1], g.dtype.value_or(otherwise),
                          g.device.value_or(cpu));
}

// The elements of anything as an array; of a matrix: all of them.
Array elements_of(nb::handle h, Form form, const Given& g) {
  if (is_matrix(h)) {
    const AnyMatrix m = matrix_of(h);
    return released([&] { return m.array(g.dtype, g.device); });
  }
  const Array a = as_array(h, name(form), g.dtype);
  return released([&] { return g.device ? a.to(*g.device) : a; });
}

AnyMatrix make_dense(nb::handle h, nb::handle dtype, nb::handle device, bool copy) {
  const Given g(dtype, device);
  if (const auto shape = shape_given(h)) return zeros_of(Form::dense, *shape, g);
  if (is_matrix(h)) {  // handles share memory until one of them is written to
    const AnyMatrix m = matrix_of(h);
    return released([&] { return AnyMatrix::dense(full_copy(m, g.dtype, g.device)); });
  }
  const Array a = elements_of(h, Form::dense, g);
  return copy ? released([&] { return AnyMatrix::dense(a.copy()); }) : sharing(a);
}

AnyMatrix make_bits(Form form, nb::handle h, nb::handle device, bool check) {
  const Given g(nb::none(), device);
  if (const auto shape = shape_given(h)) return zeros_of(form, *shape, g, DType::b1);
  const Array a = elements_of(h, form, g);
  return released(
      [&] { return form == Form::bit ? AnyMatrix::bit(a) : AnyMatrix::triangular_bit(a, check); });
}

AnyMatrix make_triangular(nb::handle h, nb::handle dtype, nb::handle device, bool lower,
                          bool strict, bool check) {
  const Given g(dtype, device);
  if (const auto shape = shape_given(h)) {
    const AnyMatrix all = zeros_of(Form::triangular, *shape, g);
    const AnyMatrix m = make_payload(Form::triangular, all.rows(), all.cols(), all.dtype(),
                                     all.payload().data, strict);
    return lower ? m.transpose() : m;
  }
  const Array a = elements_of(h, Form::triangular, g);
  return released([&] { return AnyMatrix::triangular(a, lower, strict, check); });
}

AnyMatrix make_mirrored(Form form, nb::handle h, nb::handle dtype, nb::handle device, bool check) {
  const Given g(dtype, device);
  if (const auto shape = shape_given(h)) return zeros_of(form, *shape, g);
  const Array a = elements_of(h, form, g);
  return released([&] {
    return form == Form::symmetric ? AnyMatrix::symmetric(a, check)
                                   : AnyMatrix::antisymmetric(a, check);
  });
}

AnyMatrix make_diagonal(nb::handle h, nb::handle dtype, nb::handle device, nb::handle shape,
                        bool check) {
  const Given g(dtype, device);
  if (const auto size = shape_given(h)) return zeros_of(Form::diagonal, *size, g);
  const Array a = elements_of(h, Form::diagonal, g);
  if (a.ndim() == 1) {
    const Shape s = shape.is_none() ? Shape{a.size(), a.size()} : shape_from(shape);
    require<ShapeError>(s.size() == 2, "Diagonal: shape ", s, "; expected rows and columns");
    return released([&] { return AnyMatrix::diagonal(a, s[0], s[1]); });
  }
  require<ShapeError>(a.ndim() == 2 && shape.is_none(),
                      "Diagonal: expected numbers of the diagonal, or a matrix; got shape ",
                      a.shape());
  return released([&] { return AnyMatrix::diagonal_of(a, check); });
}

AnyMatrix make_identity(nb::handle h, nb::handle dtype, nb::handle device) {
  const Given g(dtype, device);
  const Shape s = shape_from(h);
  require<ShapeError>(s.size() == 1 || s.size() == 2, "Identity: shape ", s,
                      "; expected rows, or rows and columns");
  return AnyMatrix::identity(s[0], s.back(), g.dtype.value_or(DType::f64), g.device.value_or(cpu));
}

template <Form form>
auto form_class(nb::module_& m, const char* doc) {
  return nb::class_<MatrixOf<form>, AnyMatrix>(m, std::string(name(form)).c_str(), doc);
}

template <Form form>
void bind_bit_form(nb::module_& m, const char* doc) {
  form_class<form>(m, doc).def(
      "__init__",
      [](MatrixOf<form>* self, nb::handle obj, nb::handle device, bool check) {
        new (self) MatrixOf<form>(make_bits(form, obj, device, check));
      },
      "obj"_a, "device"_a = nb::none(), nb::kw_only(), "check"_a = true,
      nb::sig("def __init__(self, obj: typing.Any, device: DeviceLike | None = None, *, check: "
              "bool = True) -> None"));
}

template <Form form>
void bind_mirrored_form(nb::module_& m, const char* doc) {
  form_class<form>(m, doc).def(
      "__init__",
      [](MatrixOf<form>* self, nb::handle obj, nb::handle dtype, nb::handle device, bool check) {
        new (self) MatrixOf<form>(make_mirrored(form, obj, dtype, device, check));
      },
      "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), nb::kw_only(), "check"_a = true,
      nb::sig("def __init__(self, obj: typing.Any, dtype: DTypeLike | None = None, device: "
              "DeviceLike | None = None, *, check: bool = True) -> None"));
}

}  // namespace

AnyMatrix matrix_from(nb::handle h, std::string_view who) {
  if (is_matrix(h)) return matrix_of(h);
  return sharing(as_array(h, who));
}

nb::object wrap(AnyMatrix m) {
  switch (m.form()) {
    case Form::dense: return wrapped<Form::dense>(std::move(m));
    case Form::bit: return wrapped<Form::bit>(std::move(m));
    case Form::triangular_bit: return wrapped<Form::triangular_bit>(std::move(m));
    case Form::triangular: return wrapped<Form::triangular>(std::move(m));
    case Form::symmetric: return wrapped<Form::symmetric>(std::move(m));
    case Form::antisymmetric: return wrapped<Form::antisymmetric>(std::move(m));
    case Form::diagonal: return wrapped<Form::diagonal>(std::move(m));
    default: return wrapped<Form::identity>(std::move(m));
  }
}

void bind_matrix_forms(nb::module_& m) {
  using Handle = nb::handle;
  auto dense = form_class<Form::dense>(m, dense_doc);
  dense.def(
      "__init__",
      [](MatrixOf<Form::dense>* self, Handle obj, Handle dtype, Handle device, bool copy) {
        new (self) MatrixOf<Form::dense>(make_dense(obj, dtype, device, copy));
      },
      "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), nb::kw_only(), "copy"_a = true,
      nb::sig("def __init__(self, obj: typing.Any, dtype: DTypeLike | None = None, device: "
              "DeviceLike | None = None, *, copy: bool = True) -> None"));
  bind_bit_form<Form::bit>(m, bit_doc);
  bind_bit_form<Form::triangular_bit>(m, triangular_bit_doc);
  auto triangular = form_class<Form::triangular>(m, triangular_doc);
  triangular.def(
      "__init__",
      [](MatrixOf<Form::triangular>* self, Handle obj, Handle dtype, Handle device, bool lower,
         bool strict, bool check) {
        new (self)
            MatrixOf<Form::triangular>(make_triangular(obj, dtype, device, lower, strict, check));
      },
      "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), nb::kw_only(), "lower"_a = false,
      "strict"_a = false, "check"_a = true,
      nb::sig("def __init__(self, obj: typing.Any, dtype: DTypeLike | None = None, device: "
              "DeviceLike | None = None, *, lower: bool = False, strict: bool = False, check: bool "
              "= True) -> None"));
  bind_mirrored_form<Form::symmetric>(m, symmetric_doc);
  bind_mirrored_form<Form::antisymmetric>(m, anti_symmetric_doc);
  auto diagonal = form_class<Form::diagonal>(m, diagonal_doc);
  diagonal.def(
      "__init__",
      [](MatrixOf<Form::diagonal>* self, Handle obj, Handle dtype, Handle device, Handle shape,
         bool check) {
        new (self) MatrixOf<Form::diagonal>(make_diagonal(obj, dtype, device, shape, check));
      },
      "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), nb::kw_only(),
      "shape"_a = nb::none(), "check"_a = true,
      nb::sig("def __init__(self, obj: typing.Any, dtype: DTypeLike | None = None, device: "
              "DeviceLike | None = None, *, shape: tuple[int, int] | None = None, check: bool = "
              "True) -> None"));
  auto identity = form_class<Form::identity>(m, identity_doc);
  identity.def(
      "__init__",
      [](MatrixOf<Form::identity>* self, Handle shape, Handle dtype, Handle device) {
        new (self) MatrixOf<Form::identity>(make_identity(shape, dtype, device));
      },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def __init__(self, shape: ShapeLike, dtype: DTypeLike | None = None, device: "
              "DeviceLike | None = None) -> None"));
}

}  // namespace tessera::python
