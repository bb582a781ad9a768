// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of constructors that take many kinds of objects, each with the name under which it
// stands in signatures and stubs (python/stubs.pattern has the aliases). They hold any object: what
// fits is decided, with a sentence, where it is read.
//   nb::object make(const ArrayArg& weight, const DimsArg& ioshape);

#include "core/common.hpp"

namespace tessera::python {

inline bool is_any(PyObject*) { return true; }

#define TESSERA_ARGUMENT(Type, text)          \
  class Type : public nb::object {            \
    NB_OBJECT(Type, nb::object, text, is_any) \
  };
TESSERA_ARGUMENT(ArrayArg, "ArrayLike")
TESSERA_ARGUMENT(DimArg, "DimLike")
TESSERA_ARGUMENT(DimsArg, "DimsLike")
TESSERA_ARGUMENT(DTypeArg, "DTypeLike")
TESSERA_ARGUMENT(FunctionArg, "typing.Callable[[Array], ArrayLike]")
TESSERA_ARGUMENT(GridsArg, "tuple[DimsLike, DimsLike]")
TESSERA_ARGUMENT(IndicesArg, "typing.Sequence[ArrayLike | slice]")
TESSERA_ARGUMENT(IntArg, "int")
TESSERA_ARGUMENT(ListenerArg, "RepeatedEvent")
TESSERA_ARGUMENT(NumberArg, "complex")
TESSERA_ARGUMENT(ParametersArg, "dict[str, float]")
TESSERA_ARGUMENT(PlaceArg, "tuple[DimLike | None, int | None]")
TESSERA_ARGUMENT(ReadArg,
                 "ArrayLike")  // an operator copies what is given as ArrayArg, and reads this
TESSERA_ARGUMENT(PositionArg, "DimLike | int")
TESSERA_ARGUMENT(ShapeArg, "ShapeLike")
TESSERA_ARGUMENT(SizesArg, "dict[DimLike, int]")
TESSERA_ARGUMENT(SizeArg, "typing.Callable[[NamedDimension], int | None]")
TESSERA_ARGUMENT(SpecArg, "DeviceLike | DeviceSpec")
TESSERA_ARGUMENT(SplitArg, "typing.Callable[[dict[NamedDimension, slice]], NamedLinop]")
TESSERA_ARGUMENT(TextArg, "str")
TESSERA_ARGUMENT(WidthArg, "float | typing.Sequence[float]")
TESSERA_ARGUMENT(WordSizesArg, "dict[str, int]")
#undef TESSERA_ARGUMENT

}  // namespace tessera::python
