// SPDX-License-Identifier: Apache-2.0
// Kernels of a GPU against its own copy of as many bytes: what is bound by memory should run at its
// speed.
#include "ratio.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {

void bench_device() {
  if (!why_unavailable(Kind::cuda).empty()) return;
  const Device gpu = Device::parse("cuda:0");
  const Stream home = Stream::home(gpu);
  const i64 n = i64{1} << 28, side = i64{1} << 14;  // 1 GiB of float32
  const Storage from = Storage::allocate(gpu, 6 * n), to = Storage::allocate(gpu, 6 * n);
  const auto against_copy = [&](std::string name, double goal, i64 bytes_moved, auto&& ours) {
    compare(
        std::move(name), "device copy of as many bytes", goal,
        [&] {
          ours();
          home.sync();
        },
        [&] {
          home.copy(to.data(), gpu, from.data(), gpu, bytes_moved / 2);
          home.sync();
        });
  };
  const Array a = full({n}, Value(1.5), DType::f32, gpu),
              b = full({n}, Value(2.5), DType::f32, gpu), c = zeros({n}, DType::f32, gpu),
              flat = a.reshape({side, side}), square = c.reshape({side, side});
  const std::array<ArrayOrValue, 2> pair{a, b};
  against_copy("copy 1 GiB, cuda", 0.9, 8 * n, [&] { c.copy_from(a); });
  against_copy("add 1 GiB, cuda", 0.9, 12 * n, [&] { elementwise(ElementOp::add, pair, c); });
  against_copy("transposed copy 1 GiB, cuda", 0, 8 * n,
               [&] { square.copy_from(flat.transpose()); });
  against_copy("convert to float64 and back, cuda", 0, 24 * (n / 2),
               [&] { c.slice(0, 0, n / 2).copy_from(a.slice(0, 0, n / 2).astype(DType::f64)); });
  against_copy("sum of 1 GiB, cuda", 0, 4 * n, [&] { reduce(ReduceOp::sum, a); });
  against_copy("sum of the rows of 1 GiB, cuda", 0, 4 * n,
               [&] { reduce(ReduceOp::sum, flat, Axes{1}); });
  against_copy("sum of the columns of 1 GiB, cuda", 0, 4 * n,
               [&] { reduce(ReduceOp::sum, flat, Axes{0}); });
  const Array x = full({32, 1024, 1024}, Value(0.5), DType::c64, gpu);
  against_copy("fftn of 32 x 1024 x 1024 complex64, cuda", 0, 4 * x.bytes(), [&] {
    fftn(x, {1, 2});
  });
}

}  // namespace tessera::bench
