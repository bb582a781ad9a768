// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/smooth_lines.hpp"

#include <map>
#include <mutex>

#include "tessera/base/error.hpp"
#include "tessera/kernels/fft/line_plan.hpp"
#include "tessera/kernels/fft/register_lines.hpp"
#include "tessera/kernels/fft/turns.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

#if defined(__x86_64__)
int widest_register() { return host_instructions() == Instructions::base ? 16 : 32; }
#else
constexpr int widest_register() { return 16; }
#endif

}  // namespace

template <class R>
std::vector<int> SmoothLines<R>::radices_of(i64 points, int bytes) {
  if (points >= 2 && points <= longest_pass) return {static_cast<int>(points)};
  std::vector<int> radices;
  i64 odd = points, two = 1;
  for (; odd > 0 && odd % 2 == 0; odd /= 2) two *= 2;
  // Eights while more than a four is left over, and fours: 32 is 8 * 4, 128 is 8 * 4 * 4. An eight
  // first fills registers of eight floats.
  const bool eight_first = bytes / static_cast<int>(sizeof(R)) == 8;
  for (; two > 1; two /= radices.back())
    radices.push_back(two == 2                                                          ? 2
                      : two % 8 == 0 && (two != 16 || (eight_first && radices.empty())) ? 8
                                                                                        : 4);
  for (int radix = 3; odd > 1 && radix <= largest_factor; radix += 2)
    for (; odd % radix == 0; odd /= radix) radices.push_back(radix);
  if (odd != 1) radices.clear();
  return radices;
}

// Lines of 2 or 3 floats would leave the widest registers half empty.
template <class R>
SmoothLines<R>::SmoothLines(i64 points)
    : bytes_(points * 2 * static_cast<i64>(sizeof(R)) < widest_register() ? 16
                                                                          : widest_register()) {
  LineTables<R>& t = tables_;
  t.points = points;
  t.radices = radices_of(points, bytes_);
  require<ArgumentError>(!t.radices.empty(), "fft: no passes for ", points, " points");
  for (int radix : t.radices) {
    std::vector<R>& roots = t.roots.emplace_back();
    for (int j = 0; radix > longest_pass && j < radix; ++j) {
      const auto [re, im] = root_of_unity(j, radix);
      roots.insert(roots.end(), {static_cast<R>(re), static_cast<R>(-im)});
    }
  }
  i64 n = points;
  for (std::size_t i = 0; i + 1 < t.radices.size(); ++i) {
    const int radix = t.radices[i];
    std::vector<R>& turns = t.turns.emplace_back();
    for (i64 p = 0; p < n / radix; ++p)
      for (int k = 1; k < radix; ++k)
        for (double part : root_of_unity(p * k, n)) turns.push_back(static_cast<R>(part));
    n /= radix;
  }
  if (points <= longest_pass || t.radices.size() < 2) return;
  const int radix = t.radices[0];
  const i64 m = points / radix;
  for (int bytes = 16; bytes <= bytes_; bytes *= 2)
    if (const int width = bytes / static_cast<int>(sizeof(R)); radix % width == 0 && m >= width)
      dense_bytes_ = bytes;
  if (dense_bytes_ == 0) return;
  const int width = dense_bytes_ / static_cast<int>(sizeof(R));
  for (i64 b = 0; b * width < m; ++b)
    for (int k = 1; k < radix; ++k)
      for (std::size_t part : {0, 1})
        for (int l = 0; l < width; ++l) {
          const int neighbour = dense_bytes_ == 16 ? l : neighbour_in_lane<R, 32>(l);
          const i64 p = first_of_step(b, m, width) + neighbour;
          t.line_turns.push_back(static_cast<R>(root_of_unity(p * k, points)[part]));
        }
}

template <class R>
i64 SmoothLines<R>::most_columns() const {
  if (tables_.radices.size() < 2) return 0;
  return std::max(lanes(), column_step * (tables_.points <= 128    ? 4
                                          : tables_.points <= 4096 ? 2
                                                                   : 1));
}

template <class R>
i64 SmoothLines<R>::line_scratch(i64 count) const {
  if (tables_.radices.size() < 2) return 0;
  const i64 at_once = dense_bytes_ > 0       ? std::min(count, most_lines())
                      : count <= column_step ? column_step
                                             : lanes();
  return 2 * 2 * tables_.points * at_once;
}

template <class R>
i64 SmoothLines<R>::scratch(i64 count) const {
  return std::max(
      line_scratch(count),
      2 * 2 * tables_.points * std::min(most_columns(), count / column_step * column_step));
}

// Calls `run` with what works on registers of 16 and of 32 bytes; hosts that have none of the latter
// are built without.
template <class R, class Run>
void on_width(int bytes, const LineTables<R>& tables, const Run& run) {
#if defined(__x86_64__)
  if (bytes == 32) return run(RegisterLines<R, 32>{tables});
#endif
  run(RegisterLines<R, 16>{tables});
}

template <class R>
void SmoothLines<R>::lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance,
                           int sign, R scale, R* scratch) const {
  if (dense_bytes_ > 0)
    return on_width(dense_bytes_, tables_, [&](const auto& l) {
      l.dense_lines(count, from, from_distance, to, to_distance, sign, scale, scratch);
    });
  // A few lines leave half of the widest registers empty.
  on_width(count <= column_step ? 16 : bytes_, tables_, [&](const auto& l) {
    l.lines_in_lanes(count, from, from_distance, to, to_distance, sign, scale, scratch);
  });
}

template <class R>
void SmoothLines<R>::columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign,
                             R scale, R* scratch) const {
  const i64 wide = count / lanes() * lanes();
  if (wide > 0)
    on_width(bytes_, tables_, [&](const auto& l) {
      l.columns(wide, from, from_step, to, to_step, sign, scale, scratch);
    });
  if (wide < count)
    RegisterLines<R, 16>{tables_}.columns(count - wide, from + wide, from_step, to + wide, to_step,
                                          sign, scale, scratch);
}

template <class R>
void SmoothLines<R>::filter_columns(i64 count, const C* from, i64 from_step,
                                    const ColumnWeight<R>& weight, C* to, i64 to_step, int sign,
                                    R scale, R* scratch) const {
  const i64 wide = count / lanes() * lanes();
  if (wide > 0)
    on_width(bytes_, tables_, [&](const auto& l) {
      l.filter_columns(wide, from, from_step, weight, to, to_step, sign, scale, scratch);
    });
  if (wide == count) return;
  ColumnWeight<R> rest = weight;
  if (rest.real) rest.real += wide * weight.inner;
  if (rest.complex) rest.complex += wide * weight.inner;
  RegisterLines<R, 16>{tables_}.filter_columns(count - wide, from + wide, from_step, rest,
                                               to + wide, to_step, sign, scale, scratch);
}

template class SmoothLines<float>;
template class SmoothLines<double>;

bool uses_smooth_lines(i64 points) {
  return !fftw_plans() && points <= 4096 && SmoothLines<float>::has_columns(points);
}

template <class R>
std::shared_ptr<const SmoothLines<R>> smooth_lines(i64 points) {
  // Those of ordinary lengths are kept for good: eager calls would make the turns anew each time.
  if (points > 4096) return std::make_shared<const SmoothLines<R>>(points);
  struct Known {
    std::mutex mutex;
    std::map<std::pair<int, i64>, std::shared_ptr<const SmoothLines<R>>>
        of;  // by registers, points
  };
  static Known* known = new Known;  // leaked: outlives every transform
  std::lock_guard lock(known->mutex);
  std::shared_ptr<const SmoothLines<R>>& slot = known->of[{widest_register(), points}];
  if (!slot) slot = std::make_shared<const SmoothLines<R>>(points);
  return slot;
}
template TESSERA_API std::shared_ptr<const SmoothLines<float>> smooth_lines(i64 points);
template TESSERA_API std::shared_ptr<const SmoothLines<double>> smooth_lines(i64 points);

}  // namespace tessera
