// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators beside arrays on disk: their input, their output or what they hold.

#include "core/common.hpp"
#include "tessera/linop/core/linop.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {

// Whether A(x, out) has to do with an array on disk.
bool works_on_disk(const NamedLinop& a, nb::handle x, nb::handle out);
nb::object applied_on_disk(const NamedLinop& a, nb::handle x, nb::handle out);
std::string explained_on_disk(const NamedLinop& a, nb::handle x);
// A(x) on disk: in the backing folder, or as a job at a path.
streaming::StoredArray applied_as_job(const NamedLinop& a, const streaming::StoredArray& x,
                                      const std::string& path);
// ts.fit for an input on disk; `budget` is {device: bytes}.
nb::object fitted_on_disk(const NamedLinop& a, const Shape& shape, DType dtype, nb::handle budget);
// A Diagonal and a Dense whose weight is on disk.
nb::object stored_diagonal(nb::handle weight, const Dims& ioshape, const Dims& broadcast_dims);
nb::object stored_dense(nb::handle weight, const std::optional<Dims>& weightshape,
                        const Dims& ishape, const Dims& oshape, const Dims& broadcast_dims);

}  // namespace tessera::python
