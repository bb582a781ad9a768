// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/clip.hpp"

#include <algorithm>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/elementwise/elementwise_cpu.hpp"

namespace tessera {

Array clip_dense(const Array& x, const Value& low, const Value& high) {
  const bool real = low.kind() != Value::Kind::complex && high.kind() != Value::Kind::complex;
  const DType t = x.dtype();
  if (!real || x.device() != cpu || (t != DType::f32 && t != DType::f64) || !x.is_contiguous())
    return {};
  const Array y = Array::empty(x.shape(), t, cpu);
  if (!y.is_contiguous()) return {};
  const BlockFn raise = element_block(ElementOp::maximum, t),
                lower = element_block(ElementOp::minimum, t);
  const Element limits[] = {element_of(low, t), element_of(high, t)};
  x.storage().wait();
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  constexpr i64 part = 2048;  // elements: the second pass finds them in the first cache
  parallel_for(x.size(), 32768, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; i += part) {
      const i64 n = std::min(part, end - i), at = i * size_of(t);
      const void* raised[] = {from + at, &limits[0]};
      raise(raised, to + at, n, 2);
      const void* lowered[] = {to + at, &limits[1]};
      lower(lowered, to + at, n, 2);
    }
  });
  return y;
}

}  // namespace tessera
