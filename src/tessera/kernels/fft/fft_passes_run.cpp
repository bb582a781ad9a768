// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tessera/kernels/fft/fft_lines.hpp"
#include "tessera/kernels/fft/fft_passes.hpp"

namespace tessera {
namespace {

template <class C, class W>
C weighted(const C& z, const W& w) {
  if constexpr (std::is_floating_point_v<W>)
    return C(z.re * w, z.im * w);
  else
    return C(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re);
}

template <class C, class W>
void multiply_lines(const Pass& p, i64 lines, C* b, const W* weight) {
  for (i64 l = 0; l < lines; ++l) {
    C* const line = b + l * p.out_distance;
    const W* const w = weight + l * p.weight_strides.back();
    if (p.weight_step == 1) {
#pragma GCC ivdep
      for (i64 i = 0; i < p.out_points; ++i) line[i] = weighted(line[i], w[i]);
    } else {
      for (i64 i = 0; i < p.out_points; ++i) line[i] = weighted(line[i], w[i * p.weight_step]);
    }
  }
}

template <class R>
const SmoothLines<R>* own_lines(const Pass& p) {
  return std::get<std::shared_ptr<const SmoothLines<R>>>(p.own).get();
}

template <class R>
void dense_lines(const SmoothLines<R>& own, i64 count, const Complex<R>* from, i64 from_distance,
                 Complex<R>* to, i64 to_distance, int sign, R scale, R* scratch) {
  for (i64 l = 0; l < count; l += own.most_lines())
    own.lines(std::min(own.most_lines(), count - l), from + l * from_distance, from_distance,
              to + l * to_distance, to_distance, sign, scale, scratch);
}

// Lines in a buffer, from `a` to `b`; back: the second transform of a filter.
template <class In, class Out>
void transform_lines(const Pass& p, bool back, i64 lines, In* a, Out* b, std::byte* buffer) {
  if constexpr (std::is_same_v<In, Out>) {
    using R = typename RealOf<In>::type;
    if (const SmoothLines<R>* own = own_lines<R>(p)) {
      R* const scratch = reinterpret_cast<R*>(buffer + p.scratch_offset);
      return dense_lines(*own, lines, a, p.in_distance, b, p.out_distance, back ? -p.sign : p.sign,
                         R(1), scratch);
    }
  }
  const LinePlan *const many = (back ? p.back_many : p.many).get(), *const one =
                                                                        (back ? p.back_one : p.one)
                                                                            .get();
  void* const scratch = buffer + p.scratch_offset;
  if (many && lines == p.lines) return many->execute(a, b, scratch);
  for (i64 l = 0; l < lines; ++l)
    one->execute(a + l * p.in_distance, b + l * p.out_distance, scratch);
}

// Lines of In from number `first` on, at `from`, through the buffer to lines of Out at `to`.
template <class In, class Out>
void through_buffer(const Pass& p, i64 first, i64 lines, const In* from, Out* to,
                    const void* weight, std::byte* buffer) {
  In* const a = reinterpret_cast<In*>(buffer);
  Out* const b = reinterpret_cast<Out*>(buffer + p.out_offset);
  const i64 from_inner = p.from_strides.back(), to_inner = p.to_strides.back();
  gather_lines(from, p.from_step, from_inner, a, p.in_distance, p.in_points, lines);
  if constexpr (std::is_same_v<In, Out>)
    if (const auto* t =
            std::get<std::shared_ptr<const Turns<typename RealOf<In>::type>>>(p.turned).get())
      for (i64 l = 0; l < lines; ++l) t->multiply(a + l * p.in_distance, first + l, p.sign);
  transform_lines(p, false, lines, a, b, buffer);
  if constexpr (std::is_same_v<In, Out> && !std::is_floating_point_v<In>) {
    if (p.filter) {
      using R = decltype(Out{}.re);
      if (p.real_weight)
        multiply_lines(p, lines, b, static_cast<const R*>(weight));
      else
        multiply_lines(p, lines, b, static_cast<const Out*>(weight));
      transform_lines(p, true, lines, b, a, buffer);
      return scatter_lines(a, p.in_distance, to, p.to_step, to_inner, p.out_points, lines, p.scale);
    }
  }
  scatter_lines(b, p.out_distance, to, p.to_step, to_inner, p.out_points, lines, p.scale);
}

// Lines that SmoothLines take from where they lie to where they go; gives how many of them.
template <class R>
i64 run_own(const Pass& p, i64 lines, const Complex<R>* from, Complex<R>* to, const void* weight,
            std::byte* buffer) {
  const SmoothLines<R>* const own = own_lines<R>(p);
  if (!own) return 0;
  R* const scratch = reinterpret_cast<R*>(buffer + p.scratch_offset);
  const R scale = static_cast<R>(p.scale);
  const i64 from_inner = p.from_strides.back(), to_inner = p.to_strides.back();
  if (!p.filter && p.from_step == 1 && p.to_step == 1) {
    dense_lines(*own, lines, from, from_inner, to, to_inner, p.sign, scale, scratch);
    return lines;
  }
  const i64 weight_inner = p.weight_strides.back();
  if (from_inner != 1 || to_inner != 1 || (p.filter && weight_inner != 0 && weight_inner != 1))
    return 0;
  const i64 step = SmoothLines<R>::column_step;
  i64 l = 0;
  while (lines - l >= step) {
    const i64 count = std::min(own->most_columns(), (lines - l) / step * step);
    if (p.filter) {
      ColumnWeight<R> w{nullptr, nullptr, p.weight_step, weight_inner};
      if (p.real_weight)
        w.real = static_cast<const R*>(weight) + l * weight_inner;
      else
        w.complex = static_cast<const Complex<R>*>(weight) + l * weight_inner;
      own->filter_columns(count, from + l, p.from_step, w, to + l, p.to_step, p.sign, scale,
                          scratch);
    } else {
      own->columns(count, from + l, p.from_step, to + l, p.to_step, p.sign, scale, scratch);
    }
    l += count;
  }
  return l;
}

template <class In, class Out>
void run_blocks(const Pass& p, i64 begin, i64 end, const In* from, Out* to, const std::byte* weight,
                i64 weight_bytes, std::byte* buffer) {
  const i64 axes = p.shape.size(), from_inner = p.from_strides.back(),
            to_inner = p.to_strides.back();
  for (i64 block = begin; block < end; ++block) {
    i64 row = block / p.blocks_per_row;
    const i64 first = (block - row * p.blocks_per_row) * p.lines;
    const In* a = from + first * from_inner;
    Out* b = to + first * to_inner;
    i64 w = first * p.weight_strides.back();
    for (i64 i = axes - 2; i >= 0; --i) {
      const i64 at = row % p.shape[i];
      row /= p.shape[i];
      a += at * p.from_strides[i];
      b += at * p.to_strides[i];
      w += at * p.weight_strides[i];
    }
    i64 lines = std::min(p.lines, p.shape.back() - first);
    if constexpr (std::is_same_v<In, Out>) {
      const i64 done = run_own(p, lines, a, b, weight + w * weight_bytes, buffer);
      if (done == lines) continue;
      a += done * from_inner;
      b += done * to_inner;
      w += done * p.weight_strides.back();
      lines -= done;
    }
    if (!p.direct || lines % p.direct_lines != 0) {
      through_buffer(p, first, lines, a, b, weight + w * weight_bytes, buffer);
      continue;
    }
    for (i64 l = 0; l < lines; l += p.direct_lines) {
      const In* const x = a + l * from_inner;
      Out* const y = b + l * to_inner;
      if (line_aligned(x) && line_aligned(y)) {
        p.direct->execute(const_cast<In*>(x), y, buffer + p.scratch_offset);
        for (i64 d = 0; d < p.direct_lines; ++d)
          scale_line(y + d * to_inner, p.out_points, p.scale);
      } else {
        through_buffer(p, first, p.direct_lines, x, y, nullptr, buffer);
      }
    }
  }
}

}  // namespace

template <class R>
void run_pass(const Pass& p, i64 begin, i64 end, const void* in, void* out, void* space,
              const void* weight, std::byte* buffer) {
  using C = Complex<R>;
  const auto* const w = static_cast<const std::byte*>(weight);
  const i64 wb = p.real_weight ? sizeof(R) : sizeof(C);
  const void* from = p.from == PassMemory::input ? in : p.from == PassMemory::output ? out : space;
  void* to = p.to == PassMemory::output ? out : space;
  switch (p.kind) {
    case FftKind::complex:
      return run_blocks(p, begin, end, static_cast<const C*>(from), static_cast<C*>(to), w, wb,
                        buffer);
    case FftKind::real_to_complex:
      return run_blocks(p, begin, end, static_cast<const R*>(from), static_cast<C*>(to), w, wb,
                        buffer);
    default:
      return run_blocks(p, begin, end, static_cast<const C*>(from), static_cast<R*>(to), w, wb,
                        buffer);
  }
}

template void run_pass<float>(const Pass&, i64, i64, const void*, void*, void*, const void*,
                              std::byte*);
template void run_pass<double>(const Pass&, i64, i64, const void*, void*, void*, const void*,
                               std::byte*);

}  // namespace tessera
