// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/nonzero/few.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

// f(elements) with a type whose elements are compared with 0; false where there is none.
template <class F>
bool with_elements(const Array& x, F&& f) {
  constexpr i64 most = 4096;
  if (x.device() != cpu || x.size() > most || !x.is_contiguous()) return false;
  x.storage().wait();
  const void* p = x.data();
  switch (x.dtype()) {
    case DType::b1:
    case DType::i8:
    case DType::u8: f(static_cast<const std::uint8_t*>(p)); return true;
    case DType::i16:
    case DType::u16: f(static_cast<const std::uint16_t*>(p)); return true;
    case DType::i32:
    case DType::u32: f(static_cast<const std::uint32_t*>(p)); return true;
    case DType::i64:
    case DType::u64: f(static_cast<const std::uint64_t*>(p)); return true;
    case DType::f32: f(static_cast<const float*>(p)); return true;
    case DType::f64: f(static_cast<const double*>(p)); return true;
    default: return false;
  }
}

// Of bytes: eight counts in a word, none of which overflows.
i64 counted_bytes(const std::uint8_t* x, i64 words) {
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7fU, even = 0x00ff00ff00ff00ffU;
  i64 found = 0;
  for (i64 i = 0; i < words;) {
    std::uint64_t counts = 0;
    for (const i64 end = std::min(i + 255, words); i < end; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, x + 8 * i, sizeof word);
      counts += ((((word & low) + low) | word) & ~low) >> 7;  // 1 for each byte that is not zero
    }
    const std::uint64_t pairs = (counts & even) + (counts >> 8 & even);
    found += static_cast<i64>(pairs * 0x0001000100010001U >> 48);
  }
  return found;
}

template <class T>
i64 counted(const T* x, i64 n) {
  i64 found = 0, i = 0;
  if constexpr (sizeof(T) == 1) {
    found = counted_bytes(x, n / 8);
    i = n - n % 8;
  }
  for (; i < n; ++i) found += x[i] != 0;
  return found;
}

// Of bytes, where it can be told at once.
template <class T>
bool none_of_eight(const T* x) {
  std::uint64_t word = 1;
  if constexpr (sizeof(T) == 1) std::memcpy(&word, x, sizeof word);
  return word == 0;
}

template <class T>
std::vector<Array> found_in(const T* x, const Shape& shape, i64 n) {
  const i64 rank = shape.size(), found = counted(x, n);
  const Array out = empty_dense({found, rank}, DType::i64);
  i64* to = static_cast<i64*>(out.data());
  if (rank == 1) {
    for (i64 i = 0, k = 0; k < found;) {
      if (i + 8 <= n && none_of_eight(x + i)) {
        i += 8;
        continue;
      }
      // Written in any case, kept where it is not zero.
      for (const i64 end = std::min(i + 8, n); i < end && k < found; ++i) {
        to[k] = i;
        k += x[i] != 0;
      }
    }
    return {out.view(Layout{{found}, {1}, 0})};
  }
  for (i64 i = 0, k = 0; k < found; ++i) {
    if (x[i] == 0) continue;
    i64 rest = i;
    for (i64 axis = rank - 1; axis > 0; --axis) {
      to[k * rank + axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    to[k++ * rank] = rest;
  }
  std::vector<Array> columns;
  columns.reserve(static_cast<std::size_t>(rank));
  for (i64 axis = 0; axis < rank; ++axis)
    columns.push_back(out.view(Layout{{found}, {rank}, found > 0 ? axis : 0}));
  return columns;
}

void tell(const Array& x, const char* what) {
  count(Counter::launches);
  tag_launch(name(Kind::cpu), what, x.dtype());
}

}  // namespace

bool count_few(const Array& x, i64& found) {
  if (!with_elements(x, [&](const auto* p) { found = counted(p, x.size()); })) return false;
  tell(x, "count_nonzero");
  return true;
}

bool find_few(const Array& x, std::vector<Array>& positions) {
  if (!with_elements(x, [&](const auto* p) { positions = found_in(p, x.shape(), x.size()); }))
    return false;
  tell(x, "nonzero");
  return true;
}

}  // namespace tessera
