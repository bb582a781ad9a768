// SPDX-License-Identifier: Apache-2.0
#pragma once
// Long documentation strings, so that the binding files stay readable. Every example runs as a
// test.
//   nb::class_<Array>(m, "Array", array_doc);

namespace tessera::python {

inline constexpr const char* array_doc =
    "A local n-dimensional array: memory on one device, a shape, strides and a dtype.\n\n"
    "Make one with ``ts.array``, ``ts.asarray``, ``ts.zeros`` and their like. Indexing, arithmetic "
    "and\n"
    "functions are NumPy's; nothing moves between devices unless ``to`` is called.\n\n"
    ">>> x = ts.arange(6).reshape(2, 3)\n"
    ">>> x[:, 1].tolist(), (x * 2).sum().item()\n"
    "([1, 4], 30)\n";

}  // namespace tessera::python
