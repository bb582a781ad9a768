// SPDX-License-Identifier: Apache-2.0
#pragma once
// Long documentation strings of distributed arrays. Every example runs as a test.
//   nb::class_<DNDarray>(m, "DNDarray", dist_array_doc);

namespace tessera::python {

inline constexpr const char* dist_array_doc =
    "An n-dimensional array over the ranks of a communicator: one axis, the split, is distributed "
    "in "
    "blocks, or every rank holds the whole (``split`` is None).\n\n"
    "Make one with ``ts.dist.array``, ``ts.dist.zeros`` and their like. Indexing, arithmetic and "
    "functions are NumPy's, and every rank calls them in the same order. Shapes, splits and counts "
    "of results are known everywhere without a message; ``explain`` says what an index will "
    "send.\n\n"
    ">>> x = ts.dist.arange(12, split=0).reshape(4, 3)\n"
    ">>> x[1:3, 0].tolist(), x.sum(axis=0).tolist(), x.split\n"
    "([3, 6], [18, 22, 26], 0)\n";

}  // namespace tessera::python
