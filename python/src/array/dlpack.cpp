// SPDX-License-Identifier: Apache-2.0
// Capsules of DLPack in both directions (the plain and the versioned one) and the CUDA array
// interface, inwards. What the structures mean is array/dlpack's.
#include "tessera/array/dlpack.hpp"

#include "core/common.hpp"
#include "tessera/device/registry.hpp"

namespace tessera::python {

namespace {

constexpr const char* plain_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";
constexpr int on_other = 12;  // "external device" of DLPack: memory that others cannot use

template <class Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed: the new owner deletes it
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

nb::object call_with(const nb::object& method, const nb::dict& options) {
  PyObject* result = PyObject_Call(method.ptr(), nb::tuple().ptr(), options.ptr());
  return nb::steal(result);
}

// DLPack has no word for PyTorch's lazily conjugated or negated tensors: what their bits say is
// done first, in a copy. Anything else is as it is.
nb::object resolved(nb::handle h) {
  nb::object x = nb::borrow(h);
  for (const auto& [asks, does] : {std::pair("is_conj", "resolve_conj"), {"is_neg", "resolve_neg"}})
    if (nb::hasattr(x, asks) && nb::hasattr(x, does) && nb::cast<bool>(nb::bool_(x.attr(asks)())))
      x = x.attr(does)();
  return x;
}

// Asks for the versioned capsule; producers of the time before versions refuse the keyword.
nb::object call_dlpack(nb::handle h) {
  nb::object method = h.attr("__dlpack__");
  nb::dict options;
  const nb::object where = h.attr("__dlpack_device__")();
  if (int_from(nb::object(where[0]), "__dlpack_device__") == dlpack::on_cuda) {
    const i64 index = int_from(nb::object(where[1]), "__dlpack_device__");
    const Device device{Kind::cuda, static_cast<std::int16_t>(index)};
    // The producer makes this stream wait for its own work.
    options["stream"] = reinterpret_cast<std::uintptr_t>(Stream::home(device).native());
  }
  nb::dict newer;
  newer.update(options);
  newer["max_version"] = nb::make_tuple(1, 1);
  nb::object capsule = call_with(method, newer);
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = call_with(method, options);
  }
  if (!capsule.is_valid()) throw nb::python_error();
  return capsule;
}

}  // namespace

std::pair<int, int> dlpack_device(const Array& x) {
  if (x.device().kind == Kind::sim) return {on_other, x.device().index};
  const DLDevice d = tessera::dlpack_device(x);
  return {d.device_type, d.device_id};
}

nb::object dlpack_capsule(const Array& a, bool versioned, bool copied, void* consumer) {
  if (a.device().kind == Kind::sim)
    raise(PyExc_BufferError, cat("__dlpack__: no library can use memory of ", a.device()));
  if (!versioned) {
    if (!a.storage().writable())
      raise(PyExc_BufferError, "__dlpack__: a read-only array needs max_version=(1, 0) or later");
    return nb::steal(PyCapsule_New(to_dlpack_unversioned(a, consumer), plain_name, [](PyObject* c) {
      drop_capsule<DLManagedTensor>(c, plain_name);
    }));
  }
  DLManagedTensorVersioned* m = to_dlpack(a, consumer);
  if (copied) m->flags |= dlpack::flag_copied;
  return nb::steal(PyCapsule_New(m, versioned_name, [](PyObject* c) {
    drop_capsule<DLManagedTensorVersioned>(c, versioned_name);
  }));
}

Array array_from_dlpack(nb::handle h) {
  nb::object capsule = PyCapsule_CheckExact(h.ptr()) ? nb::borrow(h) : call_dlpack(resolved(h));
  PyObject* c = capsule.ptr();
  if (PyCapsule_IsValid(c, versioned_name)) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(c, versioned_name));
    PyCapsule_SetName(c, "used_dltensor_versioned");
    return from_dlpack(m);
  }
  require<DTypeError>(PyCapsule_IsValid(c, plain_name),
                      "from_dlpack: no tensor in the capsule, or it was used before");
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(c, plain_name));
  PyCapsule_SetName(c, "used_dltensor");
  return from_dlpack(m);
}

Array array_from_cuda_interface(nb::handle h) {
  nb::dict d = nb::borrow<nb::dict>(h.attr("__cuda_array_interface__"));
  const DType dtype = dtype_from(d["typestr"]);
  Layout l = Layout::contiguous(shape_from(d["shape"]));
  if (d.contains("strides") && !nb::object(d["strides"]).is_none()) {
    const Shape bytes = shape_from(d["strides"]);
    for (i64 i = 0; i < bytes.size(); ++i) l.strides[i] = bytes[i] / size_of(dtype);
  }
  const Device device{Kind::cuda, 0};
  if (d.contains("stream") && !nb::object(d["stream"]).is_none()) {
    const auto stream = static_cast<std::uintptr_t>(int_from(d["stream"], "stream"));
    released(
        [&] { compute_device(device).sync_stream(device.index, reinterpret_cast<void*>(stream)); });
  }
  const nb::tuple data = nb::borrow<nb::tuple>(d["data"]);
  const auto [low, high] = l.span();
  const auto address = static_cast<std::uintptr_t>(int_from(data[0], "data"));
  l.offset = high < low ? 0 : -low;
  PyObject* owner = Py_NewRef(h.ptr());
  auto release = [owner] {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire locked;
    Py_DECREF(owner);
  };
  auto* first = reinterpret_cast<std::byte*>(address) + low * size_of(dtype);
  Storage s = Storage::adopt(device, first, (high - low + 1) * size_of(dtype), release,
                             !nb::cast<bool>(nb::bool_(data[1])));
  return Array(std::move(s), std::move(l), dtype);
}

}  // namespace tessera::python
