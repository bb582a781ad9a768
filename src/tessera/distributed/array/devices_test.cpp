// SPDX-License-Identifier: Apache-2.0
// Functions of distributed arrays whose parts are on a device that works by itself: what the tests
// of each function prove on the host, once more where memory is only read after a wait.
#include <array>

#include "support/cases.hpp"
#include "tessera/base/config.hpp"
#include "tessera/distributed/fft/fft.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/distributed/functions/scan.hpp"
#include "tessera/distributed/linalg/matmul.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::dist {
namespace {

// f(distributed on a sim device) equals `want`, which was computed on the host.
void on_sim(const Array& x, const std::function<DNDarray(const DNDarray&)>& f, const Array& want,
            double error = 0) {
  const Using<i64> slow(config().sim_delay_us, 20);
  for (const bool direct : {true, false}) {  // between the devices, and through the host
    const Using<bool> lanes(config().device_lanes, direct);
    on_ranks({2, 3}, [&](const Communicator& comm) {
      const Device device{Kind::sim, static_cast<std::int16_t>(comm.rank())};
      for (const Distribution& s : distributions_of(x.shape(), comm.size())) {
        const DNDarray y = f(distribute(x, s, comm).to(device));
        EXPECT_EQ(y.device(), device);
        expect_same(y, want, error);
      }
    });
  }
}

using D = const DNDarray&;

TEST(DistDevices, Elementwise) {
  const Array x = sample({6, 5}), row = sample({5}, DType::f64, 2);
  on_sim(
      x, [](D d) { return dist::add(d, dist::multiply(d, 2.0)); }, ops::multiply(x, Value(3.0)));
  on_sim(
      x, [](D d) { return dist::add(d, d.resplit(1)); }, ops::multiply(x, Value(2.0)));
  on_sim(
      x, [&](D d) { return dist::add(d, row.to(d.device())); }, ops::add(x, row));
}

TEST(DistDevices, ReduceAndScan) {
  const Array x = sample({6, 5});
  on_sim(
      x, [](D d) { return dist::sum(d, Axes{0}); }, reduce(ReduceOp::sum, x, Axes{0}));
  on_sim(
      x, [](D d) { return dist::argmin(d); }, reduce(ReduceOp::argmin, x));
  on_sim(
      x, [](D d) { return dist::variance(d, Axes{1}); }, variance(x, Axes{1}), 50);
  on_sim(
      x, [](D d) { return dist::cumsum(d, 0); }, scan(ScanOp::sum, x, 0));
  on_sim(
      x, [](D d) { return dist::cumsum(d); }, scan(ScanOp::sum, x, {}));
}

TEST(DistDevices, MovesAndJoins) {
  const Array x = sample({6, 5}, DType::i64);
  on_sim(
      x, [](D d) { return dist::flip(d); }, flip(x, {0, 1}));
  on_sim(
      x,
      [](D d) {
        return dist::roll(d, {2, 3}, {0, 1});
      },
      roll(x, {2, 3}, {0, 1}));
  on_sim(
      x,
      [](D d) {
        return dist::reshape(d, {10, 3});
      },
      x.reshape({10, 3}));
  on_sim(
      x, [](D d) { return dist::tril(dist::transpose(d), 9); }, x.transpose());
  on_sim(
      x, [](D d) { return dist::diag(dist::diagonal(d)); },
      ops::multiply(x.slice(0, 0, 5), tessera::eye(5, 5, 0, DType::i64).to(x.device())));
  on_sim(
      x,
      [](D d) {
        return dist::concatenate(std::array{d, d.resplit(0)}, 0);
      },
      concatenate(std::array{x, x}, 0));
  on_sim(
      x,
      [](D d) {
        return dist::diff(dist::pad(d, {{1, 1}}, dist::PadMode::edge), 1, 0);
      },
      [&] {
        const Array wide = concatenate(std::array{x.slice(1, 0, 1), x, x.slice(1, 4, 5)}, 1);
        const Array none = tessera::zeros({1, 7}, DType::i64).to(x.device());
        const Array inner = ops::subtract(wide.slice(0, 1, 6), wide.slice(0, 0, 5));
        return concatenate(std::array{none, inner, none}, 0);
      }());
}

TEST(DistDevices, Products) {
  const Array x = sample({6, 5}), square = matmul(x, x.transpose());
  on_sim(
      x, [](D d) { return dist::matmul(d, dist::transpose(d)); }, square);
  on_sim(
      x, [](D d) { return dist::matmul(d, dist::transpose(d.resplit(0))); }, square);
  const Array z = sample({6, 5}, DType::c128);
  on_sim(
      z,
      [](D d) {
        return dist::fftn(d, {0, 1});
      },
      fftn(z, {0, 1}), 100);
}

}  // namespace
}  // namespace tessera::dist
