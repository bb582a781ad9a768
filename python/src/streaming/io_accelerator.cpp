// SPDX-License-Identifier: Apache-2.0
#include "streaming/io_accelerator.hpp"

#include "tessera/streaming/stored/io_accelerator.hpp"

namespace tessera::python {

void bind_io_accelerator(nb::module_& m) {
  using nb::literals::operator""_a;
  using streaming::Box;
  using streaming::IOAccelerator;
  using streaming::StoredArray;
  const auto box_from = [](nb::handle begin, nb::handle shape) {
    return Box{shape_from(begin), shape_from(shape)};
  };
  nb::class_<IOAccelerator>(m, "_IOAccelerator")
      .def(nb::init<const StoredArray&>(), "array"_a)
      .def(
          "prefetch",
          [box_from](const IOAccelerator& io, nb::handle begin, nb::handle shape) {
            const Box box = box_from(begin, shape);
            released([&] { io.prefetch(box); });
          },
          "begin"_a, "shape"_a)
      .def(
          "discard",
          [box_from](const IOAccelerator& io, nb::handle begin, nb::handle shape) {
            const Box box = box_from(begin, shape);
            released([&] { io.discard(box); });
          },
          "begin"_a, "shape"_a)
      .def(
          "resident",
          [box_from](const IOAccelerator& io, nb::handle begin, nb::handle shape) {
            const Box box = box_from(begin, shape);
            return released([&] { return io.resident(box); });
          },
          "begin"_a, "shape"_a)
      .def(
          "hint",
          [](const IOAccelerator& io, const std::string& pattern) {
            io.hint(streaming::access_from(pattern));
          },
          "pattern"_a)
      .def("flush", &IOAccelerator::flush, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace tessera::python
