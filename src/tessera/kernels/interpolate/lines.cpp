// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/lines.hpp"

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/search_several.hpp"

namespace tessera {
namespace {

// One part of the values: all of a real number, or the real or imaginary part of a complex one.
struct Part {
  const double* fp;
  double left, right;
  double* out;
};

struct Lines {
  const double* xp;
  i64 n, step;  // of the values: 2 where they are complex

  // `behind` of the places are not above x.
  double at(const Part& p, double x, i64 behind) const {
    if (behind == 0) return n == 1 && !(x < xp[0]) ? p.fp[0] : p.left;
    const i64 j = behind - 1;
    const double y0 = p.fp[j * step];
    if (j == n - 1) return x > xp[j] ? p.right : y0;
    if (xp[j] == x) return y0;  // an infinite value beside it does not matter
    const double y1 = p.fp[(j + 1) * step], slope = (y1 - y0) / (xp[j + 1] - xp[j]);
    double y = slope * (x - xp[j]) + y0;
    if (y != y) {  // from the other end it may be a number
      y = slope * (x - xp[j + 1]) + y1;
      if (y != y && y0 == y1) y = y0;
    }
    return y;
  }
};

void interpolate_block(const Lines& lines, const Part* parts, i64 many, const double* x, i64 begin,
                       i64 n) {
  double places[at_once] = {};
  i64 behind[at_once];
  std::copy(x + begin, x + begin + n, places);
  search_several<true>(Sorted<double>{lines.xp, lines.n, 1}, places, behind);
  for (i64 m = 0; m < many; ++m) {
    const Part& p = parts[m];
    for (i64 k = 0; k < n; ++k) {
      const bool nan = places[k] != places[k] && lines.n > 1;
      p.out[(begin + k) * lines.step] =
          nan ? (m == 0 ? places[k] : 0.0) : lines.at(p, places[k], behind[k]);
    }
  }
}

}  // namespace

Array interpolate_lines(const Array& x, const Array& xp, const Array& fp,
                        const std::optional<Value>& left, const std::optional<Value>& right) {
  for (const Array* a : {&x, &xp, &fp})
    if (a->device() != cpu) return {};
  if (xp.ndim() != 1 || fp.ndim() != 1 || xp.size() != fp.size() || xp.size() == 0 ||
      is_complex(x.dtype()) || is_complex(xp.dtype()))
    return {};
  const bool complex = is_complex(fp.dtype());
  for (const std::optional<Value>* side : {&left, &right})
    if (*side && (*side)->kind() == Value::Kind::complex && !complex) return {};
  const Array places = x.astype(DType::f64).contiguous(), at = xp.astype(DType::f64).contiguous(),
              values = fp.astype(complex ? DType::c128 : DType::f64).contiguous();
  const Array out = empty_dense(x.shape(), values.dtype());
  for (const Array* a : {&places, &at, &values}) a->storage().wait();
  const Lines lines{static_cast<const double*>(at.data()), at.size(), complex ? 2 : 1};
  const double* const given = static_cast<const double*>(values.data());
  double* const to = static_cast<double*>(out.data());
  Part parts[2];
  const i64 many = complex ? 2 : 1, last = (lines.n - 1) * lines.step;
  for (i64 m = 0; m < many; ++m) {
    const auto side = [&](const std::optional<Value>& told, i64 otherwise) {
      if (!told) return given[otherwise + m];
      const c128 v = told->as<c128>();
      return m == 0 ? v.re : v.im;
    };
    parts[m] = {given + m, side(left, 0), side(right, last), to + m};
  }
  const double* const from = static_cast<const double*>(places.data());
  parallel_for(places.size(), 1024, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; i += at_once)
      interpolate_block(lines, parts, many, from, i, std::min(at_once, end - i));
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "interp", out.dtype());
  return out;
}

}  // namespace tessera
