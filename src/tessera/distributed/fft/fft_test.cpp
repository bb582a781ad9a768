// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/fft/fft.hpp"

#include "support/cases.hpp"

namespace tessera::dist {
namespace {

TEST(DistFft, EveryAxesAndDistribution) {
  const Array x = sample({6, 5, 7}, DType::f64), z = sample({6, 5, 7}, DType::c128);
  const Shape axis_sets[] = {{0}, {1}, {2}, {0, 1}, {2, 0}, {1, 2}, {0, 1, 2}, {-1, -3}};
  for_each_distribution({6, 5, 7}, [&](const Case& c) {
    const DNDarray d = c.of(x), e = c.of(z);
    for (const Shape& axes : axis_sets)
      for (const Norm norm : {Norm::backward, Norm::ortho, Norm::forward}) {
        SCOPED_TRACE(cat("axes ", axes));
        expect_same(dist::fftn(e, axes, norm), fftn(z, axes, norm), 100);
        expect_same(dist::ifftn(d, axes, norm), ifftn(x, axes, norm), 100);
        expect_same(dist::rfftn(d, axes, norm), rfftn(x, axes, norm), 100);
        expect_same(dist::irfftn(e, axes, norm), irfftn(z, axes, norm), 100);
        expect_split(dist::fftn(e, axes, norm), c.distribution.split);
        expect_split(dist::rfftn(d, axes, norm), c.distribution.split);
      }
  });
}

TEST(DistFft, SizesAreCutAndPadded) {
  const Array x = sample({6, 5}, DType::f32), z = sample({6, 5}, DType::c64);
  const Shape sizes[] = {{4, 3}, {9, 8}, {6, -1}, {1, 5}, {7, 2}};
  for_each_distribution({6, 5}, [&](const Case& c) {
    for (const Shape& n : sizes) {
      expect_same(dist::fftn(c.of(z), {0, 1}, Norm::backward, n),
                  fftn(z, {0, 1}, Norm::backward, n), 100);
      expect_same(dist::rfftn(c.of(x), {1, 0}, Norm::backward, n),
                  rfftn(x, {1, 0}, Norm::backward, n), 100);
      expect_same(dist::irfftn(c.of(z), {0, 1}, Norm::ortho, n), irfftn(z, {0, 1}, Norm::ortho, n),
                  100);
      expect_same(dist::irfftn(c.of(z), {1, 0}, Norm::forward, n),
                  irfftn(z, {1, 0}, Norm::forward, n), 100);
    }
  });
}

TEST(DistFft, NothingIsPaddedToZeros) {
  const Array none = sample({0, 3}, DType::c128);
  for_each_distribution({0, 3}, [&](const Case& c) {
    for (const i64 n : {1, 5})
      expect_same(dist::fftn(c.of(none), {0}, Norm::backward, Shape{n}),
                  fftn(none, {0}, Norm::backward, Shape{n}));
  });
}

TEST(DistFft, OtherAxesSendNothing) {
  const Array z = sample({6, 5}, DType::c128);
  for_each_distribution({6, 5}, [&](const Case& c) {
    const DNDarray d = c.of(z);
    for (i64 a = 0; a < 2; ++a) {
      if (c.distribution.split == a) continue;
      const DNDarray y = silent(c.comm, [&] { return dist::fftn(d, {a}); });
      EXPECT_EQ(y.distribution(), d.distribution());
      silent(c.comm, [&] { return dist::irfftn(d, {a}); });
      silent(c.comm, [&] { return dist::fftshift(d, {a}); });
    }
    EXPECT_EQ(dist::fftn(d, {0, 1}).distribution(), d.distribution());
  });
}

TEST(DistFft, OneRoundTrip) {
  run_ranks(3, [](const Communicator& comm) {
    const DNDarray d = distribute(sample({6, 9}, DType::c128), {0, Partition::even(6, 3)}, comm);
    const Traffic before = comm.traffic();
    (void)dist::fftn(d, {0, 1});
    EXPECT_EQ((comm.traffic() - before).bytes, 2 * 16 * 2 * 6);
    EXPECT_EQ((comm.traffic() - before).messages, 4);
  });
}

// Lines: short ones, long ones of two factors, a prime, and arrays that are lines in disguise.
TEST(DistFft, Lines) {
  for (const i64 n :
       {i64{1}, i64{12}, i64{1200}, i64{1536}, i64{1523}, i64{2025}, i64{2046}, i64{2094}}) {
    const Array x = sample({n}, DType::f64), z = sample({n}, DType::c128);
    for_each_distribution({n}, [&](const Case& c) {
      expect_same(dist::fftn(c.of(z), {0}), fftn(z, {0}), 200);
      expect_same(dist::ifftn(c.of(z), {0}), ifftn(z, {0}), 200);
      expect_same(dist::fftn(c.of(x), {0}, Norm::ortho), fftn(x, {0}, Norm::ortho), 200);
      expect_same(dist::rfftn(c.of(x), {0}), rfftn(x, {0}), 200);
      expect_same(dist::irfftn(c.of(z), {0}, Norm::backward, Shape{n}),
                  irfftn(z, {0}, Norm::backward, Shape{n}), 200);
      expect_split(dist::rfftn(c.of(x), {0}), c.distribution.split);
    });
  }
}

TEST(DistFft, LinesOfOtherSizes) {
  const Array z = sample({1300}, DType::c64), f = sample({1300}, DType::f32);
  for_each_distribution({1300}, [&](const Case& c) {
    for (const i64 n : {i64{1200}, i64{1400}, i64{2400}, i64{2499}, i64{3000}}) {
      expect_same(dist::fftn(c.of(z), {0}, Norm::backward, Shape{n}),
                  fftn(z, {0}, Norm::backward, Shape{n}), 200);
      expect_same(dist::rfftn(c.of(f), {0}, Norm::backward, Shape{n}),
                  rfftn(f, {0}, Norm::backward, Shape{n}), 200);
      expect_same(dist::irfftn(c.of(z), {0}, Norm::forward, Shape{n}),
                  irfftn(z, {0}, Norm::forward, Shape{n}), 200);
    }
    expect_same(dist::irfftn(c.of(z), {0}), irfftn(z, {0}), 200);
  });
  const Array wide = sample({1, 1200, 1}, DType::c128);
  for_each_distribution({1, 1200, 1}, [&](const Case& c) {
    const DNDarray y = dist::fftn(c.of(wide), {0, 1, 2});
    expect_same(y, fftn(wide, {0, 1, 2}), 200);
    expect_split(y, c.distribution.split);
  });
}

TEST(DistFft, AxesNamedTwice) {
  const Array x = sample({4, 6}, DType::f64), z = sample({4, 6}, DType::c128);
  for_each_distribution({4, 6}, [&](const Case& c) {
    expect_same(dist::fftn(c.of(z), {0, 1, 0}), fftn(z, {0, 1, 0}), 200);
    expect_same(dist::rfftn(c.of(x), {1, 0, 1}), rfftn(x, {1, 0, 1}), 200);
    expect_same(dist::irfftn(c.of(z), {1, 0, 1}), irfftn(z, {1, 0, 1}), 200);
  });
}

TEST(DistFft, Shifts) {
  const Array x = sample({5, 4}, DType::i64);
  for_each_distribution({5, 4}, [&](const Case& c) {
    for (const bool inverse : {false, true})
      for (const Shape& axes : {Shape{0}, Shape{1}, Shape{0, 1}})
        expect_same(dist::fftshift(c.of(x), axes, inverse), fftshift(x, axes, inverse));
  });
}

TEST(DistFft, ErrorsAreTheLocalOnes) {
  const Array x = sample({5, 4}, DType::f64), z = sample({5, 4}, DType::c128),
              none = sample({0, 4});
  for_each_distribution({5, 4}, [&](const Case& c) {
    expect_same_error<IndexError>([&] { fftn(x, {2}); }, [&] { dist::fftn(c.of(x), {2}); });
    expect_same_error<DTypeError>([&] { rfftn(z, {0}); }, [&] { dist::rfftn(c.of(z), {0}); });
    expect_same_error<ArgumentError>([&] { fftn(x, {0}, Norm::backward, Shape{0}); },
                                     [&] { dist::fftn(c.of(x), {0}, Norm::backward, Shape{0}); });
    expect_same_error<ArgumentError>(
        [&] {
          fftn(x, {0}, Norm::backward, Shape{3, 3});
        },
        [&] {
          dist::fftn(c.of(x), {0}, Norm::backward, Shape{3, 3});
        });
    expect_same_error<ArgumentError>([&] { rfftn(x, {}); }, [&] { dist::rfftn(c.of(x), {}); });
  });
  for_each_distribution({0, 4}, [&](const Case& c) {
    expect_same_error<ArgumentError>([&] { fftn(none, {0}); },
                                     [&] { dist::fftn(c.of(none), {0}); });
    expect_same(dist::fftn(c.of(none), {1}), fftn(none, {1}));
  });
}

}  // namespace
}  // namespace tessera::dist
