// SPDX-License-Identifier: Apache-2.0
// What an operator tells about itself: its name, its bytes, sizes and dtypes of its result, and the
// card that notebooks show.
#include "tessera/linop/card.hpp"
#include "tessera/linop/memory_map.hpp"

#include "linop.hpp"

namespace tessera::python {

using nb::literals::operator""_a;

void bind_card(nb::class_<LinopObject>& c) {
  c.def(
       "output_shape",
       [](LinopObject& a, nb::handle shape) {
         return tuple_of(a.op.output_shape(shape_from(shape)));
       },
       "shape"_a, nb::sig("def output_shape(self, shape: ShapeLike) -> tuple[int, ...]"),
       "The shape of the result for an input of a shape.\n\n"
       ">>> ts.Dense([[1.0, 2.0]]).output_shape((2,))\n(1,)\n")
      .def(
          "output_dtype",
          [](LinopObject& a, nb::handle dtype) {
            return dtype_object(a.op.output_dtype(dtype_from(dtype)));
          },
          "dtype"_a, nb::sig("def output_dtype(self, dtype: DTypeLike) -> DType"),
          "The dtype of the result for an input of a dtype.\n\n"
          ">>> str(ts.FFT(1).output_dtype('float32'))\n'complex64'\n")
      .def_prop_ro(
          "kind", [](LinopObject& a) { return std::string(a.op.kind()); },
          nb::sig("def kind(self) -> str"), "What kind of operator it is: 'Diagonal', 'Chain' …")
      .def_prop_ro(
          "nbytes", [](LinopObject& a) { return a.op.bytes(); }, nb::sig("def nbytes(self) -> int"),
          "Bytes of the arrays that it holds; memory that several share counts once.")
      .def(
          "named",
          [](LinopObject& a, const std::string& name) { return wrap_linop(a.op.named(name)); },
          "name"_a, nb::sig("def named(self, name: str) -> NamedLinop"),
          "The same operator under a name of its own.\n\n"
          ">>> S = ts.Diagonal([1.0], ('X',)).named('S'); S.H\n"
          "S.H: Diagonal (X,) -> (X,)  weight (1,) float64\n")
      .def(
          "__copy__", [](LinopObject& a) { return wrap_linop(a.op.copy()); },
          nb::sig("def __copy__(self) -> NamedLinop"))
      .def(
          "__deepcopy__",
          [](LinopObject& a, nb::handle) {
            return wrap_linop(released([&] { return a.op.deep_copy(); }));
          },
          "memo"_a, nb::sig("def __deepcopy__(self, memo: object) -> NamedLinop"))
      .def(
          "memory",
          [](LinopObject& a) {
            nb::dict by_device;
            for (const auto& [device, bytes] : bytes_by_device(a.op))
              by_device[nb::str(device.str().c_str())] = bytes;
            return by_device;
          },
          nb::sig("def memory(self) -> dict[str, int]"),
          "Bytes of the arrays that it holds, by device; memory that several share counts once.\n\n"
          ">>> ts.Diagonal(ts.ones((3, 4), 'float32')).memory()\n{'cpu': 48}\n")
      .def(
          "_repr_html_", [](LinopObject& a) { return card(a.op); },
          nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace tessera::python
