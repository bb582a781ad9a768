// SPDX-License-Identifier: Apache-2.0
// DLPack in both directions (the plain and the versioned capsule) and the CUDA array interface,
// inwards. The structures follow the published binary layout of DLPack 1.x.
#include <cstring>

#include "common.hpp"
#include "tessera/device/registry.hpp"

namespace tessera::python {

namespace {

enum Code : std::uint8_t {
  code_int,
  code_uint,
  code_float,
  code_opaque,
  code_bfloat,
  code_complex,
  code_bool
};
enum DeviceType : std::int32_t { on_cpu = 1, on_cuda = 2, on_cuda_host = 3, on_other = 12 };
constexpr std::uint64_t flag_read_only = 1, flag_copied = 2;

struct DlDevice {
  std::int32_t type, id;
};
struct DlType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};

DlType type_of(DType t) {
  const std::uint8_t bits = static_cast<std::uint8_t>(8 * size_of(t));
  const std::uint8_t code = t == DType::b1       ? code_bool
                            : is_signed_int(t)   ? code_int
                            : is_unsigned_int(t) ? code_uint
                            : t == DType::bf16   ? code_bfloat
                            : is_complex(t)      ? code_complex
                                                 : code_float;
  return {code, bits, 1};
}

DType dtype_of_type(DlType d) {
  for (int i = 0; i < dtype_count && d.lanes == 1; ++i) {
    const DlType t = type_of(static_cast<DType>(i));
    if (t.code == d.code && t.bits == d.bits) return static_cast<DType>(i);
  }
  throw DTypeError(cat("from_dlpack: no dtype for code ", int{d.code}, " with ", int{d.bits},
                       " bits and ", int{d.lanes}, " lanes"));
}

// What a capsule keeps alive.
template <class Managed>
struct Exported {
  Managed managed{};
  Array array;
  Shape shape;
  Strides strides;
};

template <class Managed>
Managed* exported(const Array& a) {
  auto* e = new Exported<Managed>;
  e->array = a;
  e->shape = a.shape();
  e->strides = a.layout().strides;
  const auto [type, id] = dlpack_device(a.device());
  e->managed.tensor = {a.data(),
                       {type, id},
                       static_cast<std::int32_t>(a.ndim()),
                       type_of(a.dtype()),
                       e->shape.data(),
                       e->strides.data(),
                       0};
  e->managed.context = e;
  e->managed.deleter = [](Managed* m) { delete static_cast<Exported<Managed>*>(m->context); };
  return &e->managed;
}

constexpr const char* plain_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

template <class Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed: the new owner deletes it
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

Device device_of(DlDevice d) {
  if (d.type == on_cpu || d.type == on_cuda_host) return cpu;
  require<DeviceError>(d.type == on_cuda, "from_dlpack: memory of device type ", d.type,
                       " cannot be used; expected the cpu or cuda");
  return {Kind::cuda, static_cast<std::int16_t>(d.id)};
}

template <class Managed>
Array adopt(Managed* m, bool writable) {
  const DlTensor& t = m->tensor;
  auto release = [m] {
    if (!m->deleter) return;
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire locked;
    m->deleter(m);
  };
  try {
    Layout l;
    for (std::int32_t i = 0; i < t.ndim; ++i) l.shape.push_back(t.shape[i]);
    l.strides = Layout::contiguous(l.shape).strides;
    for (std::int32_t i = 0; t.strides && i < t.ndim; ++i) l.strides[i] = t.strides[i];
    const DType dtype = dtype_of_type(t.dtype);
    const Device device = device_of(t.device);
    const auto [low, high] = l.span();
    std::byte* first = static_cast<std::byte*>(t.data) + t.byte_offset + low * size_of(dtype);
    l.offset = high < low ? 0 : -low;
    Storage s = Storage::adopt(device, first, (high - low + 1) * size_of(dtype), release, writable);
    return Array(std::move(s), std::move(l), dtype);
  } catch (...) {
    release();
    throw;
  }
}

nb::object call_dlpack(nb::handle h) {
  nb::object method = h.attr("__dlpack__");
  nb::dict options;
  nb::tuple where = nb::borrow<nb::tuple>(h.attr("__dlpack_device__")());
  const int type = nb::cast<int>(nb::int_(where[0]));
  if (type == on_cuda) {
    const Device device{Kind::cuda, static_cast<std::int16_t>(nb::cast<int>(nb::int_(where[1])))};
    options["stream"] = reinterpret_cast<std::uintptr_t>(Stream::home(device).native());
  }
  nb::dict newer;
  newer.update(options);
  newer["max_version"] = nb::make_tuple(1, 1);
  PyObject* result = PyObject_Call(method.ptr(), nb::tuple().ptr(), newer.ptr());
  if (!result &&
      PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer of the time before versions
    PyErr_Clear();
    result = PyObject_Call(method.ptr(), nb::tuple().ptr(), options.ptr());
  }
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace

std::pair<int, int> dlpack_device(Device d) {
  const int type = d.kind == Kind::cpu ? on_cpu : d.kind == Kind::cuda ? on_cuda : on_other;
  return {type, d.index};
}

nb::object dlpack_capsule(const Array& a, bool versioned, bool copied) {
  const bool read_only = !a.storage().writable();
  if (!versioned) {
    if (read_only)
      raise(PyExc_BufferError, "__dlpack__: a read-only array needs max_version=(1, 0) or later");
    auto* m = exported<DlManaged>(a);
    return nb::steal(
        PyCapsule_New(m, plain_name, [](PyObject* c) { drop_capsule<DlManaged>(c, plain_name); }));
  }
  auto* m = exported<DlVersioned>(a);
  m->major = 1;
  m->flags = (read_only ? flag_read_only : 0) | (copied ? flag_copied : 0);
  return nb::steal(PyCapsule_New(
      m, versioned_name, [](PyObject* c) { drop_capsule<DlVersioned>(c, versioned_name); }));
}

Array array_from_dlpack(nb::handle h) {
  nb::object capsule = PyCapsule_CheckExact(h.ptr()) ? nb::borrow(h) : call_dlpack(h);
  PyObject* c = capsule.ptr();
  if (PyCapsule_IsValid(c, versioned_name)) {
    auto* m = static_cast<DlVersioned*>(PyCapsule_GetPointer(c, versioned_name));
    require<DTypeError>(m->major == 1, "from_dlpack: DLPack version ", m->major,
                        " is not supported; expected 1");
    PyCapsule_SetName(c, "used_dltensor_versioned");
    return adopt(m, !(m->flags & flag_read_only));
  }
  require<DTypeError>(
      PyCapsule_IsValid(c, plain_name),
      "from_dlpack: __dlpack__ did not give a tensor, or the capsule was used before");
  auto* m = static_cast<DlManaged*>(PyCapsule_GetPointer(c, plain_name));
  PyCapsule_SetName(c, "used_dltensor");
  return adopt(m, true);
}

Array array_from_cuda_interface(nb::handle h) {
  nb::dict d = nb::borrow<nb::dict>(h.attr("__cuda_array_interface__"));
  const std::string type = nb::cast<std::string>(nb::str(d["typestr"]));
  const DType dtype = dtype_from(d["typestr"]);
  Layout l = Layout::contiguous(shape_from(d["shape"]));
  if (d.contains("strides") && !nb::object(d["strides"]).is_none()) {
    const Shape bytes = shape_from(d["strides"]);
    for (i64 i = 0; i < bytes.size(); ++i) l.strides[i] = bytes[i] / size_of(dtype);
  }
  nb::tuple data = nb::borrow<nb::tuple>(d["data"]);
  const Device device{Kind::cuda, 0};
  const bool ordered = d.contains("stream") && !nb::object(d["stream"]).is_none();
  if (ordered) {
    auto* stream =
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(int_from(d["stream"], "stream")));
    released([&] { compute_device(device).sync_stream(device.index, stream); });
  }
  const auto [low, high] = l.span();
  auto* first =
      reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(int_from(data[0], "data")));
  l.offset = high < low ? 0 : -low;
  PyObject* owner = h.ptr();
  Py_INCREF(owner);
  auto release = [owner] {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire locked;
    Py_DECREF(owner);
  };
  Storage s =
      Storage::adopt(device, first + low * size_of(dtype), (high - low + 1) * size_of(dtype),
                     release, !nb::cast<bool>(nb::bool_(data[1])));
  return Array(std::move(s), std::move(l), dtype);
}

}  // namespace tessera::python
