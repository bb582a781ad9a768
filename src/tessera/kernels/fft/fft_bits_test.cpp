// SPDX-License-Identifier: Apache-2.0
// The bits of a line's transform are those of the line alone, however many lines are beside it, wherever
// it lies among them, in whatever layout and on however many threads. So what is computed in tiles, over
// ranks or from disk is the same as the whole, bit for bit, where nothing is summed. A line that is
// alone and so long that no cache holds it is the one exception (Note [long lines] in fft_passes.hpp).
#include <cstring>
#include <random>

#include "support/arrays.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/kernels/fft/line_plan.hpp"

namespace tessera {
namespace {

struct OnThreads {
  const int before = num_threads();
  explicit OnThreads(int n) { set_num_threads(n); }
  ~OnThreads() { set_num_threads(before); }
};

class FftBits : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (test_device() != cpu || fftw_plans()) GTEST_SKIP() << "a law of the cpu's own passes";
  }
  Using<i64> effort_{config().fft_effort, 0};
  std::mt19937 engine_{11};
  DType complex_ = GetParam(), real_ = real_of(GetParam());

  Array numbers(const Shape& shape, DType dtype) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    const Array block = Array::empty(shape, dtype, cpu);
    dispatch<float, double, c64, c128>(dtype, "numbers", [&]<class T>() {
      T* const p = block.host<T>();
      for (i64 i = 0; i < block.size(); ++i) {
        if constexpr (is_complex_v<T>) {
          using R = decltype(T::re);
          p[i] = T(static_cast<R>(uniform(engine_)), static_cast<R>(uniform(engine_)));
        } else {
          p[i] = static_cast<T>(uniform(engine_));
        }
      }
    });
    return block;
  }
  static Array empty(const Shape& shape, DType dtype, Lay lay) {
    i64 size = 0;
    const Layout l = layout_of(shape, lay, &size);
    return Array(Storage::allocate(cpu, size * size_of(dtype)), l, dtype);
  }
  static Array placed(const Array& x, Lay lay) {
    const Array there = empty(x.shape(), x.dtype(), lay);
    there.copy_from(x);
    return there;
  }
};

// How the lines of a batch are asked for.
struct Kind {
  FftKind kind;
  int sign;
  bool filter;
};
constexpr Kind kinds[] = {{FftKind::complex, -1, false},
                          {FftKind::complex, 1, false},
                          {FftKind::complex, 1, true},
                          {FftKind::real_to_complex, -1, false},
                          {FftKind::complex_to_real, 1, false}};

// Over the axes of x, which is (lines, ...): the transform, of the arrays with axes in another order.
Array transformed(const Kind& k, const Array& x, i64 points, const Array& weight, const Shape& axes,
                  const Array& out) {
  FftSpec spec{k.kind, operand_of(x), operand_of(out),
               axes,   k.sign,        1 / static_cast<double>(points)};
  if (!k.filter) {
    launch_now(&KernelTable::fft, "fft", spec, cpu, {&x, &out});
  } else {
    spec.weight = operand_of(weight);
    launch_now(&KernelTable::fft, "fft", spec, cpu, {&x, &weight, &out});
  }
  return out;
}

// Every way of doing a length: one pass, several, passes of large primes, a convolution, more points
// than have columns of their own.
constexpr i64 lengths[] = {1,  2,  3,  4,  5,   6,   7,   8,   9,   10,  11,   12,   13,
                           14, 15, 16, 18, 20,  22,  24,  25,  30,  32,  34,   45,   48,
                           61, 64, 67, 77, 100, 114, 125, 128, 134, 240, 1001, 1024, 8192};

TEST_P(FftBits, OfALineDoNotDependOnItsNeighbours) {
  for (i64 n : lengths)
    for (const Kind& k : kinds) {
      const i64 half = n / 2 + 1, most = n > 1000 ? 13 : 37;
      const i64 in = k.kind == FftKind::complex_to_real ? half : n,
                out = k.kind == FftKind::real_to_complex ? half : n;
      const DType from = k.kind == FftKind::real_to_complex ? real_ : complex_,
                  to = k.kind == FftKind::complex_to_real ? real_ : complex_;
      const Array all = numbers({most, in}, from), weight = numbers({1, n}, complex_);
      const Array wanted = Array::empty({most, out}, to, cpu);
      for (i64 l = 0; l < most; ++l)
        transformed(k, all.slice(0, l, l + 1), n, weight, {1}, wanted.slice(0, l, l + 1));
      for (int threads : {1, 4})
        for (i64 count :
             {i64{2}, i64{3}, i64{4}, i64{5}, i64{7}, i64{8}, i64{10}, i64{12}, i64{13}, most})
          for (const Lay lay : {Lay::dense, Lay::gaps, Lay::exchanged}) {
            const OnThreads on(threads);
            const i64 first = most - count;
            const Array x = placed(all.slice(0, first, most), lay);
            const Array y = transformed(k, x, n, weight.broadcast_to({count, n}), {1},
                                        empty({count, out}, to, lay));
            ASSERT_TRUE(same_bits(y, wanted.slice(0, first, most)))
                << cat(n, " points, kind ", int(k.kind), k.filter ? ", filter" : "", ", sign ",
                       k.sign, ", ", count, " lines, layout ", int(lay), ", ", threads, " threads");
          }
    }
}

TEST_P(FftBits, OfASliceDoNotDependOnItsNeighbours) {
  for (const Shape& slice :
       {Shape{12, 10}, Shape{10, 12}, Shape{9, 7}, Shape{32, 45}, Shape{67, 6}, Shape{3, 8, 5}})
    for (const Kind& k : kinds) {
      const i64 n = slice.back(), most = 17, ndim = slice.size();
      Shape in{most}, out{most}, spread{1}, axes;
      for (i64 a = 0; a < ndim; ++a) {
        in.push_back(slice[a]);
        out.push_back(slice[a]);
        spread.push_back(slice[a]);
        axes.push_back(a + 1);
      }
      if (k.kind == FftKind::complex_to_real) in.back() = n / 2 + 1;
      if (k.kind == FftKind::real_to_complex) out.back() = n / 2 + 1;
      const DType from = k.kind == FftKind::real_to_complex ? real_ : complex_,
                  to = k.kind == FftKind::complex_to_real ? real_ : complex_;
      const Array all = numbers(in, from), weight = numbers(spread, complex_);
      const Array wanted = Array::empty(out, to, cpu);
      for (i64 l = 0; l < most; ++l)
        transformed(k, all.slice(0, l, l + 1), n, weight, axes, wanted.slice(0, l, l + 1));
      for (int threads : {1, 2, 4})
        for (i64 count : {i64{2}, i64{3}, i64{4}, i64{5}, i64{8}, i64{12}, most}) {
          const OnThreads on(threads);
          Shape part = out;
          part[0] = spread[0] = count;
          const Array y = transformed(k, all.slice(0, 0, count), n, weight.broadcast_to(spread),
                                      axes, empty(part, to, Lay::dense));
          ASSERT_TRUE(same_bits(y, wanted.slice(0, 0, count)))
              << cat("slices of ", slice, ", kind ", int(k.kind), k.filter ? ", filter" : "",
                     ", sign ", k.sign, ", ", count, " of them, ", threads, " threads");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, FftBits, testing::Values(DType::c64, DType::c128),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace tessera
