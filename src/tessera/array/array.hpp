// SPDX-License-Identifier: Apache-2.0
#pragma once
// The local n-d array: a storage, a layout and a dtype; a small value handle, positional, without
// names. Copying a handle shares the memory. Only to(), astype(), contiguous() and copy() may move
// data, and they say so by their names. Members that compute are defined beside their kernels
// (kernels/*/): this header states what an array is, the kernels layer what can be done with it.
//   Array x = Array::empty({3, 4}, DType::f32, cpu);   Array row = x.select(0, 1);
//   x.to(Device::parse("sim:0"))

#include "tessera/base/dtype.hpp"
#include "tessera/base/shape.hpp"
#include "tessera/base/value.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {

class Index;  // array/index.hpp

class TESSERA_API Array {
 public:
  Array() = default;  // no array: only assignment is allowed
  Array(Storage storage, Layout layout,
        DType dtype);  // ShapeError when the layout leaves the storage
  static Array empty(const Shape& shape, DType dtype, Device device = cpu);
  // In host memory that is page-locked for transfers of a kind of device; without a kind: of the
  // accelerators that there are.
  static Array pinned(const Shape& shape, DType dtype, std::optional<Kind> kind = std::nullopt);
  // A cpu array of rank 0 that holds v.
  static Array scalar(const Value& v, DType dtype);
  template <class T>
  static Array of(std::initializer_list<T> values);  // 1-d, on the cpu: tests and examples

  explicit operator bool() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return layout_.shape; }
  i64 shape(i64 axis) const { return layout_.shape[axis]; }
  i64 ndim() const { return layout_.ndim(); }
  i64 size() const { return layout_.size(); }
  i64 bytes() const { return size() * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_.device(); }
  const Layout& layout() const { return layout_; }
  const Storage& storage() const { return storage_; }
  bool is_contiguous() const { return layout_.dense(); }
  bool is_pinned() const { return storage_.is_pinned(); }
  // Address of the first element (any device). No wait: for enqueuing work.
  void* data() const {
    return static_cast<std::byte*>(storage_.data()) + layout_.offset * size_of(dtype_);
  }
  // The same, for the host to read or write: waits for pending work, DeviceError off the host.
  void* host_data() const;
  template <class T>
  T* host() const {  // DTypeError unless dtype_of<T> matches
    require<DTypeError>(dtype_of<T> == dtype_, "host<", name(dtype_of<T>), ">: the array holds ",
                        name(dtype_));
    return static_cast<T*>(host_data());
  }

  // Views.
  Array view(Layout layout) const { return Array(storage_, std::move(layout), dtype_); }
  Array select(i64 axis, i64 index) const;                         // IndexError
  Array slice(i64 axis, i64 start, i64 stop, i64 step = 1) const;  // clipped as Python's
  Array permute(std::span<const i64> axes) const;                  // ArgumentError
  Array transpose() const;                                         // all axes reversed
  Array swap_axes(i64 a, i64 b) const;
  Array broadcast_to(const Shape& shape) const;
  Array reshape(const Shape& shape) const;  // one -1 allowed; copies when it must, as NumPy
  Array squeeze() const;
  Array squeeze(i64 axis) const;
  Array expand_dims(i64 axis) const;
  Array real() const;  // a view for complex; the array itself for real types
  Array imag() const;  // a view for complex; zeros for real types

  // Data (defined in kernels/copy/).
  Array to(Device device) const;    // the array itself when it is there already
  Array astype(DType dtype) const;  // the array itself when it has that dtype
  Array contiguous() const;         // the array itself when it is
  Array pin_memory() const;         // in pinned host memory; the array itself when it is
  Array copy() const;
  void fill(const Value& v) const;
  void copy_from(const Array& source) const;  // broadcasts and casts (same kind); same device
  Value item() const;  // rank 0 or one element; waits, and copies off a device

  // NumPy indexing (defined in kernels/gather/): views for basic keys, copies for advanced ones.
  Array operator[](const Index& index) const;
  void assign(const Index& index, const Array& value) const;

 private:
  Storage storage_;
  Layout layout_;
  DType dtype_ = DType::f32;
};

template <class T>
Array Array::of(std::initializer_list<T> values) {
  Array a = empty({static_cast<i64>(values.size())}, dtype_of<T>);
  std::copy(values.begin(), values.end(), a.host<T>());
  return a;
}

// The memory of two arrays may intersect.
TESSERA_API bool may_share_memory(const Array& a, const Array& b);
// All on one device, else DeviceError "add: operands on cpu and sim:0; move them with to()".
TESSERA_API Device common_device(std::string_view who, std::span<const Array* const> arrays);

}  // namespace tessera
