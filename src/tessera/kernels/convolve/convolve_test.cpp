// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/convolve/convolve.hpp"

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

struct Case {
  Shape batch, in, kernel, out, left, stride, dilation;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{}, {5}, {3}, {5}, {1}, {1}, {1}},
      {{}, {1}, {1}, {1}, {0}, {1}, {1}},
      {{2}, {7}, {4}, {7}, {2}, {1}, {1}},
      {{}, {100}, {9}, {100}, {4}, {1}, {1}},
      {{}, {3001}, {5}, {1500}, {2}, {2}, {1}},
      {{3}, {20}, {3}, {6}, {1}, {3}, {2}},
      {{}, {40}, {4}, {39}, {3}, {1}, {3}},
      {{3}, {4}, {11}, {4}, {7}, {1}, {1}},  // wraps several times
      {{2}, {9, 13}, {3, 2}, {9, 13}, {1, 0}, {1, 1}, {1, 1}},
      {{}, {33, 70}, {5, 3}, {16, 35}, {2, 1}, {2, 2}, {1, 1}},
      {{}, {5, 2}, {2, 3}, {5, 2}, {1, 1}, {1, 1}, {1, 1}},
      {{2}, {6, 5, 12}, {3, 3, 3}, {6, 5, 12}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{}, {4, 3, 5, 6}, {2, 3, 1, 2}, {4, 3, 5, 6}, {0, 1, 0, 1}, {1, 1, 1, 1}, {1, 1, 2, 1}},
      {{2, 3}, {4, 9}, {2, 3}, {1, 9}, {0, 1}, {1, 1}, {1, 1}},  // sums over the first axis
  };
  return all;
}

Shape joined(Shape a, const Shape& b) {
  a.append(b);
  return a;
}

i64 next_place(const Shape& shape, i64 axis, i64& rest) {
  const i64 i = rest % shape[axis];
  rest /= shape[axis];
  return i;
}

// out by definition; kernels: one, or one per item of the batch.
std::vector<Z> by_definition(const Case& c, const std::vector<Z>& in, const std::vector<Z>& kernel,
                             bool own_kernels, Boundary boundary, bool conj) {
  const i64 batch = count_of(c.batch), points = count_of(c.out), taps = count_of(c.kernel);
  std::vector<Z> out(static_cast<std::size_t>(batch * points));
  for (i64 o = 0; o < batch * points; ++o)
    for (i64 t = 0; t < taps; ++t) {
      i64 place = o % points, tap = t, at = 0, scale = 1;
      bool inside = true;
      for (i64 a = c.in.size() - 1; a >= 0; --a) {
        i64 p = next_place(c.out, a, place) * c.stride[a] +
                next_place(c.kernel, a, tap) * c.dilation[a] - c.left[a];
        if (boundary == Boundary::circular) p = ((p % c.in[a]) + c.in[a]) % c.in[a];
        inside = inside && p >= 0 && p < c.in[a];
        at += p * scale;
        scale *= c.in[a];
      }
      if (!inside) continue;
      const Z w = kernel[static_cast<std::size_t>(own_kernels ? o / points * taps + t : t)];
      out[static_cast<std::size_t>(o)] +=
          (conj ? std::conj(w) : w) * in[static_cast<std::size_t>(o / points * scale + at)];
    }
  return out;
}

// Small integers in both parts: every sum is exact, in bfloat16 too.
std::vector<Z> some_numbers(i64 n, bool complex, i64 seed) {
  std::vector<Z> v;
  for (i64 i = 0; i < n; ++i)
    v.emplace_back(static_cast<double>((i * 5 + seed) % 3 - 1),
                   complex ? static_cast<double>((i * 7 + seed) % 3 - 1) : 0.0);
  return v;
}

Array array_of(DType t, const Shape& shape, const std::vector<Z>& v, Lay lay) {
  Array x;
  dispatch<Half, BFloat16, float, double, c64, c128>(t, "test", [&]<class T>() {
    std::vector<T> values;
    for (const Z& z : v)
      if constexpr (is_complex_v<T>)
        values.push_back(
            T(static_cast<decltype(T::re)>(z.real()), static_cast<decltype(T::re)>(z.imag())));
      else
        values.push_back(T(static_cast<float>(z.real())));
    x = laid_out<T>(shape, values, lay);
  });
  return x;
}

void check_case(const Case& c, DType t, DType kt, Boundary boundary, bool own_kernels, bool conj,
                Lay lay, Lay out_lay) {
  const Shape in_shape = joined(c.batch, c.in), out_shape = joined(c.batch, c.out);
  const auto xs = some_numbers(count_of(in_shape), is_complex(t), 1);
  const Shape kernel_shape = own_kernels ? joined(c.batch, c.kernel) : c.kernel;
  const auto ks = some_numbers(count_of(kernel_shape), is_complex(kt), 2);
  const Array x = array_of(t, in_shape, xs, lay), k = array_of(kt, kernel_shape, ks, lay);
  const Array y = array_of(
      t, out_shape, std::vector<Z>(static_cast<std::size_t>(count_of(out_shape)), Z(99)), out_lay);
  ConvolveSpec spec{.in = operand_of(x),
                    .kernel = {k.layout().broadcast_to(joined(c.batch, c.kernel)), kt},
                    .out = operand_of(y),
                    .left = c.left,
                    .stride = c.stride,
                    .dilation = c.dilation,
                    .boundary = boundary,
                    .conj_kernel = conj};
  launch_now(&KernelTable::convolve, "convolve", spec, y.device(), {&x, &k, &y});
  const auto expected = by_definition(c, xs, ks, own_kernels, boundary, conj);
  const auto got = numbers_of(y);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected[i]) << name(t) << " * " << name(kt) << " " << to_text(c.in)
                                   << " kernel " << to_text(c.kernel) << " at " << i;
}

TEST(Convolve, EveryCaseTypeBoundaryAndLayoutIsTheSumOfItsTaps) {
  const std::pair<DType, DType> types[] = {{DType::f16, DType::f32},  {DType::bf16, DType::f32},
                                           {DType::f32, DType::f32},  {DType::f64, DType::f64},
                                           {DType::c64, DType::f32},  {DType::c64, DType::c64},
                                           {DType::c128, DType::f64}, {DType::c128, DType::c128}};
  std::size_t turn = 0;
  for (const Case& c : cases())
    for (auto [t, kt] : types)
      for (Boundary b : {Boundary::zeros, Boundary::circular})
        for (Lay lay : all_lays) {
          ++turn;
          check_case(c, t, kt, b, !c.batch.empty() && turn % 2 == 0, turn % 3 == 0, lay,
                     all_lays[turn / 3 % 4]);
        }
}

TEST(Convolve, AnInputThatServesSeveralKernels) {
  const Array x = laid_out<float>({4}, {1, 2, 3, 4}), k = laid_out<float>({2, 2}, {1, 1, 1, -1});
  const Array y = zeros({2, 3}, DType::f32, test_device());
  Layout twice = x.layout().insert_axis(0);
  twice.shape[0] = 2;
  const ConvolveSpec spec{.in = {twice, DType::f32},
                          .kernel = operand_of(k),
                          .out = operand_of(y),
                          .left = {0},
                          .stride = {1},
                          .dilation = {1}};
  launch_now(&KernelTable::convolve, "convolve", spec, y.device(), {&x, &k, &y});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{3, 5, 7, -1, -1, -1}));
}

TEST(Convolve, RefusesOtherTypesAndEmptyInputs) {
  const Device d = test_device();
  const auto launch = [&](const Array& x, const Array& k, const Array& y) {
    const ConvolveSpec spec{.in = operand_of(x),
                            .kernel = operand_of(k),
                            .out = operand_of(y),
                            .left = {0},
                            .stride = {1},
                            .dilation = {1}};
    launch_now(&KernelTable::convolve, "convolve", spec, d, {&x, &k, &y});
  };
  const Array f = zeros({4}, DType::f32, d), z = zeros({4}, DType::c64, d),
              i = zeros({4}, DType::i32, d), e = zeros({0}, DType::f32, d);
  EXPECT_THROW(launch(f, z, f.copy()), DTypeError);
  EXPECT_THROW(launch(f, f, z), DTypeError);
  EXPECT_THROW(launch(i, i, i.copy()), DTypeError);
  EXPECT_THROW(launch(e, f, f.copy()), ShapeError);
  launch(f, f, e);
}

}  // namespace
}  // namespace tessera
