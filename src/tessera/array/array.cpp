// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/array.hpp"

#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

i64 bytes_of(const Shape& shape, DType dtype) {
  i64 bytes = 0;
  if (__builtin_mul_overflow(count_of(shape), size_of(dtype), &bytes))
    throw ShapeError(cat("an array of shape ", shape, " of ", name(dtype),
                         " has more bytes than 63 bits can count"));
  return bytes;
}

// Whole-suite configuration "noncontiguous": every fresh array of rank >= 1 has a gap after each
// row, so that code which assumes dense memory fails its tests.
Array padded_empty(const Shape& shape, DType dtype, Device device) {
  Shape wide = shape;
  wide.back() += 1;
  Layout layout = Layout::contiguous(wide);
  layout.shape = shape;
  return Array(Storage::allocate(device, bytes_of(wide, dtype)), layout, dtype);
}

// The same memory, for reading: it stays while any view of it does.
Storage read_only(const Storage& s) {
  return Storage::adopt(
      s.device(), s.data(), s.bytes(), [held = s] {}, false);
}

void write_scalar(void* to, const Value& v, DType dtype) {
  dispatch<TESSERA_ALL_TYPES>(dtype, "scalar", [&]<class T>() {
    T t;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      t = T(v.as<float>());
    else
      t = v.as<T>();
    std::memcpy(to, &t, sizeof t);
  });
}

}  // namespace

Array::Array(Storage storage, Layout layout, DType dtype)
    : storage_(std::move(storage)), layout_(std::move(layout)), dtype_(dtype) {
  const auto [lo, hi] = layout_.span();
  if (lo < 0 ||
      (hi + 1) * size_of(dtype_) > storage_.bytes())  // no require: every array comes here
    throw ShapeError(cat("a layout of ", layout_, " of ", name(dtype_),
                         " does not fit in a storage of ", storage_.bytes(), " bytes"));
}

Array Array::empty(const Shape& shape, DType dtype, Device device) {
  if (config().noncontiguous && !shape.empty() && count_of(shape) > 0)
    return padded_empty(shape, dtype, device);
  return Array(Storage::allocate(device, bytes_of(shape, dtype)), Layout::contiguous(shape), dtype);
}

Array Array::pinned(const Shape& shape, DType dtype, std::optional<Kind> kind) {
  if (!kind) kind = why_unavailable(Kind::cuda).empty() ? Kind::cuda : Kind::sim;
  return Array(Storage::pinned(*kind, bytes_of(shape, dtype)), Layout::contiguous(shape), dtype);
}

Array Array::scalar(const Value& v, DType dtype) {
  Array a(Storage::allocate(cpu, size_of(dtype)), Layout{}, dtype);
  write_scalar(a.data(), v, dtype);
  return a;
}

void* Array::host_data() const {
  require<DeviceError>(compute_device(device().kind).host_memory(),
                       "the host cannot read an array on ", device(), "; copy it with to(\"cpu\")");
  storage_.wait();
  return data();
}

Array Array::select(i64 axis, i64 index) const {
  axis = normalize_axis(axis, ndim(), "select");
  const i64 n = shape(axis);
  require<IndexError>(index >= -n && index < n, "index ", index, " is out of bounds for axis ",
                      axis, " with size ", n);
  return view(layout_.select(axis, index < 0 ? index + n : index));
}

Array Array::slice(i64 axis, i64 start, i64 stop, i64 step) const {
  require<ArgumentError>(step != 0, "slice step cannot be zero");
  axis = normalize_axis(axis, ndim(), "slice");
  const i64 n = shape(axis), low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  auto clip = [&](i64 v) { return std::clamp(v < 0 ? v + n : v, low, high); };
  const i64 first = clip(start), last = clip(stop);
  const i64 span = step > 0 ? last - first : first - last, width = step > 0 ? step : -step;
  return view(layout_.slice(axis, first, span <= 0 ? 0 : (span - 1) / width + 1, step));
}

Array Array::permute(std::span<const i64> axes) const {
  require<ArgumentError>(static_cast<i64>(axes.size()) == ndim(),
                         "axes don't match array: ", axes.size(), " axes for ", ndim(),
                         " dimensions");
  Shape order;
  for (i64 a : axes) {
    a = normalize_axis(a, ndim(), "");
    require<ArgumentError>(std::find(order.begin(), order.end(), a) == order.end(),
                           "repeated axis in transpose");
    order.push_back(a);
  }
  return view(layout_.permute(order));
}

Array Array::transpose() const {
  Shape axes;
  for (i64 i = ndim() - 1; i >= 0; --i) axes.push_back(i);
  return view(layout_.permute(axes));
}

Array Array::swap_axes(i64 a, i64 b) const {
  a = normalize_axis(a, ndim(), "swapaxes");
  b = normalize_axis(b, ndim(), "swapaxes");
  Layout l = layout_;
  std::swap(l.shape[a], l.shape[b]);
  std::swap(l.strides[a], l.strides[b]);
  return view(std::move(l));
}

Array Array::broadcast_to(const Shape& to) const {
  return Array(read_only(storage_), layout_.broadcast_to(to), dtype_);
}

Array Array::reshape(const Shape& to) const {
  Shape full = to;
  i64 unknown = -1, known = 1;
  for (i64 i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      require<ShapeError>(unknown < 0, "can only specify one unknown dimension");
      unknown = i;
    } else {
      known *= to[i];
    }
  }
  require<ShapeError>(unknown < 0 || known != 0, "cannot reshape array of size ", size(),
                      " into shape ", to, ": the size of -1 could be anything");
  if (unknown >= 0) full[unknown] = size() / known;
  require<ShapeError>(count_of(full) == size(), "cannot reshape array of size ", size(),
                      " into shape ", to);
  if (auto l = layout_.reshape(full)) return view(*l);
  const Array dense = copy();
  return dense.view(*dense.layout().reshape(full));
}

Array Array::squeeze() const {
  Layout l = layout_;
  for (i64 i = ndim() - 1; i >= 0; --i)
    if (l.shape[i] == 1) l = l.select(i, 0);
  return view(std::move(l));
}

Array Array::squeeze(i64 axis) const {
  axis = normalize_axis(axis, ndim(), "squeeze");
  require<ShapeError>(shape(axis) == 1,
                      "cannot select an axis to squeeze out which has size not equal to one");
  return view(layout_.select(axis, 0));
}

Array Array::expand_dims(i64 axis) const {
  return view(layout_.insert_axis(normalize_axis(axis, ndim() + 1, "expand_dims")));
}

Array Array::real() const {
  if (!is_complex(dtype_)) return *this;
  Layout l = layout_;
  for (i64& s : l.strides) s *= 2;
  l.offset *= 2;
  return Array(storage_, std::move(l), real_of(dtype_));
}

Array Array::imag() const {
  if (!is_complex(dtype_)) {
    Array zero = empty(shape(), dtype_, device());
    zero.fill(Value(0));
    return Array(read_only(zero.storage_), zero.layout_, dtype_);  // what is written there is lost
  }
  Array re = real();
  if (size() > 0) ++re.layout_.offset;
  return re;
}

bool may_share_memory(const Array& a, const Array& b) {
  if (a.size() == 0 || b.size() == 0 || a.device() != b.device()) return false;
  auto bounds = [](const Array& x) {
    const auto [lo, hi] = x.layout().span();
    const auto base = reinterpret_cast<std::uintptr_t>(x.storage().data());
    const i64 size = size_of(x.dtype());
    return std::pair(base + static_cast<std::uintptr_t>(lo * size),
                     base + static_cast<std::uintptr_t>((hi + 1) * size));
  };
  const auto [a0, a1] = bounds(a);
  const auto [b0, b1] = bounds(b);
  return a0 < b1 && b0 < a1;
}

Device common_device(std::string_view who, std::span<const Array* const> arrays) {
  const Device first = arrays.front()->device();
  for (const Array* a : arrays)
    require<DeviceError>(a->device() == first, who, ": operands on ", first, " and ", a->device(),
                         "; move them with to()");
  return first;
}

}  // namespace tessera
