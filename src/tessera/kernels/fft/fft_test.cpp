// SPDX-License-Identifier: Apache-2.0
// Transforms of every kind, length and layout against the defining sum.
#include "tessera/kernels/fft/fft.hpp"

#include <complex>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <random>
#include <thread>

#include "support/arrays.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/fft/fftw_plans.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
using Field = std::vector<Z>;

// The defining sum along one axis, in double; exact phases from a table.
Field naive(const Field& x, const Shape& shape, i64 axis, int sign) {
  const i64 n = shape[axis];
  i64 inner = 1;
  for (i64 i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  Field table, y(x.size());
  for (i64 j = 0; j < n; ++j)
    table.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * double(j) / double(n)));
  for (std::size_t e = 0; e < x.size(); ++e) {
    const i64 at = static_cast<i64>(e), k = at / inner % n, first = at - k * inner;
    Z sum = 0;
    for (i64 j = 0; j < n; ++j) sum += x[size_t(first + j * inner)] * table[size_t(j * k % n)];
    y[e] = sum;
  }
  return y;
}

Field random_field(i64 n, bool real, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Field f(static_cast<std::size_t>(n));
  for (Z& z : f) {
    z = Z(static_cast<float>(normal(engine)), 0);  // float: the same in both precisions
    if (!real) z.imag(static_cast<float>(normal(engine)));
  }
  return f;
}

Array array_of(const Field& f, const Shape& shape, DType dtype, Lay lay = Lay::dense) {
  Array x;
  dispatch<float, double, c64, c128>(dtype, "test", [&]<class T>() {
    std::vector<T> v;
    for (const Z& z : f) {
      if constexpr (is_complex_v<T>)
        v.push_back(T(c128(z.real(), z.imag())));
      else
        v.push_back(static_cast<T>(z.real()));
    }
    x = laid_out<T>(shape, v, lay);
  });
  return x;
}

void expect_close(const Array& got, const Field& want, i64 points, const std::string& what) {
  const Field numbers = numbers_of(got);
  ASSERT_EQ(numbers.size(), want.size()) << what;
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::norm(numbers[i] - want[i]);
    norm += std::norm(want[i]);
  }
  const double bound = 4 * epsilon_of(got.dtype()) * (2 + std::log2(double(points)));
  ASSERT_TRUE(std::sqrt(error) <= bound * std::sqrt(norm))
      << what << ": error " << std::sqrt(error / norm);
}

struct Case {
  Shape shape, axes;
};
const Case cases[] = {{{1}, {0}},
                      {{16}, {0}},
                      {{97}, {0}},
                      {{8, 12}, {1}},
                      {{12, 10}, {0}},
                      {{7, 9, 5}, {1}},
                      {{9, 15}, {0, 1}},
                      {{15, 9}, {1, 0}},
                      {{5, 6, 7, 3}, {1, 2}},
                      {{6, 5, 4, 3}, {0, 3}},
                      {{3, 70, 67}, {1, 2}},
                      {{130, 3, 66}, {0, 2}},
                      {{4, 5, 6}, {2, 0, 1}},
                      {{0, 8}, {1}},
                      {{2, 1, 1}, {1, 2}},
                      {{33, 128}, {1}},
                      {{16, 21}, {0}},
                      {{3, 32, 64}, {1, 2}},
                      {{16, 3, 32}, {2, 0}}};

i64 points_of(const Case& c, const Shape& shape) {
  i64 n = 1;
  for (i64 a : c.axes) n *= shape[a];
  return n;
}

void run(const FftSpec& spec, const Array& in, const Array& out) {
  launch_now(&KernelTable::fft, "fft", spec, in.device(), {&in, &out});
}

std::string text(const Case& c, Lay in, Lay out, DType t) {
  return cat("shape ", c.shape, " axes ", c.axes, " layouts ", int(in), " ", int(out), " ",
             name(t));
}

Array poisoned(const Shape& shape, DType dtype, Lay lay) {
  i64 size = 0;
  const Layout l = layout_of(shape, lay, &size);
  return Array(Storage::allocate(test_device(), size * size_of(dtype)), l, dtype);
}

class FftKernel : public testing::TestWithParam<DType> {
 protected:
  Using<i64> effort_{config().fft_effort, 0};
};

TEST_P(FftKernel, ComplexInEveryLayout) {
  for (const Case& c : cases)
    for (int sign : {-1, 1}) {
      const Field x = random_field(count_of(c.shape), false, 5);
      Field want = x;
      for (i64 a : c.axes) want = naive(want, c.shape, a, sign);
      for (Z& z : want) z *= 0.25;
      for (Lay a : all_lays)
        for (Lay b : all_lays) {
          const Array in = array_of(x, c.shape, GetParam(), a),
                      out = poisoned(c.shape, GetParam(), b);
          run({FftKind::complex, operand_of(in), operand_of(out), c.axes, sign, 0.25}, in, out);
          expect_close(out, want, points_of(c, c.shape), text(c, a, b, GetParam()));
          EXPECT_EQ(numbers_of(in), x);
          if (a == b) {
            run({FftKind::complex, operand_of(in), operand_of(in), c.axes, sign, 0.25, true}, in,
                in);
            expect_close(in, want, points_of(c, c.shape), "in place: " + text(c, a, b, GetParam()));
          }
          if (HasFatalFailure()) return;
        }
    }
}

// Keeps the first n/2+1 along an axis.
Field halved(const Field& x, const Shape& shape, i64 axis) {
  i64 inner = 1;
  for (i64 i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  Field y;
  for (std::size_t e = 0; e < x.size(); ++e)
    if (static_cast<i64>(e) / inner % shape[axis] <= shape[axis] / 2) y.push_back(x[e]);
  return y;
}

// The Hermitian line that complex_to_real takes its half for: imaginary parts of the first element
// and, for even lengths, the middle one do not count.
Field hermitian(const Field& half, const Shape& full, i64 axis) {
  i64 inner = 1;
  for (i64 i = axis + 1; i < full.size(); ++i) inner *= full[i];
  const i64 n = full[axis], h = n / 2 + 1;
  Field y(static_cast<std::size_t>(count_of(full)));
  for (std::size_t e = 0; e < y.size(); ++e) {
    const i64 at = static_cast<i64>(e), k = at / inner % n, outer = at / inner / n,
              rest = at % inner;
    const i64 from = k < h ? k : n - k;
    Z v = half[size_t((outer * h + from) * inner + rest)];
    if (k >= h) v = std::conj(v);
    if (k == 0 || 2 * k == n) v = v.real();
    y[e] = v;
  }
  return y;
}

TEST_P(FftKernel, RealBothWaysInEveryLayout) {
  const DType dtype = GetParam(), real = real_of(dtype);
  for (const Case& c : cases) {
    const i64 last = c.axes.back();
    Shape half = c.shape;
    half[last] = c.shape[last] / 2 + 1;
    const Field x = random_field(count_of(c.shape), true, 6),
                spectrum = random_field(count_of(half), false, 7);
    Field want = x, back = spectrum;
    for (i64 a : c.axes) want = naive(want, c.shape, a, -1);
    want = halved(want, c.shape, last);
    for (i64 a : c.axes)
      if (a != last) back = naive(back, half, a, +1);
    back = naive(hermitian(back, c.shape, last), c.shape, last, +1);
    for (Z& z : back) z = 3 * z.real();
    for (Lay a : all_lays)
      for (Lay b : all_lays) {
        const Array in = array_of(x, c.shape, real, a), out = poisoned(half, dtype, b);
        run({FftKind::real_to_complex, operand_of(in), operand_of(out), c.axes, -1, 1}, in, out);
        expect_close(out, want, points_of(c, c.shape), "r2c " + text(c, a, b, dtype));
        EXPECT_EQ(numbers_of(in), x);
        const Array z = array_of(spectrum, half, dtype, a), r = poisoned(c.shape, real, b);
        run({FftKind::complex_to_real, operand_of(z), operand_of(r), c.axes, 1, 3}, z, r);
        expect_close(r, back, points_of(c, c.shape), "c2r " + text(c, a, b, dtype));
        EXPECT_EQ(numbers_of(z), spectrum) << "the input was destroyed";
        if (HasFatalFailure()) return;
      }
  }
}
INSTANTIATE_TEST_SUITE_P(Precisions, FftKernel, testing::Values(DType::c64, DType::c128),
                         [](const auto& p) { return std::string(name(p.param)); });

// Slices that are spread over the threads, lines that are, and inputs that repeat themselves.
TEST(FftKernelLarge, BatchesAndBroadcasts) {
  const Using<i64> effort(config().fft_effort, 0);
  const Case large[] = {
      {{9, 40, 50}, {1, 2}}, {{4, 96, 100}, {1, 2}}, {{100, 210}, {0, 1}}, {{3, 5, 1200}, {2}}};
  for (const Case& c : large) {
    const Field x = random_field(count_of(c.shape), false, 8);
    Field want = x;
    for (i64 a : c.axes) want = naive(want, c.shape, a, -1);
    const Array in = array_of(x, c.shape, DType::c64),
                out = poisoned(c.shape, DType::c64, Lay::dense);
    run({FftKind::complex, operand_of(in), operand_of(out), c.axes}, in, out);
    expect_close(out, want, points_of(c, c.shape), text(c, Lay::dense, Lay::dense, DType::c64));
  }
  const Field line = random_field(12, false, 9);
  Field all;
  for (int i = 0; i < 5; ++i) all.insert(all.end(), line.begin(), line.end());
  const Array x = array_of(line, {12}, DType::c128).broadcast_to({5, 12});
  expect_close(fftn(x, {0, 1}), naive(naive(all, {5, 12}, 0, -1), {5, 12}, 1, -1), 60, "broadcast");
}

// Every way of doing a length (one pass, several, passes of large primes, a convolution), as columns,
// as lines and between other axes, and real as well.
TEST(FftKernelLarge, EveryLength) {
  const Using<i64> effort(config().fft_effort, 0);
  for (i64 n = 1; n <= 72; ++n)
    for (const Case& c : {Case{{n, 9}, {0}}, Case{{7, n}, {1}}, Case{{2, n, 5}, {1}}})
      for (DType t : {DType::c64, DType::c128}) {
        const i64 axis = c.axes[0], size = count_of(c.shape);
        const Field x = random_field(size, false, 13), r = random_field(size, true, 14);
        expect_close(ifftn(array_of(x, c.shape, t), c.axes, Norm::forward),
                     naive(x, c.shape, axis, 1), n, text(c, Lay::dense, Lay::dense, t));
        const Array half = rfftn(array_of(r, c.shape, real_of(t)), c.axes);
        const Field whole = naive(r, c.shape, axis, -1);
        expect_close(half, numbers_of(array_of(whole, c.shape, t).slice(axis, 0, n / 2 + 1).copy()),
                     n, text(c, Lay::dense, Lay::dense, t));
        expect_close(irfftn(half, c.axes, Norm::backward, Shape{n}), r, n,
                     text(c, Lay::dense, Lay::dense, t));
        if (HasFatalFailure()) return;
      }
}

// Small dense slices, which FFTW takes whole where it measures quickly; also off its boundaries.
TEST(FftKernelLarge, SmallSlices) {
  const Using<i64> effort(config().fft_effort, fftw_measures_quickly ? 1 : 0);
  const Case small[] = {{{8, 6, 10}, {1, 2}}, {{8, 3, 4, 6}, {1, 2, 3}}, {{8, 5, 7}, {2, 1}}};
  for (const Case& c : small)
    for (DType t : {DType::c64, DType::c128}) {
      const i64 n = count_of(c.shape);
      const Field x = random_field(n + 1, false, 12);
      Field want(x.begin() + 1, x.end());
      for (i64 a : c.axes) want = naive(want, c.shape, a, 1);
      for (Z& z : want) z *= 0.25;
      const Array odd = array_of(x, {n + 1}, t).slice(0, 1, n + 1).reshape(c.shape);
      for (const Array& in : {odd, odd.copy()}) {
        const Array out = poisoned(c.shape, t, Lay::dense);
        run({FftKind::complex, operand_of(in), operand_of(out), c.axes, 1, 0.25}, in, out);
        expect_close(out, want, points_of(c, c.shape), text(c, Lay::dense, Lay::dense, t));
      }
    }
}

// Dense lines that do not start on FFTW's boundaries, and a single line long enough for threads.
TEST(FftKernelLarge, OffsetsAndThreads) {
  const Using<i64> effort(config().fft_effort, 0);
  const Field x = random_field(3 * 129 + 1, false, 10);
  const Array block = array_of(x, {3 * 129 + 1}, DType::c64);
  const Array odd = block.slice(0, 1, 3 * 129 + 1).reshape({3, 129});
  expect_close(fftn(odd, {1}), naive(Field(x.begin() + 1, x.end()), {3, 129}, 1, -1), 129,
               "offset");
  const i64 n = 1 << 15;
  Field peak(static_cast<std::size_t>(n)), want;
  peak[3] = 1;
  for (i64 k = 0; k < n; ++k)
    want.push_back(std::polar(1.0, -2 * std::numbers::pi * 3 * double(k) / double(n)));
  expect_close(fftn(array_of(peak, {n}, DType::c128), {0}), want, n, "one line on all threads");
}

// Transform, weight, transform back: real and complex weights that repeat along some axes or lie
// across.
TEST(FftKernelLarge, Filters) {
  if (test_device() != cpu) GTEST_SKIP() << "filters are for devices in host memory";
  const Using<i64> effort(config().fft_effort, 0);
  const Case filters[] = {{{3, 12, 10}, {1, 2}}, {{2, 32, 18}, {1, 2}}, {{5, 64, 16}, {2, 1}},
                          {{4, 16, 21}, {1}},    {{7, 32}, {1}},        {{16, 3, 16}, {0, 1, 2}},
                          {{17, 8}, {0, 1}},     {{2, 34, 11}, {1}},    {{45, 67}, {0, 1}}};
  for (const Case& c : filters)
    for (DType t : {DType::c64, DType::c128})
      for (bool real : {false, true})
        for (i64 fixed = -1; fixed < c.shape.size(); ++fixed)
          for (Lay lay : all_lays) {
            const int sign = fixed % 2 == 0 ? 1 : -1;
            Shape part = c.shape;
            if (fixed >= 0) part[fixed] = 1;
            const Field x = random_field(count_of(c.shape), false, 5),
                        w = random_field(count_of(part), real, 6);
            const Array in = array_of(x, c.shape, t), out = poisoned(c.shape, t, Lay::dense),
                        weight =
                            array_of(w, part, real ? real_of(t) : t, lay).broadcast_to(c.shape);
            Field want = x;
            for (i64 a : c.axes) want = naive(want, c.shape, a, sign);
            const Field factors = numbers_of(weight);
            for (std::size_t i = 0; i < want.size(); ++i) want[i] *= 0.125 * factors[i];
            for (i64 a : c.axes) want = naive(want, c.shape, a, -sign);
            FftSpec spec{FftKind::complex, operand_of(in), operand_of(out), c.axes, sign, 0.125};
            spec.weight = operand_of(weight);
            launch_now(&KernelTable::fft, "fft", spec, cpu, {&in, &weight, &out});
            expect_close(out, want, points_of(c, c.shape) * points_of(c, c.shape),
                         cat("filter, ", text(c, lay, Lay::dense, t)));
            if (HasFatalFailure()) return;
          }
}

TEST(FftKernelLarge, RunsAllocateNothing) {
  if (test_device() != cpu) GTEST_SKIP() << "runs the task on this thread";
  const Using<i64> effort(config().fft_effort, 0);
  const Shape half{6, 40, 26}, full{6, 40, 50};
  const Array in = array_of(random_field(count_of(half), false, 1), half, DType::c64);
  const Array out = poisoned(full, DType::f32, Lay::dense);
  const Prepared p = cpu_kernels().fft.prepare(
      {FftKind::complex_to_real, operand_of(in), operand_of(out), {1, 2}, 1, 1}, cpu);
  const Storage workspace = Storage::allocate(cpu, p.workspace);
  Launch launch;
  launch.operand = {in.data(), out.data()};
  launch.workspace = workspace.data();
  const Array plane = array_of(random_field(64 * 64, false, 2), {64, 64}, DType::c64);
  const Prepared powers = cpu_kernels().fft.prepare(
      {FftKind::complex, operand_of(plane), operand_of(plane), {0, 1}, 1, 1, true}, cpu);
  const Storage more = Storage::allocate(cpu, powers.workspace);
  Launch again;
  again.operand = {plane.data(), plane.data()};
  again.workspace = more.data();
  const NoAllocation guard;
  p.task.run(p.task.state.get(), launch);
  powers.task.run(powers.task.state.get(), again);
}

TEST(FftKernelLarge, PlansFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (i64 n = 20 + t; n < 40; ++n) {
        const auto plan = line_plan({true, FftKind::complex, n, 1, n, n, true, -1, 1, 0});
        alignas(64) c64 x[64] = {};
        x[0] = c64(1);
        alignas(64) std::byte scratch[1 << 16];
        ASSERT_LE(plan->scratch_bytes(), i64{sizeof(scratch)});
        plan->execute(x, x, scratch);
        for (i64 i = 0; i < n; ++i)
          wrong += !(std::abs(x[i].re - 1) < 1e-6f && std::abs(x[i].im) < 1e-6f);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Fft, SizesNormsAndTypesAsNumpy) {
  const Using<i64> effort(config().fft_effort, 0);
  const Field x = random_field(4 * 6, false, 11);
  const Array a = array_of(x, {4, 6}, DType::c128);
  // Cut to 3 rows, padded to 8 columns.
  Field resized(24);
  for (i64 i = 0; i < 3; ++i)
    for (i64 j = 0; j < 6; ++j) resized[size_t(i * 8 + j)] = x[size_t(i * 6 + j)];
  const Field want = naive(naive(resized, {3, 8}, 0, -1), {3, 8}, 1, -1);
  const Array y = fftn(a, {0, 1}, Norm::backward, Shape{3, 8});
  EXPECT_EQ(y.shape(), (Shape{3, 8}));
  expect_close(y, want, 24, "cut and padded");
  expect_close(fftn(a, {0, -1}, Norm::backward, Shape{-1, -1}),
               naive(naive(x, {4, 6}, 0, -1), {4, 6}, 1, -1), 24, "-1 keeps the size");
  EXPECT_EQ(fft_scale(Norm::backward, -1, 16), 1);
  EXPECT_EQ(fft_scale(Norm::backward, 1, 16), 1.0 / 16);
  EXPECT_EQ(fft_scale(Norm::ortho, 1, 16), 0.25);
  EXPECT_EQ(fft_scale(Norm::forward, -1, 16), 1.0 / 16);
  EXPECT_EQ(fft_scale(Norm::forward, 1, 16), 1);
  for (Norm norm : {Norm::backward, Norm::ortho, Norm::forward})
    expect_close(ifftn(fftn(a, {0, 1}, norm), {0, 1}, norm), x, 24, "round trip");
  Field twice = naive(naive(x, {4, 6}, 1, -1), {4, 6}, 1, -1);
  expect_close(fftn(a, {1, 1}), twice, 36, "an axis named twice");
  EXPECT_EQ(fftn(a.astype(DType::c64), {0}).dtype(), DType::c64);
  EXPECT_EQ(fftn(laid_out<float>({4}, {1, 2, 3, 4}), {0}).dtype(), DType::c64);
  EXPECT_EQ(fftn(laid_out<std::int8_t>({4}, {1, 2, 3, 4}), {0}).dtype(), DType::c128);
  EXPECT_EQ(numbers_of(fftn(laid_out<std::int8_t>({4}, {1, 2, 3, 4}), {0})),
            (Field{{10, 0}, {-2, 2}, {-2, 0}, {-2, -2}}));
  EXPECT_EQ(numbers_of(a), x);
}

TEST(Fft, RealTransforms) {
  const Using<i64> effort(config().fft_effort, 0);
  for (i64 n : {7, 8}) {
    const Field x = random_field(5 * n, true, 12);
    const Array a = array_of(x, {5, n}, DType::f32), y = rfftn(a, {0, 1}, Norm::ortho);
    EXPECT_EQ(y.shape(), (Shape{5, n / 2 + 1}));
    EXPECT_EQ(y.dtype(), DType::c64);
    const Array back = irfftn(y, {0, 1}, Norm::ortho, Shape{5, n});
    EXPECT_EQ(back.dtype(), DType::f32);
    expect_close(back, x, 5 * n, "round trip");
    EXPECT_EQ(irfftn(y, {1}).shape(), (Shape{5, 2 * (n / 2)}));
  }
}

TEST(Fft, ShiftsAndTheirInverse) {
  const Array x = laid_out<i64>({5}, {0, 1, 2, 3, 4}, Lay::reversed);
  EXPECT_EQ(values_of<i64>(fftshift(x, {0})), (std::vector<i64>{3, 4, 0, 1, 2}));
  EXPECT_EQ(values_of<i64>(fftshift(x, {0}, true)), (std::vector<i64>{2, 3, 4, 0, 1}));
  const Array m = laid_out<i64>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values_of<i64>(fftshift(m, {0, 1})), (std::vector<i64>{5, 3, 4, 2, 0, 1}));
}

TEST(Fft, Errors) {
  const Array x = Array::empty({2, 0}, DType::c64, test_device()),
              y = Array::empty({3, 4}, DType::c64, test_device());
  EXPECT_EQ(thrown_text<ArgumentError>([&] { fftn(x, {1}); }),
            "Invalid number of FFT data points (0) specified.");
  EXPECT_EQ(thrown_text<ArgumentError>([&] { fftn(y, {1}, Norm::backward, Shape{0}); }),
            "Invalid number of FFT data points (0) specified.");
  EXPECT_EQ(thrown_text<ArgumentError>([&] { irfftn(y.slice(1, 0, 1), {1}); }),
            "Invalid number of FFT data points (0) specified.");
  EXPECT_NE(thrown_text<ArgumentError>([&] {
              fftn(y, {0, 1}, Norm::backward, Shape{3});
            }).find("different lengths"),
            std::string::npos);
  EXPECT_NE(thrown_text<IndexError>([&] { fftn(y, {2}); }).find("axis 2 is out of bounds"),
            std::string::npos);
  EXPECT_NE(thrown_text<DTypeError>([&] { rfftn(y, {0}); }).find("complex64"), std::string::npos);
  EXPECT_NE(thrown_text<ArgumentError>([&] {
              rfftn(Array::empty({3}, DType::f32, test_device()), {});
            }).find("at least 1 axis"),
            std::string::npos);
}

TEST(FftWisdom, ABrokenFileIsNoWisdom) {
  const std::string path = scratch_folder() + "/wisdom";
  std::ofstream(path) << "(not wisdom at all";
  EXPECT_FALSE(read_wisdom(true, path));
  EXPECT_FALSE(read_wisdom(false, scratch_folder() + "/absent"));
  EXPECT_NE(wisdom_file(true), wisdom_file(false));
}

TEST(FftWisdom, IsWrittenAndReadBack) {
  if (!problem_with_fftw().empty()) GTEST_SKIP() << problem_with_fftw();
  const std::string path = scratch_folder() + "/some/folder/wisdom";
  for (bool single : {true, false}) {
    ASSERT_TRUE(write_wisdom(single, path));
    EXPECT_TRUE(read_wisdom(single, path));
    EXPECT_FALSE(read_wisdom(!single, path)) << "wisdom of the other precision";
  }
  EXPECT_FALSE(write_wisdom(true, "/proc/no/such/folder/wisdom"));
}

}  // namespace
}  // namespace tessera
