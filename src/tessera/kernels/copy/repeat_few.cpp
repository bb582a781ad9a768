// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/repeat_few.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

constexpr i64 most = 4096, most_written = 16384;  // elements
// Of blocks that are worth a call of memcpy more, as long as the second cache holds the result.
constexpr i64 large_block = 512;  // bytes
constexpr i64 most_in_blocks = 32768, most_written_in_blocks = 65536;

// The entries along an axis: `outer` runs of times.size() blocks (or of `n`, with one number for
// all).
struct Blocks {
  i64 outer = 1, n = 1;
  i64 bytes = 1;  // of a block
  std::span<const i64> times;

  i64 count(i64 i) const { return times[times.size() == 1 ? 0 : static_cast<std::size_t>(i)]; }
};

template <class T>
void repeat_elements(const Blocks& b, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (i64 o = 0; o < b.outer; ++o)
    for (i64 i = 0; i < b.n; ++i, ++x)
      for (i64 k = b.count(i); k > 0; --k) *y++ = *x;
}

void repeat_blocks(const Blocks& b, const void* from, void* to) {
  const auto bytes = static_cast<std::size_t>(b.bytes);
  const auto* x = static_cast<const std::byte*>(from);
  auto* y = static_cast<std::byte*>(to);
  for (i64 o = 0; o < b.outer; ++o)
    for (i64 i = 0; i < b.n; ++i, x += bytes)
      for (i64 k = b.count(i); k > 0; --k, y += bytes) std::memcpy(y, x, bytes);
}

}  // namespace

bool repeat_few(const Array& x, std::span<const i64> times, std::optional<i64> axis, Array& out) {
  if (x.device() != cpu || x.size() > most_in_blocks || x.size() == 0 || !x.is_contiguous())
    return false;
  Shape shape = axis ? x.shape() : Shape{x.size()};
  const i64 rank = shape.size(), a = axis.value_or(0) + (axis.value_or(0) < 0 ? rank : 0);
  if (a < 0 || a >= rank) return false;
  Blocks b{.n = shape[a], .bytes = size_of(x.dtype()), .times = times};
  if (times.size() != 1 && static_cast<i64>(times.size()) != b.n) return false;
  for (i64 k = 0; k < a; ++k) b.outer *= shape[k];
  for (i64 k = a + 1; k < rank; ++k) b.bytes *= shape[k];
  const bool large = b.bytes >= large_block;
  if (!large && x.size() > most) return false;
  const i64 written = large ? most_written_in_blocks : most_written;
  i64 total = 0;
  for (i64 i = 0; i < b.n; ++i) {
    if (b.count(i) < 0 || b.count(i) > written) return false;
    total += b.count(i);
  }
  if (total > written / x.size() * b.n) return false;
  shape[a] = total;
  out = empty_dense(shape, x.dtype());
  x.storage().wait();
  const void* from = x.data();
  switch (b.bytes) {
    case 1: repeat_elements<std::uint8_t>(b, from, out.data()); break;
    case 4: repeat_elements<std::uint32_t>(b, from, out.data()); break;
    case 8: repeat_elements<std::uint64_t>(b, from, out.data()); break;
    default: repeat_blocks(b, from, out.data());
  }
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "copy", x.dtype());
  return true;
}

}  // namespace tessera
