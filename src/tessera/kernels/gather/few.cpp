// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/gather/few.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {
namespace {

constexpr i64 most = 4096;  // elements

bool is_few(const Array& a) { return a.device() == cpu && a.size() <= most && a.is_contiguous(); }

// For the host to read; on the cpu.
const void* data_of(const Array& a) {
  a.storage().wait();
  return a.data();
}

bool none_of_eight(const std::uint8_t* truths) {
  std::uint64_t word = 0;
  std::memcpy(&word, truths, sizeof word);
  return word == 0;
}

Array read_true(const Array& x, const Array& mask) {
  if (x.ndim() == 0 || !(mask.shape() == x.shape()) || !is_few(x) || !is_few(mask)) return {};
  const i64 n = x.size();
  x.storage().wait();
  const auto* truths = static_cast<const std::uint8_t*>(data_of(mask));
  i64 found = 0;
  for (i64 i = 0; i < n; ++i) found += truths[i];
  Array out = empty_dense({found}, x.dtype());
  with_size(size_of(x.dtype()), [&]<class T>() {
    const T* from = static_cast<const T*>(x.data());
    T* to = static_cast<T*>(out.data());
    for (i64 i = 0, k = 0; k < found;) {
      if (i + 8 <= n && none_of_eight(truths + i)) {
        i += 8;
        continue;
      }
      // Written in any case, kept where it is true.
      for (const i64 end = std::min(i + 8, n); i < end && k < found; ++i) {
        to[k] = from[i];
        k += truths[i];
      }
    }
  });
  return out;
}

// Negative positions count from the end: all within [-n, n).
bool lie_within(const i64* at, i64 count, i64 n) {
  std::uint64_t outside = 0;
  wide([=, &outside] {
    std::uint64_t some = 0;
    for (i64 i = 0; i < count; ++i)
      some |= static_cast<std::uint64_t>(at[i]) + static_cast<std::uint64_t>(n) >=
              static_cast<std::uint64_t>(2 * n);
    outside = some;
  });
  return outside == 0;
}

// Loads before stores: those that miss a cache wait for each other.
template <class T, class Picked>
void take_each(const i64* at, i64 count, T* to, const Picked& picked) {
  constexpr i64 together = 8;
  i64 i = 0;
  for (; i + together <= count; i += together) {
    T some[together];
#pragma GCC unroll 8
    for (i64 k = 0; k < together; ++k) some[k] = picked(at[i + k]);
#pragma GCC unroll 8
    for (i64 k = 0; k < together; ++k) to[i + k] = some[k];
  }
  for (; i < count; ++i) to[i] = picked(at[i]);
}

// One element for each position.
void pick_elements(const Array& x, std::span<const i64> at, const Array& out) {
  const i64 n = x.shape(0), step = x.layout().strides[0], count = static_cast<i64>(at.size());
  const i64* p = at.data();
  with_size(size_of(x.dtype()), [&]<class T>() {
    const T* from = static_cast<const T*>(x.data());
    T* to = static_cast<T*>(out.data());
    if (step == 1)
      take_each(p, count, to, [=](i64 v) { return from[v + ((v >> 63) & n)]; });
    else
      take_each(p, count, to, [=](i64 v) { return from[(v + ((v >> 63) & n)) * step]; });
  });
}

void pick_rows(const Array& x, std::span<const i64> at, i64 row_bytes, const Array& out) {
  const i64 n = x.shape(0), step = x.layout().strides[0] * size_of(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(out.data());
  for (const i64 i : at) {
    std::memcpy(to, from + (i + ((i >> 63) & n)) * step, static_cast<std::size_t>(row_bytes));
    to += row_bytes;
  }
}

}  // namespace

Array read_few(const Array& x, const Array& key) {
  if (key.dtype() == DType::b1) return read_true(x, key);
  Array out;
  take_few(x, key, out);
  return out;
}

Array read_few(const Array& x, std::span<const i64> at, const Shape& lead) {
  constexpr i64 most_taken = 16384;  // elements: what one thread does
  const Layout& l = x.layout();
  const i64 count = static_cast<i64>(at.size()), rank = l.ndim();
  if (rank == 0 || count > most_taken || x.device() != cpu) return {};
  i64 row = 1;  // elements behind each position, side by side
  for (i64 axis = rank - 1; axis > 0; --axis) {
    if (l.strides[axis] != row && l.shape[axis] > 1) return {};
    row *= l.shape[axis];
  }
  if (count * row > most_taken || !lie_within(at.data(), count, l.shape[0])) return {};
  x.storage().wait();
  Shape shape = lead;
  for (i64 axis = 1; axis < rank; ++axis) shape.push_back(l.shape[axis]);
  Array out = empty_dense(shape, x.dtype());
  if (row == 1)
    pick_elements(x, at, out);
  else
    pick_rows(x, at, row * size_of(x.dtype()), out);
  tessera::count(Counter::launches);
  tag_launch(name(Kind::cpu), "gather", x.dtype());
  return out;
}

bool take_few(const Array& x, const Array& at, Array& out) {
  if (at.ndim() == 0 || at.dtype() != DType::i64 || at.device() != cpu || !at.is_contiguous())
    return false;
  out = read_few(x, {static_cast<const i64*>(data_of(at)), static_cast<std::size_t>(at.size())},
                 at.shape());
  return static_cast<bool>(out);
}

bool write_few(const Array& x, const Array& key, const void* one) {
  if (x.ndim() != 1 || key.ndim() != 1 || key.dtype() != DType::i64 || x.device() != cpu ||
      !is_few(key) || !x.storage().writable() || may_share_memory(x, key))
    return false;
  const i64 n = x.shape(0), step = x.layout().strides[0], count = key.size();
  if (step == 0 && n > 1) return false;  // several positions share one element
  x.storage().wait();
  const i64* p = static_cast<const i64*>(data_of(key));
  if (!lie_within(p, count, n)) return false;
  with_size(size_of(x.dtype()), [&]<class T>() {
    T element;
    std::memcpy(static_cast<void*>(&element), one, sizeof element);
    T* to = static_cast<T*>(x.data());
    for (i64 i = 0; i < count; ++i) to[(p[i] + (p[i] < 0 ? n : 0)) * step] = element;
  });
  tessera::count(Counter::launches);
  tag_launch(name(Kind::cpu), "scatter", x.dtype());
  return true;
}

}  // namespace tessera
