// SPDX-License-Identifier: Apache-2.0
// A(x) and ts.fit where x, the result or an operator's own array is on disk: conversion only.
#include "streaming/stored_operators.hpp"

#include "linop/linop.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/streaming/operators/fitted_on_disk.hpp"

namespace tessera::python {

namespace {

using streaming::ApplyOptions;
using streaming::StoredArray;
using streaming::StorePtr;

const StoredArray& stored_array(nb::handle h) { return *nb::inst_ptr<StoredArray>(h); }

Array host_array(nb::handle h, const NamedLinop& a) {
  Array x = as_array(h, a.kind());
  require<DeviceError>(x.device() == cpu, a, ": an array on ", x.device(),
                       " beside one on disk; move it to the host with to(\"cpu\")");
  return x;
}

// The input as a store; a formula is computed first.
StorePtr input_store(nb::handle x, const NamedLinop& a) {
  if (is_stored(x.ptr())) {
    const StoredArray& s = stored_array(x);
    return released([&] { return s.store(); });
  }
  return streaming::store_in_memory(host_array(x, a));
}

}  // namespace

bool works_on_disk(const NamedLinop& a, nb::handle x, nb::handle out) {
  if (is_stored(x.ptr()) || is_stored(out.ptr())) return true;
  // An array of another device is computed there: a plan sends the weights.
  if (is_array(x.ptr()) && array_of(x.ptr()).device() != cpu) return false;
  return streaming::has_weights_on_disk(a);
}

nb::object applied_on_disk(const NamedLinop& given, nb::handle x, nb::handle out) {
  const streaming::WithBudgets what = streaming::with_budgets(given);
  const NamedLinop& a = what.a;
  ApplyOptions options = what.options;
  const StorePtr from = input_store(x, a);
  if (is_stored(out.ptr())) {
    const StoredArray& to = stored_array(out);
    require<ArgumentError>(!to.is_formula(), a, ": out is a formula; give an array with numbers");
    released([&] { streaming::apply_into(a, from, to.store(), options); });
    return nb::borrow(out);
  }
  if (!out.is_none()) {
    const Array& to = target_array(out, a.kind());
    require<DeviceError>(to.device() == cpu, a, ": out is on ", to.device(),
                         "; beside arrays on disk it is one of the host");
    released([&] { streaming::apply_into(a, from, streaming::store_in_memory(to), options); });
    return nb::borrow(out);
  }
  const Shape shape = a.output_shape(from->grid().shape());
  const DType dtype = a.output_dtype(from->grid().dtype());
  const i64 bytes = count_of(shape) * size_of(dtype);
  if (!streaming::fits_in_memory(bytes, options))
    return nb::cast(
        released([&] { return streaming::apply_operator(a, StoredArray(from), options); }));
  if (options.budget > 0) options.budget -= bytes;
  return wrap(released([&] {
    const Array y = Array::empty(shape, dtype);
    streaming::apply_into(a, from, streaming::store_in_memory(y), options);
    return y;
  }));
}

std::string explained_on_disk(const NamedLinop& given, nb::handle x) {
  const streaming::WithBudgets what = streaming::with_budgets(given);
  const StorePtr from = input_store(x, what.a);
  return released([&] { return streaming::explain_apply(what.a, from, what.options); });
}

nb::object fitted_on_disk(const NamedLinop& a, const Shape& shape, DType dtype, nb::handle budget) {
  ApplyOptions options;
  if (!budget.is_none())
    for (const auto& [where, bytes] : nb::borrow<nb::dict>(budget)) {
      const Device d = device_from(where);
      if (d == cpu)
        options.budget = bytes_from(bytes);
      else
        options.devices.emplace_back(d, bytes_from(bytes));
    }
  return wrap_linop(released([&] { return streaming::fit_on_disk(a, shape, dtype, options); }));
}

StoredArray applied_as_job(const NamedLinop& given, const StoredArray& x, const std::string& path) {
  const streaming::WithBudgets what = streaming::with_budgets(given);
  return released([&] { return streaming::apply_operator(what.a, x, what.options, path); });
}

nb::object stored_diagonal(nb::handle weight, const Dims& ioshape, const Dims& broadcast_dims) {
  const StoredArray& w = stored_array(weight);
  return wrap_linop(
      released([&] { return streaming::diagonal_on_disk(w, ioshape, broadcast_dims); }));
}

nb::object stored_dense(nb::handle weight, const std::optional<Dims>& weightshape,
                        const Dims& ishape, const Dims& oshape, const Dims& broadcast_dims) {
  const StoredArray& w = stored_array(weight);
  return wrap_linop(released([&] {
    return weightshape ? streaming::dense_on_disk(w, *weightshape, ishape, oshape, broadcast_dims)
                       : streaming::dense_on_disk(w);
  }));
}

}  // namespace tessera::python
