// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/blocks.hpp"

#include "support/streams.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/streaming/linalg/cholesky.hpp"
#include "tessera/streaming/linalg/lu.hpp"
#include "tessera/streaming/linalg/matmul.hpp"

namespace tessera::streaming {
namespace {

i64 looks = 0;
void count_looks() { ++looks; }

// Work in parts that take no time, with a count of looks between them.
struct SmallParts {
  SmallParts() {
    looks = 0;
    set_operations_at_a_time(20000);
    set_stream_poll(&count_looks);
  }
  ~SmallParts() {
    set_operations_at_a_time(0);
    set_stream_poll(nullptr);
  }
};

double difference(const Array& a, const Array& b) {
  double most = 0;
  const Array d = ops::absolute(ops::subtract(a, b)).astype(DType::f64).contiguous();
  for (i64 i = 0; i < d.size(); ++i)
    if (!(d.host<double>()[i] <= most)) most = d.host<double>()[i];
  return most;
}

// The same numbers as at once, and somebody looked around many times.
template <class Run>
void same_in_parts(const Shape& shape, DType t, Run run) {
  const Watched at_once = fresh(shape, t, {64, 64}), in_parts = fresh(shape, t, {64, 64});
  run(at_once);
  {
    const SmallParts small;
    run(in_parts);
  }
  EXPECT_GT(looks, 100);
  const double tolerance = size_of(t) / (is_complex(t) ? 2 : 1) == 4 ? 2e-3 : 1e-9;
  EXPECT_TRUE(difference(whole(*at_once), whole(*in_parts)) < tolerance) << name(t);
}

TEST(StreamingBlocks, GiveTheSameInParts) {
  const i64 n = 190;
  for (const DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const Array x = random_on_host({n, n}, t, 1), y = random_on_host({n, 131}, t, 2);
    const Array identity = Array::empty({n, n}, t);
    identity.fill(Value(0));
    for (i64 i = 0; i < n; ++i) identity.select(0, i).select(0, i).fill(Value(n));
    const Array good = ops::add(x, identity);
    const Array turned = ops::conj(x.transpose()).contiguous();
    const Array positive = ops::add(tessera::matmul(x, turned), identity);
    const Watched a = watched(good, {64, 64}), b = watched(y, {64, 64}),
                  s = watched(positive, {64, 64});
    same_in_parts({n, 131}, t, [&](const StorePtr& c) { matmul(a, b, c); });
    for (const bool upper : {false, true})
      same_in_parts({n, n}, t, [&](const StorePtr& l) { cholesky(s, l, {.upper = upper}); });
    same_in_parts({n, 131}, t, [&](const StorePtr& c) {
      solve(a, b, c, fresh({n, n}, t, {64, 64}));
    });
    same_in_parts({n, n}, t, [&](const StorePtr& c) {
      inverse(watched(x, {64, 64}), c, fresh({n, n}, t, {64, 64}));
    });
  }
}

}  // namespace
}  // namespace tessera::streaming
