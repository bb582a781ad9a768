// SPDX-License-Identifier: Apache-2.0
// The members of Array that move data. Conversions and strided copies are element-wise launches;
// transfers between devices move dense blocks of bytes.
#include "tessera/kernels/copy/copy.hpp"

#include <cstring>

#include "tessera/base/report/watch.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

// Small dense arrays on the cpu, where work is done in the caller anyway: no plan, no queue.
bool is_small(const Array& a) {
  constexpr i64 most = 16384;
  return a.device() == cpu && a.size() <= most && a.is_contiguous();
}

// Whether a small array was written from evenly spaced elements, or from a few rows of such.
bool copied_at_once(const Array& to, const Layout& from_layout, const Array& from) {
  constexpr i64 most_rows = 64;
  if (!is_small(to) || from.device() != cpu) return false;
  const i64 size = to.size(), last = from_layout.ndim() - 1;
  const bool dense = from_layout.dense();
  const i64 length = dense || last <= 0 ? size : from_layout.shape[last];
  if (length > 0 && size / length > most_rows) return false;
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "copy", from.dtype());
  if (size == 0) return true;
  const i64 element = size_of(from.dtype()), width = length * size_of(to.dtype());
  const i64 step = dense ? element : from_layout.strides[last] * element;
  const CastRow row = cast_row(from.dtype(), to.dtype());
  const auto* x = static_cast<const std::byte*>(from.data());
  auto* y = static_cast<std::byte*>(to.data());
  Shape at(std::max<i64>(last, 0), 0);
  for (i64 left = size / length; left > 0; --left, y += width) {
    row(x, step, y, size_of(to.dtype()), length);
    for (i64 axis = left > 1 ? last - 1 : -1; axis >= 0; --axis) {
      x += from_layout.strides[axis] * element;
      if (++at[axis] < from_layout.shape[axis]) break;
      x -= from_layout.shape[axis] * from_layout.strides[axis] * element;
      at[axis] = 0;
    }
  }
  return true;
}

void launch_copy(const Array& to, const Layout& from_layout, const Array& from) {
  if (copied_at_once(to, from_layout, from)) return;
  const ElementwiseSpec spec{.op = ElementOp::copy,
                             .compute = from.dtype(),
                             .inputs = {{.operand = {from_layout, from.dtype()}, .immediate = {}}},
                             .out = operand_of(to)};
  launch_now(&KernelTable::elementwise, "copy", spec, to.device(), {&from, &to});
}

void require_writable(const Array& a) {
  require<ArgumentError>(a.storage().writable(), "assignment destination is read-only");
}

// The same bytes on another device; x is dense. The host's end is finished when this returns:
// whoever holds a cpu array may read or write it at once.
Array transfer(const Array& x, Device to) {
  Array y = empty_dense(x.shape(), x.dtype(), to);
  if (x.size() == 0) return y;
  const Stream stream = Stream::home(to == cpu ? x.device() : to);
  if (x.device() != cpu && to != cpu) {
    stream.wait(Stream::home(x.device()).record());
    x.storage().record_stream(stream);
  }
  const bool by_host = x.device() == cpu || to == cpu;
  const bool pinned = (to == cpu ? y : x).storage().is_pinned();
  if (by_host && !pinned && stream_copy(stream, y.data(), to, x.data(), x.device(), x.bytes()))
    return y;
  stream.copy(y.data(), to, x.data(), x.device(), x.bytes());
  if (x.device() == cpu && !pinned) {
    saw(Watched::pageable_copies);
    saw(Watched::pageable_bytes, x.bytes());
  }
  if (by_host) stream.sync();
  return y;
}

template <class T>
Value read_value(const void* p) {
  T t;
  std::memcpy(&t, p, sizeof t);
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return Value(t);
  else if constexpr (std::is_integral_v<T>)
    return Value(static_cast<i64>(t));
  else if constexpr (is_complex_v<T>)
    return Value(c128(t));
  else
    return Value(static_cast<double>(static_cast<float>(t)));
}
template <>
Value read_value<double>(const void* p) {
  double t;
  std::memcpy(&t, p, sizeof t);
  return Value(t);
}
template <>
Value read_value<bool>(const void* p) {
  return Value(*static_cast<const unsigned char*>(p) != 0);
}

}  // namespace

Array empty_dense(const Shape& shape, DType dtype, Device device) {
  Layout layout = Layout::contiguous(shape);
  i64 bytes = 0;
  require<ShapeError>(!__builtin_mul_overflow(layout.size(), size_of(dtype), &bytes),
                      "an array of shape ", shape, " of ", dtype,
                      " has more bytes than 63 bits can count");
  return Array(Storage::allocate(device, bytes), std::move(layout), dtype);
}

Array Array::to(Device device) const {
  if (device == this->device()) return *this;
  (void)compute_device(device);
  const bool two_kinds =
      device.kind != this->device().kind && device != cpu && this->device() != cpu;
  if (two_kinds) return to(cpu).to(device);
  return transfer(contiguous(), device);
}

Array Array::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array y = empty(shape(), dtype, device());
  launch_copy(y, layout_, *this);
  return y;
}

Array Array::contiguous() const { return is_contiguous() ? *this : copy(); }

Array Array::pin_memory() const {
  if (is_pinned()) return *this;
  require<DeviceError>(device() == cpu, "pin_memory: the array is on ", device(),
                       "; only host memory is pinned");
  Array y = pinned(shape(), dtype_);
  launch_copy(y, layout_, *this);
  return y;
}

Array Array::copy() const {
  Array y = empty_dense(shape(), dtype_, device());
  launch_copy(y, layout_, *this);
  return y;
}

void Array::fill(const Value& v) const {
  require_writable(*this);
  require_fits(v, dtype_);
  require<DTypeError>(v.kind() != Value::Kind::complex || is_complex(dtype_) || dtype_ == DType::b1,
                      "fill: an array of ", dtype_, " cannot hold the complex number ", v);
  if (is_small(*this)) {
    count(Counter::launches);
    tag_launch(name(Kind::cpu), "fill", dtype_);
    const Element one = element_of(v, dtype_);
    if (size() > 0) cast_row(dtype_, dtype_)(&one, 0, data(), size_of(dtype_), size());
    return;
  }
  ElementwiseSpec spec{
      .op = ElementOp::copy, .compute = dtype_, .inputs = {}, .out = operand_of(*this)};
  spec.inputs.push_back({.operand = {}, .immediate = v});
  launch_now(&KernelTable::elementwise, "fill", spec, device(), {this});
}

void Array::copy_from(const Array& source) const {
  const Array* both[] = {this, &source};
  (void)common_device("copy", both);
  require_writable(*this);
  require<DTypeError>(can_cast_same_kind(source.dtype(), dtype_),
                      "Cannot cast array data from dtype('", source.dtype(), "') to dtype('",
                      dtype_, "') according to the rule 'same_kind'");
  const Layout from = source.layout().broadcast_to(shape());
  if (may_share_memory(*this, source)) {
    const bool same =
        source.data() == data() && source.dtype() == dtype_ && from.strides == layout_.strides;
    if (same) return;
    const Array apart = source.copy();
    launch_copy(*this, apart.layout().broadcast_to(shape()), apart);
    return;
  }
  launch_copy(*this, from, source);
}

Value Array::item() const {
  require<ArgumentError>(size() == 1, "can only convert an array of size 1 to a Python scalar");
  if (!compute_device(device().kind).host_memory()) return to(cpu).item();
  const void* p = host_data();
  Value v;
  dispatch<TESSERA_ALL_TYPES>(dtype_, "item", [&]<class T>() { v = read_value<T>(p); });
  return v;
}

}  // namespace tessera
