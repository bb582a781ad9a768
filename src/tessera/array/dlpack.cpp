// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/dlpack.hpp"

#include <utility>

#include "tessera/device/registry.hpp"
#include "tessera/device/stream.hpp"

namespace tessera {
namespace {

DLDataType dlpack_dtype(DType t) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(t));
  DLDataTypeCode code = dlpack::code_float;
  if (t == DType::b1) code = dlpack::code_bool;
  if (t == DType::bf16) code = dlpack::code_bfloat;
  if (is_signed_int(t)) code = dlpack::code_int;
  if (is_unsigned_int(t)) code = dlpack::code_uint;
  if (is_complex(t)) code = dlpack::code_complex;
  return {code, bits, 1};
}

DType dtype_from(const DLDataType& d) {
  require<DTypeError>(d.lanes == 1, "from_dlpack: elements of ", d.lanes,
                      " lanes; one was expected");
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    const DLDataType known = dlpack_dtype(t);
    if (known.code == d.code && known.bits == d.bits) return t;
  }
  throw DTypeError(cat(
      "from_dlpack: dtype with code ", static_cast<int>(d.code), " and ", static_cast<int>(d.bits),
      " bits; known are bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, "
      "complex64 and complex128"));
}

Device device_from(const DLDevice& d) {
  switch (d.device_type) {
    case dlpack::on_cpu:
    case dlpack::on_cuda_host: return cpu;
    case dlpack::on_cuda:
    case dlpack::on_cuda_managed:
      require<DeviceError>(d.device_id >= 0 && d.device_id < 0x7fff,
                           "from_dlpack: cuda device number ", d.device_id);
      return {Kind::cuda, static_cast<std::int16_t>(d.device_id)};
    default:
      throw DeviceError(
          cat("from_dlpack: device type ", d.device_type,
              "; known are 1 (cpu), 2 (cuda), 3 (cuda host memory) and 13 (cuda managed memory)"));
  }
}

// Shape and strides as they were given, with every size checked; offset 0 at the tensor's first
// element.
Layout layout_from(const DLTensor& t) {
  require<ShapeError>(t.ndim >= 0 && t.ndim <= max_rank, "from_dlpack: ", t.ndim, " axes; 0 to ",
                      max_rank, " were expected");
  require<ArgumentError>(t.ndim == 0 || t.shape != nullptr, "from_dlpack: ", t.ndim,
                         " axes and no shape");
  Shape shape;
  for (int i = 0; i < t.ndim; ++i) shape.push_back(t.shape[i]);
  Layout l = Layout::contiguous(shape);  // ShapeError for negative and overflowing sizes
  if (t.strides == nullptr) return l;
  i64 reach = 0;
  bool fits = true;
  for (int i = 0; i < t.ndim; ++i) {
    l.strides[i] = t.strides[i];
    i64 axis = 0;
    if (shape[i] > 0)
      fits =
          fits && !__builtin_mul_overflow(shape[i] - 1, t.strides[i], &axis) && axis != INT64_MIN;
    fits = fits && !__builtin_add_overflow(reach, axis < 0 ? -axis : axis, &reach);
  }
  require<ShapeError>(fits && reach < (i64{1} << 58), "from_dlpack: strides ", l.strides,
                      " of shape ", shape, " reach beyond 63 bits of bytes");
  return l;
}

// Adopts the tensor's memory; `release` runs once, here when something is refused, else with the
// last array.
template <class Managed>
Array import(Managed* m, bool read_only) {
  auto release = [m] {
    if (m->deleter) m->deleter(m);
  };
  try {
    const DLTensor& t = m->dl_tensor;
    const DType dtype = dtype_from(t.dtype);
    const Device device = device_from(t.device);
    Layout l = layout_from(t);
    read_only = read_only || l.self_overlaps();  // an expanded tensor
    const i64 size = size_of(dtype);
    auto* first = static_cast<std::byte*>(t.data) + t.byte_offset;
    // Elements before the first one (negative strides) belong to the storage too.
    auto [low, high] = l.span();
    if (l.size() == 0)
      return Array(Storage::adopt(device, nullptr, 0, release, !read_only), l, dtype);
    require<ArgumentError>(t.data != nullptr, "from_dlpack: shape ", l.shape, " and no memory");
    const auto alignment = static_cast<std::uintptr_t>(size);
    require<ArgumentError>(reinterpret_cast<std::uintptr_t>(first) % alignment == 0,
                           "from_dlpack: ", name(dtype),
                           " at an address that is not a multiple of ", alignment);
    l.offset = -low;
    return Array(
        Storage::adopt(device, first + low * size, (high - low + 1) * size, release, !read_only), l,
        dtype);
  } catch (...) {
    release();
    throw;
  }
}

// What an exported tensor keeps alive, with the structures that point into it.
template <class Managed>
struct Export {
  Array array;
  Shape shape;
  Strides strides;
  void* consumer = nullptr;
  Managed managed{};
};

template <class Managed>
Export<Managed>* make_export(const Array& x, void* consumer) {
  const DLDevice device = dlpack_device(x);
  auto* e = new Export<Managed>{x, x.shape(), x.layout().strides, consumer, {}};
  DLTensor& t = e->managed.dl_tensor;
  t.data = x.size() == 0 ? nullptr : x.data();
  t.device = device;
  t.ndim = static_cast<std::int32_t>(x.ndim());
  t.dtype = dlpack_dtype(x.dtype());
  t.shape = e->shape.data();
  t.strides = e->strides.data();
  t.byte_offset = 0;
  e->managed.manager_ctx = e;
  e->managed.deleter = [](Managed* self) {
    auto* mine = static_cast<Export<Managed>*>(self->manager_ctx);
    if (mine->consumer) home_waits_for(mine->array.device(), mine->consumer);
    delete mine;
  };
  return e;
}

}  // namespace

DLDevice dlpack_device(const Array& x) {
  const Device d = x.device();
  require<DeviceError>(d.kind != Kind::sim, "DLPack knows no device ", d,
                       "; copy the array with to(\"cpu\")");
  if (d.kind == Kind::cuda) return {dlpack::on_cuda, d.index};
  // Page-locked memory is named as such only where a CUDA device could make use of the name.
  return {x.storage().is_pinned() && why_unavailable(Kind::cuda).empty() ? dlpack::on_cuda_host
                                                                         : dlpack::on_cpu,
          0};
}

void home_waits_for(Device device, void* stream) noexcept try {
  ComputeDevice& backend = compute_device(device);
  void* event = backend.make_event(device.index);
  try {
    backend.record(device.index, stream, event);
    backend.wait(device.index, Stream::home(device).native(), event);
  } catch (const Error&) {
    // The stream is gone, and its work with it.
  }
  backend.drop_event(device.index, event);
} catch (const Error&) {
  // No event can be made on a device that is lost; nothing runs there either.
}

DLManagedTensorVersioned* to_dlpack(const Array& x, void* consumer) {
  DLManagedTensorVersioned& m = make_export<DLManagedTensorVersioned>(x, consumer)->managed;
  m.version = dlpack::version;
  m.flags = x.storage().writable() ? 0 : dlpack::flag_read_only;
  return &m;
}

DLManagedTensor* to_dlpack_unversioned(const Array& x, void* consumer) {
  require<ArgumentError>(
      x.storage().writable(),
      "to_dlpack: the array is read-only, which DLPack before version 1.0 cannot say");
  return &make_export<DLManagedTensor>(x, consumer)->managed;
}

Array from_dlpack(DLManagedTensorVersioned* m) {
  if (m->version.major != dlpack::version.major) {
    const DLPackVersion v = m->version;
    if (m->deleter) m->deleter(m);  // the one field whose place is fixed for all versions
    throw ArgumentError(cat("from_dlpack: version ", v.major, ".", v.minor, " of DLPack; version ",
                            dlpack::version.major, " is known"));
  }
  return import(m, (m->flags & dlpack::flag_read_only) != 0);
}

Array from_dlpack(DLManagedTensor* m) { return import(m, false); }

}  // namespace tessera
