// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/own_plans.hpp"

#include <cstddef>
#include <optional>

#include "tessera/base/error.hpp"
#include "tessera/kernels/fft/chirp_lines.hpp"
#include "tessera/kernels/fft/turns.hpp"

namespace tessera {
namespace {

// Complex lines of one length, however it is done.
template <class R>
class ComplexLines {
 public:
  using C = Complex<R>;
  explicit ComplexLines(i64 points) {
    if (points == 1) return;
    if (SmoothLines<R>::has(points))
      smooth_ = smooth_lines<R>(points);
    else
      chirp_.emplace(points);
  }
  // For transforms of no more than `lines` at a call.
  i64 scratch(i64 lines) const {
    return smooth_ ? smooth_->line_scratch(lines) : chirp_ ? chirp_->scratch() : 0;
  }
  void transform(i64 lines, const C* from, i64 from_distance, C* to, i64 to_distance, int sign,
                 R* scratch) const {
    if (smooth_)
      for (i64 l = 0; l < lines; l += smooth_->most_lines())
        smooth_->lines(std::min(smooth_->most_lines(), lines - l), from + l * from_distance,
                       from_distance, to + l * to_distance, to_distance, sign, R(1), scratch);
    else
      for (i64 l = 0; l < lines; ++l) {
        const C* const x = from + l * from_distance;
        C* const y = to + l * to_distance;
        if (chirp_)
          chirp_->transform(x, y, sign, scratch);
        else
          *y = *x;
      }
  }

 private:
  std::shared_ptr<const SmoothLines<R>> smooth_;
  std::optional<ChirpLines<R>> chirp_;
};

template <class R>
class OwnPlan : public LinePlan {
 public:
  using C = Complex<R>;
  OwnPlan(const LineKey& key, i64 length) : key_(key), lines_(length) {}
  i64 scratch_bytes() const override {
    return lines_.scratch(key_.lines) * static_cast<i64>(sizeof(R));
  }

 protected:
  LineKey key_;
  ComplexLines<R> lines_;
};

template <class R>
class ComplexPlan final : public OwnPlan<R> {
 public:
  using C = Complex<R>;
  explicit ComplexPlan(const LineKey& key) : OwnPlan<R>(key, key.points) {}
  void execute(void* in, void* out, void* scratch) const override {
    const LineKey& k = this->key_;
    this->lines_.transform(k.lines, static_cast<const C*>(in), k.in_distance, static_cast<C*>(out),
                           k.out_distance, k.sign, static_cast<R*>(scratch));
  }
};

// Note [halves]: a real line x of 2h points is the complex line of pairs (x[2j], x[2j+1]), whose
// transform is Z = E + iO, of the transforms of the even and the odd points. Both are transforms of
// real lines, E[h-k] = conj(E[k]): so Z[k] and conj(Z[h-k]) = E[k] - iO[k] give E and O, and those
// give X[k] = E[k] + w^k O[k] and X[h-k] = conj(E[k] - w^k O[k]), w = exp(-2 pi i / 2h).
template <class R>
class EvenRealPlan final : public OwnPlan<R> {
 public:
  using C = Complex<R>;
  explicit EvenRealPlan(const LineKey& key) : OwnPlan<R>(key, key.points / 2) {
    for (i64 k = 0; k <= key.points / 4; ++k) {
      const auto [re, im] = root_of_unity(k, key.points);
      roots_.push_back({static_cast<R>(re / 2), static_cast<R>(im / 2)});
    }
  }
  void execute(void* in, void* out, void* scratch) const override {
    const LineKey& k = this->key_;
    R* const space = static_cast<R*>(scratch);
    if (k.kind == FftKind::real_to_complex) {
      C* const y = static_cast<C*>(out);
      this->lines_.transform(k.lines, static_cast<const C*>(in), k.in_distance / 2, y,
                             k.out_distance, -1, space);
      for (i64 l = 0; l < k.lines; ++l) take_apart(y + l * k.out_distance);
    } else {
      C* const x = static_cast<C*>(in);
      for (i64 l = 0; l < k.lines; ++l) put_together(x + l * k.in_distance);
      this->lines_.transform(k.lines, x, k.in_distance, static_cast<C*>(out), k.out_distance / 2,
                             +1, space);
    }
  }

 private:
  void take_apart(C* z) const {
    const i64 h = this->key_.points / 2;
    const C first = z[0];
    for (i64 k = 1; k <= h / 2; ++k) {
      const C a = z[k], b = z[h - k], w = roots_[static_cast<std::size_t>(k)];
      const R er = (a.re + b.re) / 2, ei = (a.im - b.im) / 2;  // E
      const R qr = a.im + b.im, qi = b.re - a.re;              // 2 O
      const R tr = w.re * qr - w.im * qi, ti = w.re * qi + w.im * qr;
      z[k] = {er + tr, ei + ti};
      z[h - k] = {er - tr, ti - ei};
    }
    z[0] = {first.re + first.im, 0};
    z[h] = {first.re - first.im, 0};
  }
  // Twice Z, of which the imaginary parts of the ends, which real lines do not have, are no part.
  void put_together(C* x) const {
    const i64 h = this->key_.points / 2;
    const R first = x[0].re, last = x[h].re;
    for (i64 k = 1; k <= h / 2; ++k) {
      const C a = x[k], b = x[h - k], w = roots_[static_cast<std::size_t>(k)];
      const R er = a.re + b.re, ei = a.im - b.im;              // 2 E
      const R dr = 2 * (a.re - b.re), di = 2 * (a.im + b.im);  // 4 w^k O
      const R tr = w.re * dr + w.im * di, ti = w.re * di - w.im * dr;
      x[k] = {er - ti, ei + tr};
      x[h - k] = {er + ti, tr - ei};
    }
    x[0] = {first + last, first - last};
  }
  std::vector<C> roots_;  // w^k / 2
};

// Each line is a complex one without imaginary parts. Two lines as the parts of one would be half the
// work, but what is large, or no number, in one of them would spoil the other.
template <class R>
class OddRealPlan final : public OwnPlan<R> {
 public:
  using C = Complex<R>;
  explicit OddRealPlan(const LineKey& key) : OwnPlan<R>(key, key.points) {}
  i64 scratch_bytes() const override { return whole_bytes() + OwnPlan<R>::scratch_bytes(); }
  void execute(void* in, void* out, void* scratch) const override {
    const LineKey& k = this->key_;
    C* const whole = static_cast<C*>(scratch);
    R* const space = reinterpret_cast<R*>(static_cast<std::byte*>(scratch) + whole_bytes());
    const bool forward = k.kind == FftKind::real_to_complex;
    for (i64 l = 0; l < k.lines; l += lines_at_once) {
      const i64 count = std::min(lines_at_once, k.lines - l);
      for (i64 i = 0; i < count; ++i) {
        C* const line = whole + i * k.points;
        if (forward)
          complete(static_cast<const R*>(in) + (l + i) * k.in_distance, line);
        else
          complete(static_cast<const C*>(in) + (l + i) * k.in_distance, line);
      }
      this->lines_.transform(count, whole, k.points, whole, k.points, forward ? -1 : +1, space);
      for (i64 i = 0; i < count; ++i) {
        const C* const line = whole + i * k.points;
        if (forward)
          keep(line, static_cast<C*>(out) + (l + i) * k.out_distance);
        else
          keep(line, static_cast<R*>(out) + (l + i) * k.out_distance);
      }
    }
  }

 private:
  static constexpr i64 lines_at_once = SmoothLines<R>::column_step;  // that fill registers
  i64 whole_bytes() const {
    return (lines_at_once * this->key_.points * static_cast<i64>(sizeof(C)) + 15) / 16 * 16;
  }
  void complete(const R* x, C* line) const {
    for (i64 j = 0; j < this->key_.points; ++j) line[j] = {x[j], 0};
  }
  void complete(const C* x, C* line) const {
    const i64 n = this->key_.points;
    line[0] = {x[0].re, 0};
    for (i64 k = 1; k <= n / 2; ++k) {
      line[k] = x[k];
      line[n - k] = {x[k].re, -x[k].im};
    }
  }
  void keep(const C* line, C* x) const {
    x[0] = {line[0].re, 0};
    for (i64 k = 1; k <= this->key_.points / 2; ++k) x[k] = line[k];
  }
  void keep(const C* line, R* x) const {
    for (i64 j = 0; j < this->key_.points; ++j) x[j] = line[j].re;
  }
};

template <class R>
std::shared_ptr<const LinePlan> planned(const LineKey& key) {
  if (key.kind == FftKind::complex) return std::make_shared<const ComplexPlan<R>>(key);
  if (key.points % 2 == 0) return std::make_shared<const EvenRealPlan<R>>(key);
  return std::make_shared<const OddRealPlan<R>>(key);
}

}  // namespace

std::shared_ptr<const LinePlan> make_own_plan(const LineKey& key) {
  require<ArgumentError>(key.rows == 1 && key.layers == 1,
                         "fft: passes of our own take lines, not planes of ", key.rows,
                         " lines of ", key.points, " points");
  return key.single ? planned<float>(key) : planned<double>(key);
}

}  // namespace tessera
