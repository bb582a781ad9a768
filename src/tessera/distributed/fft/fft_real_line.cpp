// SPDX-License-Identifier: Apache-2.0
// Note [real lines]: n = 2 m real points are m complex ones, of transform Z. That of the real ones
// is made of Z[k] and Z[m - k], where Z[m] is Z[0], in the memory of Z: some k at a time, with
// their mirror images, which nobody needs later. The other way Z is made of both ends of the
// transform where columns of it are wanted.
#include "tessera/distributed/fft/fft_real_line.hpp"

#include <algorithm>
#include <numbers>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {
namespace {

constexpr i64 untangled_at_once = 1 << 17;

// exp(i (sign pi k / m + shift))
Array circle(const Array& k, i64 m, int sign, double shift, DType dtype) {
  const double unit = sign * std::numbers::pi / static_cast<double>(m);
  const Array turns = ops::add(ops::multiply(k, Value(unit)), Value(shift));
  const Array factors = Array::empty(k.shape(), dtype, k.device());
  factors.real().copy_from(ops::cos(turns));
  factors.imag().copy_from(ops::sin(turns));
  return factors;
}

Array counted(i64 begin, i64 end, Device device) {
  return tessera::arange(Value(begin), Value(end), Value(1), DType::i64, device);
}

class RealLine {
 public:
  // z: m + 1 points, the last not written yet.
  RealLine(const DNDarray& z, int sign) : z_(z), sign_(sign), m_(z.shape(0) - 1) {}

  void run() const {
    copy_first();
    for (i64 k = 0; k < (m_ + 1) / 2; k += untangled_at_once)
      pairs(k, std::min(k + untangled_at_once, (m_ + 1) / 2));
    if (m_ % 2 == 0) pairs(m_ / 2, m_ / 2 + 1);
  }

 private:
  Box mine(i64 begin, i64 end, int rank) const {
    const i64 first = std::max(begin, z_.part().begin(rank)),
              last = std::min(end, z_.part().end(rank));
    return {0, first, std::max(first, last)};
  }
  Box mirrored(const Box& b) const { return {0, m_ + 1 - b.end, m_ + 1 - b.begin}; }
  Array here(const Box& b) const {
    const i64 start = z_.part().begin(z_.comm().rank());
    return z_.local().slice(0, b.begin - start, b.end - start);
  }

  void copy_first() const {
    const Communicator& comm = z_.comm();
    Boxes to;
    for (int r = 0; r < comm.size(); ++r) to.push_back({0, 0, r == comm.size() - 1 ? 1 : 0});
    const Array first = relayout(z_, std::move(to));
    if (first.size() > 0) here({0, m_, m_ + 1}).copy_from(first);
  }

  // The images of what this rank has of [begin, end).
  Array images(i64 begin, i64 end) const {
    const Communicator& comm = z_.comm();
    Boxes to;
    for (int r = 0; r < comm.size(); ++r) to.push_back(mirrored(mine(begin, end, r)));
    return relayout(z_, std::move(to));
  }

  void pairs(i64 begin, i64 end) const {
    const Box other = mirrored({0, begin, end});
    const Array low = images(begin, end), high = images(other.begin, other.end);
    untangle(mine(begin, end, z_.comm().rank()), low);
    if (begin != other.begin) untangle(mine(other.begin, other.end, z_.comm().rank()), high);
  }

  // X[k] = (Z[k] + Z*[m - k]) / 2 + exp(i (sign pi k / m - pi / 2)) (Z[k] - Z*[m - k]) / 2
  void untangle(const Box& b, const Array& images) const {
    if (b.begin == b.end) return;
    const Array z = here(b), w = ops::conj(flip(images, {0}));
    const Array factors =
        circle(counted(b.begin, b.end, z.device()), m_, sign_, -std::numbers::pi / 2, z.dtype());
    const Array odd = ops::multiply(factors, ops::subtract(z, w));
    z.copy_from(ops::multiply(ops::add(ops::add(z, w), odd), Value(0.5)));
  }

  const DNDarray& z_;
  int sign_;
  i64 m_;
};

}  // namespace

void untangle_real(const DNDarray& z, int sign) { RealLine(z, sign).run(); }

// 2 Z[k] = X[k] + X*[m - k] + exp(i (sign pi k / m + pi / 2)) (X[k] - X*[m - k])
Array tangle_real(const Array& points, const Array& images, i64 first, i64 wide, int sign) {
  if (points.size() == 0) return points;
  const i64 high = points.shape(0), m = high * wide;
  const Array turned = flip(images, {0, 1});
  if (first == 0)  // the ends of the transform are real, whatever is given
    for (const Array& a : {points, turned}) a.imag().select(0, 0).slice(0, 0, 1).fill(Value(0.0));
  const Array w = ops::conj(turned);
  const Array rows = ops::multiply(counted(0, high, points.device()), Value(wide));
  const Array k =
      ops::add(rows.expand_dims(1), counted(first, first + points.shape(1), points.device()));
  const Array factors = circle(k, m, sign, std::numbers::pi / 2, points.dtype());
  const Array odd = ops::multiply(factors, ops::subtract(points, w));
  return ops::add(ops::add(points, w), odd);
}

}  // namespace tessera::dist
