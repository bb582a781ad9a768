// SPDX-License-Identifier: Apache-2.0
// Arrays from arrays: repeated, joined, stacked, rolled, turned.
#include "tessera/kernels/copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/repeat.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera {
namespace {

void check_parts(std::span<const Array> arrays, i64 axis) {
  const Shape& first = arrays[0].shape();
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    const Shape& shape = arrays[k].shape();
    require<ShapeError>(
        shape.size() == first.size(),
        "all the input arrays must have same number of dimensions, but the array at index 0 has ",
        first.size(), " dimension(s) and the array at index ", k, " has ", shape.size(),
        " dimension(s)");
    for (i64 a = 0; a < first.size(); ++a)
      require<ShapeError>(
          a == axis || shape[a] == first[a],
          "all the input array dimensions except for the concatenation axis must match exactly, "
          "but along dimension ",
          a, ", the array at index 0 has size ", first[a], " and the array at index ", k,
          " has size ", shape[a]);
  }
}

// Copies x into y turned by shifts[k] along axes[k], for k and all that follow.
void roll_into(const Array& x, const Array& y, const Shape& shifts, const Shape& axes, i64 k) {
  if (k == axes.size()) {
    y.copy_from(x);
    return;
  }
  const i64 a = axes[k], n = x.shape(a);
  if (n == 0) return;
  const i64 shift = ((shifts[k] % n) + n) % n;
  roll_into(x.slice(a, 0, n - shift), y.slice(a, shift, n), shifts, axes, k + 1);
  if (shift > 0) roll_into(x.slice(a, n - shift, n), y.slice(a, 0, shift), shifts, axes, k + 1);
}

// Small counts that nobody foresees: four copies in any case, those beyond the count are written
// over by what follows.
template <class T>
void repeat_elements(const T* from, std::span<const i64> times, T* to, const T* end) {
  for (const i64 n : times) {
    const T v = *from++;
    if (n <= 4 && end - to >= 4)
      for (i64 k = 0; k < 4; ++k) to[k] = v;
    else
      std::fill(to, to + n, v);
    to += n;
  }
}

void repeat_blocks(const std::byte* from, std::span<const i64> times, std::byte* to, i64 bytes) {
  for (const i64 n : times) {
    for (i64 k = 0; k < n; ++k, to += bytes) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
}

// What lies behind each entry of the axis is a block of `bytes`.
void repeat_line(const std::byte* from, std::span<const i64> times, std::byte* to, i64 total,
                 i64 bytes) {
  const auto elements = [&]<class T>(T) {
    T* const first = reinterpret_cast<T*>(to);
    repeat_elements(reinterpret_cast<const T*>(from), times, first, first + total);
  };
  switch (bytes) {
    case 1: return elements(std::uint8_t{});
    case 2: return elements(std::uint16_t{});
    case 4: return elements(std::uint32_t{});
    case 8: return elements(std::uint64_t{});
    default: return repeat_blocks(from, times, to, bytes);
  }
}

}  // namespace

Array repeat(const Array& x, std::span<const i64> times, i64 axis) {
  i64 total = 0, bytes = size_of(x.dtype()), lines = 1;
  for (const i64 n : times)
    require<ShapeError>(!__builtin_add_overflow(total, n, &total),
                        "repeat: the counts add up to more than 63 bits can count");
  if (x.device() != cpu) {
    const Array places = empty_dense({total}, DType::i64);
    i64* to = places.host<i64>();
    for (std::size_t i = 0; i < times.size(); ++i)
      to = std::fill_n(to, times[i], static_cast<i64>(i));
    return take(x, places.to(x.device()), axis);
  }
  Shape shape = x.shape();
  shape[axis] = total;
  for (i64 a = 0; a < x.ndim(); ++a) (a < axis ? lines : bytes) *= a == axis ? 1 : x.shape(a);
  const Array y = empty_dense(shape, x.dtype()), dense = x.contiguous();
  if (y.size() == 0) return y;
  const auto* from = static_cast<const std::byte*>(dense.host_data());
  auto* to = static_cast<std::byte*>(y.host_data());
  const i64 length = static_cast<i64>(times.size()) * bytes;
  parallel_for(lines, std::max<i64>(1, (1 << 16) / (total * bytes)), [&](i64 begin, i64 end) {
    for (i64 l = begin; l < end; ++l)
      repeat_line(from + l * length, times, to + l * total * bytes, total, bytes);
  });
  return y;
}

Array concatenate(std::span<const Array> arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to concatenate");
  require<ShapeError>(arrays[0].ndim() > 0, "zero-dimensional arrays cannot be concatenated");
  axis = normalize_axis(axis, arrays[0].ndim(), "concatenate");
  check_parts(arrays, axis);
  Shape shape = arrays[0].shape();
  shape[axis] = 0;
  std::vector<DType> dtypes;
  std::vector<const Array*> pointers;
  for (const Array& a : arrays) {
    shape[axis] += a.shape(axis);
    dtypes.push_back(a.dtype());
    pointers.push_back(&a);
  }
  Array y = Array::empty(shape, promote(dtypes), common_device("concatenate", pointers));
  i64 begin = 0;
  for (const Array& a : arrays) {
    const i64 end = begin + a.shape(axis);
    y.slice(axis, begin, end).copy_from(a);
    begin = end;
  }
  return y;
}

Array stack(std::span<const Array> arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to stack");
  for (const Array& a : arrays)
    require<ShapeError>(a.shape() == arrays[0].shape(),
                        "all input arrays must have the same shape");
  axis = normalize_axis(axis, arrays[0].ndim() + 1, "stack");
  std::vector<Array> wide;
  for (const Array& a : arrays) wide.push_back(a.expand_dims(axis));
  return concatenate(wide, axis);
}

Array roll(const Array& x, const Shape& shifts, const Shape& axes) {
  if (axes.empty()) {  // over the flattened array
    require<ArgumentError>(shifts.size() == 1, "roll: without axes there is one shift, got ",
                           shifts.size());
    return roll(x.reshape({-1}), shifts, {0}).reshape(x.shape());
  }
  const i64 n = std::max(shifts.size(), axes.size());
  require<ArgumentError>(
      (shifts.size() == n || shifts.size() == 1) && (axes.size() == n || axes.size() == 1),
      "'shift' and 'axis' should be scalars or 1D sequences of one length, got ", shifts.size(),
      " shifts and ", axes.size(), " axes");
  Shape where, total;  // an axis named twice is turned by the sum
  for (i64 k = 0; k < n; ++k) {
    const i64 axis = normalize_axis(axes[axes.size() == 1 ? 0 : k], x.ndim(), "roll");
    const i64 shift = shifts[shifts.size() == 1 ? 0 : k];
    const i64* found = std::find(where.begin(), where.end(), axis);
    if (found != where.end()) {
      total[found - where.begin()] += shift;
    } else {
      where.push_back(axis);
      total.push_back(shift);
    }
  }
  Array y = Array::empty(x.shape(), x.dtype(), x.device());
  roll_into(x, y, total, where, 0);
  return y;
}

Array flip(const Array& x, const Shape& axes) {
  Layout l = x.layout();
  for (i64 a : axes) {
    a = normalize_axis(a, x.ndim(), "flip");
    l = l.slice(a, l.shape[a] - 1, l.shape[a], -1);
  }
  return x.view(std::move(l));
}

}  // namespace tessera
