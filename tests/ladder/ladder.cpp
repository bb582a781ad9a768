// SPDX-License-Identifier: Apache-2.0
#include "ladder/ladder.hpp"

#include <cmath>
#include <limits>

namespace tessera::ladder {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// In -9 … 9 without 0, with a fraction for inexact types.
double number(int seed, i64 place, bool fraction) {
  const std::uint64_t r =
      mixed(static_cast<std::uint64_t>(seed) * 1000003u + static_cast<std::uint64_t>(place));
  const double whole = static_cast<double>(r % 9 + 1),
               part = fraction ? static_cast<double>((r >> 20) % 64) / 97 : 0;
  return (r >> 40) & 1 ? -(whole + part) : whole + part;
}

double special(int seed, i64 place) {
  const std::uint64_t r =
      mixed(static_cast<std::uint64_t>(seed) * 7919u + static_cast<std::uint64_t>(place)) % 16;
  if (r == 0) return std::numeric_limits<double>::quiet_NaN();
  if (r == 1) return std::numeric_limits<double>::infinity();
  if (r == 2) return -std::numeric_limits<double>::infinity();
  if (r == 3) return 0.0;
  if (r == 4) return -0.0;
  return number(seed, place, true);
}

template <class T>
T element_of(int seed, i64 place, bool with_special) {
  const auto real = [&](i64 p) { return with_special ? special(seed, p) : number(seed, p, true); };
  if constexpr (is_complex_v<T>) {
    using R = decltype(T::re);
    return T(static_cast<R>(real(2 * place)), static_cast<R>(real(2 * place + 1)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return number(seed, place, false) > 0;
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(std::fabs(number(seed, place, false)));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(number(seed, place, false));
  } else {
    return T(static_cast<float>(real(place)));
  }
}
template <>
double element_of<double>(int seed, i64 place, bool with_special) {
  return with_special ? special(seed, place) : number(seed, place, true);
}

Array host_array(const Shape& shape, DType dtype, LayoutKind kind, int seed, bool with_special) {
  const Layout layout = make_layout(shape, kind);
  const i64 elements =
      std::max<i64>(layout.span().second + 3, 3);  // a few beyond the end, which nobody may touch
  Storage storage = Storage::allocate(cpu, elements * size_of(dtype));
  dispatch<TESSERA_ALL_TYPES>(dtype, "ladder", [&]<class T>() {
    T* p = static_cast<T*>(storage.data());
    for (i64 i = 0; i < elements; ++i) p[i] = element_of<T>(seed, i, with_special);
  });
  return Array(storage, layout, dtype);
}

// One element as a complex number of doubles.
c128 widened(const void* p, DType dtype, i64 at) {
  c128 r{};
  dispatch<TESSERA_ALL_TYPES>(dtype, "ladder", [&]<class T>() {
    const T v = static_cast<const T*>(p)[at];
    if constexpr (is_complex_v<T>)
      r = c128(v);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      r = c128(static_cast<double>(static_cast<float>(v)));
    else
      r = c128(static_cast<double>(v));
  });
  return r;
}

bool close(double a, double b, double tolerance, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::fabs(a - b) < tolerance * (1 + scale);
}

}  // namespace

const char* text(LayoutKind kind) {
  constexpr const char* names[] = {"dense",         "shifted",  "padded",
                                   "reversed_axes", "negative", "strided"};
  return names[static_cast<int>(kind)];
}

Layout make_layout(const Shape& shape, LayoutKind kind) {
  Layout l = Layout::contiguous(shape);
  if (shape.empty() || l.size() == 0) return l;
  const i64 last = shape.size() - 1;
  switch (kind) {
    case LayoutKind::dense: break;
    case LayoutKind::shifted: l.offset = 1; break;
    case LayoutKind::padded: {
      Shape wide = shape;
      wide.back() += 3;
      l = Layout::contiguous(wide);
      l.shape = shape;
      break;
    }
    case LayoutKind::reversed_axes: {
      i64 step = 1;
      for (i64 i = 0; i < shape.size(); ++i) {
        l.strides[i] = step;
        step *= std::max<i64>(1, shape[i]);
      }
      break;
    }
    case LayoutKind::negative:
      l.offset = (shape[last] - 1) * l.strides[last];
      l.strides[last] = -l.strides[last];
      break;
    case LayoutKind::strided: {
      Shape wide = shape;
      wide.back() *= 2;
      l = Layout::contiguous(wide);
      l.shape = shape;
      l.strides[last] = 2;
      break;
    }
  }
  return l;
}

Twin twin_of(const Array& host) {
  const Device device = test_device();
  const Storage& from = host.storage();
  Storage to = Storage::allocate(device, from.bytes());
  const Stream home = Stream::home(device);
  home.copy(to.data(), device, from.data(), cpu, from.bytes());
  home.sync();
  return {host, Array(to, host.layout(), host.dtype())};
}

Twin twin(const Shape& shape, DType dtype, LayoutKind kind, int seed) {
  return twin_of(host_array(shape, dtype, kind, seed, false));
}

Twin special_twin(const Shape& shape, DType dtype, LayoutKind kind, int seed) {
  return twin_of(host_array(shape, dtype, kind, seed, true));
}

Twin index_twin(const Shape& shape, i64 size, LayoutKind kind, int seed) {
  Array host = host_array(shape, DType::i64, kind, seed, false);
  i64* p = static_cast<i64*>(host.storage().data());
  for (i64 i = 0; i < host.storage().bytes() / 8; ++i) {
    const auto r = static_cast<i64>(
        mixed(static_cast<std::uint64_t>(seed) * 31u + static_cast<std::uint64_t>(i)) >> 2);
    p[i] = r % (2 * size) - size;
  }
  return twin_of(host);
}

double tolerance(DType dtype, i64 n) {
  const double epsilon = dtype == DType::f16            ? 1e-3
                         : dtype == DType::bf16         ? 8e-3
                         : real_of(dtype) == DType::f32 ? 1.2e-7
                         : real_of(dtype) == DType::f64 ? 2.3e-16
                                                        : 0;
  return epsilon == 0 ? 1e-300 : epsilon * (8 + 4 * std::sqrt(static_cast<double>(n)));
}

Array device_to_host(const Array& x) {
  Storage to = Storage::allocate(cpu, x.storage().bytes());
  const Stream home = Stream::home(x.device());
  home.copy(to.data(), cpu, x.storage().data(), x.device(), to.bytes());
  home.sync();
  return Array(to, x.layout(), x.dtype());
}

void expect_same(const Twin& t, double tolerance, const std::string& what) {
  const Array got = device_to_host(t.device);
  const DType dtype = t.host.dtype();
  const i64 elements = t.host.storage().bytes() / size_of(dtype);
  const void *expected = t.host.storage().data(), *found = got.storage().data();
  i64 wrong = 0;
  for (i64 i = 0; i < elements; ++i) {
    const c128 e = widened(expected, dtype, i), f = widened(found, dtype, i);
    const double scale = std::isfinite(e.re) && std::isfinite(e.im) ? std::hypot(e.re, e.im) : 0;
    if (close(e.re, f.re, tolerance, scale) && close(e.im, f.im, tolerance, scale)) continue;
    // Which part of a complex number overflows or is NaN depends on the order of the work.
    const auto finite = [](c128 z) { return std::isfinite(z.re) && std::isfinite(z.im); };
    if (is_complex(dtype) && !finite(e) && !finite(f)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << what << ": element " << i << " of the storage is (" << f.re << ", " << f.im
                    << "), the cpu has (" << e.re << ", " << e.im << ")";
  }
  EXPECT_EQ(wrong, 0) << what << ": of " << elements << " elements";
}

}  // namespace tessera::ladder
