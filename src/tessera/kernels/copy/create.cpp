// SPDX-License-Identifier: Apache-2.0
// Arrays from numbers. Ranges are written on the host and moved.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/wide_stores.hpp"

namespace tessera {
namespace {

__extension__ using Wide = __int128;

Wide whole(const Value& v) {
  return v.kind() == Value::Kind::natural ? static_cast<Wide>(v.as<std::uint64_t>())
                                          : static_cast<Wide>(v.as<i64>());
}

bool all_integers(const Value& a, const Value& b, const Value& c) {
  return a.is_integer() && b.is_integer() && c.is_integer();
}

// As NumPy: the first two elements are converted, the others continue their difference in the
// dtype.
template <class T>
void write_range(const Array& y, const Value& start, const Value& step, i64 offset) {
  using W = Work<T>;
  W first, second;
  if (all_integers(start, start, step)) {
    first = convert<W>(static_cast<i64>(whole(start)));
    second = convert<W>(static_cast<i64>(whole(start) + whole(step)));
  } else {
    first = convert<W>(convert<T>(start.as<double>()));
    second = convert<W>(convert<T>(start.as<double>() + step.as<double>()));
  }
  if constexpr (!std::is_same_v<T, bool>) {
    const W delta = element::subtract{}(second, first);
    T* p = y.host<T>();
    parallel_for(y.size(), 32768, [=](i64 begin, i64 end) {
      const auto at = [=](i64 i) {
        return element::add{}(first, element::multiply{}(convert<W>(offset + i), delta));
      };
      wide_stores((end - begin) * static_cast<i64>(sizeof(T)), [=] {
        if constexpr (element::Integer<W>) {  // sums wrap as products do, and cost less
          W next = at(begin);
          for (i64 i = begin; i < end; ++i, next = element::add{}(next, delta)) p[i] = next;
        } else {
          for (i64 i = begin; i < end; ++i) p[i] = convert<T>(at(i));
        }
      });
    });
  } else {
    bool* p = y.host<bool>();
    for (i64 i = 0; i < y.size(); ++i) p[i] = offset + i == 0 ? first : second;
  }
}

}  // namespace

Array full(const Shape& shape, const Value& v, DType dtype, Device device) {
  constexpr i64 few_bytes = 1 << 18;  // which one thread clears in some microseconds
  // The integer zero is zero bytes in every dtype. What is too long to count is empty()'s to
  // refuse.
  const i64 item = size_of(dtype), count = count_of(shape);
  const bool zero = device == cpu && v.is_integer() && v.as<i64>() == 0;
  const bool few = count <= few_bytes && count * item <= few_bytes;
  if (zero && !few && !config().noncontiguous && count >= large_request / item &&
      count < (i64{1} << 60) / item)
    return {zeroed_storage(count * item), Layout::contiguous(shape), dtype};
  Array y = Array::empty(shape, dtype, device);
  if (zero && few && y.is_contiguous()) {
    tessera::count(Counter::launches);
    tag_launch(name(Kind::cpu), "fill", dtype);
    std::memset(y.data(), 0, static_cast<std::size_t>(count * item));
    return y;
  }
  y.fill(v);
  return y;
}
Array zeros(const Shape& shape, DType dtype, Device device) {
  return full(shape, Value(0), dtype, device);
}
Array ones(const Shape& shape, DType dtype, Device device) {
  return full(shape, Value(1), dtype, device);
}

i64 arange_length(const Value& start, const Value& stop, const Value& step) {
  if (all_integers(start, stop, step)) {
    const Wide width = whole(stop) - whole(start), s = whole(step);
    require<ArgumentError>(s != 0, "arange: the step is zero");
    if (width == 0 || (width < 0) != (s < 0)) return 0;
    const Wide n = (width + (s > 0 ? s - 1 : s + 1)) / s;
    require<ArgumentError>(n <= INT64_MAX, "arange: Maximum allowed size exceeded");
    return static_cast<i64>(n);
  }
  const double s = step.as<double>(), n = std::ceil((stop.as<double>() - start.as<double>()) / s);
  require<ArgumentError>(s != 0, "arange: the step is zero");
  require<ArgumentError>(!std::isnan(n), "arange: cannot compute length");
  require<ArgumentError>(n < 9e18, "arange: Maximum allowed size exceeded");
  return n <= 0 ? 0 : static_cast<i64>(n);
}

Array arange_part(const Value& start, const Value& stop, const Value& step, i64 first, i64 count,
                  DType dtype, Device device) {
  const i64 n = arange_length(start, stop, step);
  require<DTypeError>(dtype != DType::b1 || n <= 2,
                      "no fill-function for data-type: arange of bool holds at most two");
  const Array y = empty_dense({count}, dtype, cpu);
  if (count > 0)
    dispatch<TESSERA_ALL_TYPES>(dtype, "arange",
                                [&]<class T>() { write_range<T>(y, start, step, first); });
  return y.to(device);
}

Array arange(const Value& start, const Value& stop, const Value& step, DType dtype, Device device) {
  return arange_part(start, stop, step, 0, arange_length(start, stop, step), dtype, device);
}

Array linspace_part(double start, double stop, i64 n, i64 first, i64 count, DType dtype,
                    Device device) {
  require<ArgumentError>(n >= 0, "Number of samples, ", n, ", must be non-negative.");
  const Array y = empty_dense({count}, DType::f64, cpu);
  double* p = y.host<double>();
  const double width = stop - start, parts = static_cast<double>(n - 1), step = width / parts;
  parallel_for(count, 32768, [=](i64 begin, i64 end) {
    // In blocks whose positions 32 bits count: registers make doubles of those.
    const auto write = [=](auto at) {
      constexpr i64 block = 4096;
      for (i64 i = begin; i < end; i += block) {
        const double k = static_cast<double>(first + i);
        const int m = static_cast<int>(std::min(block, end - i));
        double* const q = p + i;
        for (int j = 0; j < m; ++j) q[j] = start + at(k + j);
      }
    };
    wide_stores((end - begin) * 8, [=] {
      if (n == 1)
        write([](double) { return 0.0; });
      else if (step == 0)
        write([=](double k) { return k / parts * width; });
      else
        write([=](double k) { return k * step; });
    });
  });
  if (n > 1 && count > 0 && first + count == n) p[count - 1] = stop;
  if (is_integer(dtype))
    for (i64 i = 0; i < count; ++i) p[i] = std::floor(p[i]);
  return y.astype(dtype).to(device);
}

Array linspace(double start, double stop, i64 n, DType dtype, Device device) {
  return linspace_part(start, stop, n, 0, n, dtype, device);
}

Array eye(i64 rows, i64 columns, i64 diagonal, DType dtype, Device device) {
  require<ShapeError>(rows >= 0 && columns >= 0, "negative dimensions are not allowed: eye of ",
                      rows, " by ", columns);
  const Array y = zeros({rows, columns}, dtype, device);
  const i64 row = std::max<i64>(0, -diagonal), column = std::max<i64>(0, diagonal);
  const i64 n = std::min(rows - row, columns - column);
  if (n <= 0) return y;
  const Layout& l = y.layout();
  Layout line;
  line.shape = {n};
  line.strides = {l.strides[0] + l.strides[1]};
  line.offset = l.offset + row * l.strides[0] + column * l.strides[1];
  y.view(line).fill(Value(1));
  return y;
}

}  // namespace tessera
