// SPDX-License-Identifier: Apache-2.0
// Against the definition, on the whole array sorted by the local function.
#include "tessera/distributed/sorting/quantile.hpp"

#include <cmath>

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Quantile f of every line along an axis, row-major over the other axes.
std::vector<double> expected(const Array& whole, i64 axis, double f) {
  Shape order;
  for (i64 a = 0; a < whole.ndim(); ++a)
    if (a != axis) order.push_back(a);
  order.push_back(axis);
  const auto v = numbers_of(tessera::sort(whole, axis).permute(order).to(cpu).contiguous());
  const i64 n = whole.shape(axis), lines = n ? whole.size() / n : 0;
  std::vector<double> result;
  for (i64 j = 0; j < lines; ++j) {
    const auto* const line = v.data() + j * n;
    const double position = f * static_cast<double>(n - 1);
    const i64 low = static_cast<i64>(std::floor(position)), high = std::min(low + 1, n - 1);
    const double a = line[low].real(), b = line[high].real();
    result.push_back(std::isnan(line[n - 1].real())
                         ? line[n - 1].real()
                         : a + (b - a) * (position - std::floor(position)));
  }
  return result;
}

void expect_close(const Array& got, const std::vector<double>& want, double tolerance) {
  const auto v = numbers_of(got.to(cpu).contiguous());
  ASSERT_EQ(v.size(), want.size());
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double g = v[k].real();
    if (std::isnan(want[k]))
      EXPECT_TRUE(std::isnan(g)) << k;
    else
      EXPECT_FALSE(!(std::abs(g - want[k]) <= tolerance * (1 + std::abs(want[k])))) << k;
  }
}

// Finite numbers with a NaN here and there.
Array data(DType dtype, const Shape& shape, bool nans) {
  std::mt19937_64 engine(21);
  std::vector<double> v;
  for (i64 i = 0; i < count_of(shape); ++i) v.push_back(static_cast<double>(engine() % 100));
  if (nans && v.size() > 11) v[7] = std::numeric_limits<double>::quiet_NaN();
  return laid_out(dtype, shape, v);
}

Array number(double f, DType dtype) { return Array::scalar(Value(f), dtype); }

TEST(DistQuantile, EveryAxisOfEverySplit) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{41}, Shape{900}, Shape{9, 5, 4}, Shape{2, 16}, Shape{12, 2}})
      for (const bool nans : {false, true}) {
        const Array whole = data(DType::f64, shape, nans);
        for (const Distribution& s : distributions_of(shape, comm.size())) {
          const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
          for (i64 axis = 0; axis < shape.size(); ++axis) {
            const DNDarray q = dist::quantile(x, number(0.3, DType::f64), Axes{axis});
            expect_close(q.gathered(), expected(whole, axis, 0.3), 1e-14);
            const DNDarray m = dist::median(x, Axes{axis}, true);
            expect_close(m.gathered(), expected(whole, axis, 0.5), 1e-14);
            Shape kept = shape;
            kept[axis] = 1;
            EXPECT_EQ(m.shape(), kept);
            EXPECT_EQ(m.split(), s.split == axis ? std::nullopt : s.split);
            EXPECT_EQ(q.split().has_value(), m.split().has_value());
          }
          const Array flat = whole.reshape({whole.size()});
          const DNDarray all = dist::median(x);
          EXPECT_EQ(all.shape(), Shape{});
          expect_close(all.gathered(), expected(flat, 0, 0.5), 1e-14);
        }
      }
  });
}

// x with axes `first` and `second` as one, the last.
Array joined(const Array& x, i64 first, i64 second) {
  const i64 kept = 3 - first - second;
  return x.permute(Shape{kept, first, second})
      .reshape({x.shape(kept), x.shape(first) * x.shape(second)});
}

TEST(DistQuantile, SeveralAxes) {
  on_ranks([](Communicator comm) {
    const Shape shape{9, 5, 4};
    const Array whole = data(DType::f64, shape, true);
    for (const Distribution& s : distributions_of(shape, comm.size()))
      for (const Axes& axes : {Axes{0, 1}, Axes{2, 0}, Axes{-1, 1}}) {
        const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
        const i64 first = axes[0] < 0 ? 2 : axes[0], kept = 3 - first - axes[1];
        const Array lines = joined(whole, first, axes[1]);
        const Traffic before = comm.traffic();
        const DNDarray m = dist::median(x, axes);
        if (!s.split || s.split == kept) {
          EXPECT_EQ(comm.traffic(), before);
        }
        EXPECT_EQ(m.split(), s.split == kept ? std::optional<i64>(0) : std::nullopt);
        expect_close(m.gathered(), expected(lines, 1, 0.5), 1e-14);
        const DNDarray q = dist::quantile(x, number(0.3, DType::f64), axes, true);
        Shape of_one{1, 1, 1};
        of_one[kept] = shape[kept];
        EXPECT_EQ(q.shape(), of_one);
        EXPECT_EQ(q.split(), s.split == kept ? s.split : std::nullopt);
        expect_close(q.gathered(), expected(lines, 1, 0.3), 1e-14);
      }
    const DNDarray x = distribute(whole, {1, Partition::even(5, comm.size())}, comm);
    const DNDarray over_none = dist::median(x, Axes{});
    EXPECT_EQ(over_none.split(), x.split());
    expect_close(over_none.gathered(), expected(whole.reshape({180, 1}), 1, 0.5), 0);
  });
}

TEST(DistQuantile, SeveralAtOnce) {
  on_ranks([](Communicator comm) {
    const Array whole = data(DType::i32, {13, 6}, false);
    const std::vector<double> fractions{0, 0.25, 0.77, 1, 0.5, 0.1, 0.9, 0.33, 0.66};
    Array percents = laid_out<double>({3, 3}, fractions, Lay::dense, cpu);
    for (i64 k = 0; k < 9; ++k) percents.host<double>()[k] *= 100;
    for (const Distribution& s : distributions_of({13, 6}, comm.size()))
      for (i64 axis = 0; axis < 2; ++axis) {
        const DNDarray got =
            dist::percentile(distribute(whole, s, comm), percents, Axes{axis}, true);
        EXPECT_EQ(got.shape(), (axis == 0 ? Shape{3, 3, 1, 6} : Shape{3, 3, 13, 1}));
        EXPECT_EQ(got.dtype(), DType::f64);
        const Array all = got.gathered().reshape({9, axis == 0 ? 6 : 13});
        for (i64 k = 0; k < 9; ++k)
          expect_close(all.select(0, k),
                       expected(whole, axis, fractions[static_cast<std::size_t>(k)]), 1e-12);
      }
  });
}

TEST(DistQuantile, DtypesAndNothing) {
  on_ranks([](Communicator comm) {
    const Distribution s{0, Partition::even(7, comm.size())};
    const DNDarray x = distribute(data(DType::f32, {7}, false), s, comm);
    EXPECT_EQ(dist::median(x).dtype(), DType::f32);
    EXPECT_EQ(dist::quantile(x, number(0.4, DType::f32)).dtype(), DType::f32);
    EXPECT_EQ(dist::quantile(x, number(0.4, DType::f64)).dtype(), DType::f64);
    EXPECT_EQ(dist::median(x.astype(DType::i8)).dtype(), DType::f64);
    const DNDarray none =
        distribute(data(DType::f64, {0, 3}, false), {0, Partition::even(0, comm.size())}, comm);
    expect_close(dist::median(none, Axes{0}).gathered(), std::vector<double>(3, std::nan("")), 0);
    EXPECT_EQ(dist::quantile(x, Array::empty({0}, DType::f64)).shape(), Shape{0});
    EXPECT_THROW(dist::quantile(none, number(0.5, DType::f64), Axes{0}), IndexError);
    EXPECT_THROW(dist::quantile(x, number(1.5, DType::f64)), ArgumentError);
    EXPECT_THROW(dist::percentile(x, number(-1, DType::f64)), ArgumentError);
    EXPECT_THROW(dist::quantile(x.astype(DType::c64), number(0.5, DType::f64)), DTypeError);
    EXPECT_THROW(dist::quantile(x.astype(DType::b1), number(0.5, DType::f64)), DTypeError);
    EXPECT_THROW(dist::median(x, Axes{1}), IndexError);
    EXPECT_THROW(dist::median(x, Axes{0, -1}), ArgumentError);
  });
}

TEST(DistQuantile, OnlySamplesTravel) {
  on_ranks([](Communicator comm) {
    const i64 n = 100000, p = comm.size();
    std::mt19937_64 engine(5);
    std::vector<double> v;
    for (i64 i = 0; i < n; ++i) v.push_back(static_cast<double>(engine() % 1000003));
    const Array whole = laid_out<double>({n}, v);
    const DNDarray x = distribute(whole, {0, Partition::even(n, comm.size())}, comm);
    Traffic before = comm.traffic();
    const DNDarray m = dist::median(x);
    i64 bytes = (comm.traffic() - before).bytes;
    comm.allreduce(&bytes, 1, DType::i64, Combine::sum);
    EXPECT_LE(bytes, n * 8 * (p - 1) / p / 20);
    expect_close(m.gathered(), expected(whole, 0, 0.5), 1e-14);
    const DNDarray rows =
        distribute(whole.reshape({400, 250}), {0, Partition::even(400, comm.size())}, comm);
    before = comm.traffic();
    (void)dist::median(rows, Axes{1});
    (void)dist::quantile(DNDarray::replicated(whole, comm), number(0.2, DType::f64));
    EXPECT_EQ(comm.traffic(), before);
  });
}

}  // namespace
}  // namespace tessera::dist
