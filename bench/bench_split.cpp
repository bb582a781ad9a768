// SPDX-License-Identifier: Apache-2.0
// What splitting costs and what it gains: what a plan does for each tile, two devices beside one,
// and arrays on the host that go through a device tile by tile beside the link. Tiles of a matrix
// beside the matrix are in bench_tiles.cpp.
#include "ratio.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

// Plans of the whole and of its tiles, over the same arrays.
struct Pair {
  Run whole, tiles;
  Array x, y, z;
};

Pair plans(const NamedLinop& a, const NamedLinop& b, const Shape& input, DType t, Device device) {
  const PlanOptions o{.shape = input, .dtype = t, .device = device};
  const Array x = Random(1).normal(input, t, device);
  return {a.plan(o).instance(), b.plan(o).instance(), x, a(x), a(x)};
}

// Tiles so small that only what a plan does for each of them counts, and not joined again.
void overhead_per_tile() {
  const Using apart(config().rewrite_tiles, false);
  constexpr i64 tiles = 64, n = 64 * tiles;
  const NamedLinop a = Diagonal(Random(2).normal({n}, DType::f32), dims("N"));
  const NamedLinop b = create_batched_linop(a, {.batch_sizes = {{"N", n / tiles}}});
  const NamedLinop dense =
      Dense(Random(3).normal({tiles, 64}, DType::f32), dims("MN"), dims("N"), dims("M"));
  const NamedLinop rows = create_batched_linop(dense, {.batch_sizes = {{"M", 1}}});
  Pair d = plans(a, b, {n}, DType::f32, cpu), m = plans(dense, rows, {64}, DType::f32, cpu);
  within(
      "64 tiles of a Diagonal of 4096, cpu", tiles * 2e-6, [&] { d.tiles(d.x, d.y); },
      "limit: 2 us per tile");
  within(
      "64 rows of a Dense of 64 x 64, cpu", tiles * 2e-6, [&] { m.tiles(m.x, m.y); },
      "limit: 2 us per tile");
}

// A sim device computes on one thread: two of them take two cores, one takes one. What is not
// halved are the ways of the input and of a half of the output and the waking of threads, some
// tenths of a millisecond: the product is large enough that they do not decide on a fast core.
void two_devices_beside_one() {
  if (num_threads() < 2) return;
  const NamedLinop a =
      FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}) *
      NamedLinop(Diagonal(Random(5).normal({16, 256, 256}, DType::c64), dims("CNxNy")));
  const NamedLinop product =
      Dense(Random(6).normal({1536, 1536}, DType::f32), dims("MN"), dims("NB"), dims("MB"));
  auto over = [](const NamedLinop& op, NamedDimension d, i64 tile, DeviceMatrix devices) {
    return create_batched_linop(op,
                                {.batch_sizes = {{d, tile}}, .device_matrix = std::move(devices)});
  };
  Pair p = plans(over(a, "C", 8, {"sim:0"}), over(a, "C", 8, {"sim:0", "sim:1"}), {16, 256, 256},
                 DType::c64, cpu);
  Pair q = plans(over(product, "M", 768, {"sim:0"}), over(product, "M", 768, {"sim:0", "sim:1"}),
                 {1536, 1536}, DType::f32, cpu);
  compare(
      "FFT * Diagonal of 16 x 256^2 on 2 sim devices", "one sim device", 0,
      [&] { p.tiles(p.x, p.y); }, [&] { p.whole(p.x, p.z); });
  compare(
      "matrix product 1536^3 on 2 sim devices", "one sim device", 1.7, [&] { q.tiles(q.x, q.y); },
      [&] { q.whole(q.x, q.z); });
}

// Input and output stay on the host: what goes in and what comes out over the link is the limit.
void through_a_device(Device gpu) {
  const Shape shape{32, 512, 512};
  const NamedLinop a =
      FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}) *
      NamedLinop(Diagonal(Random(7).normal({512, 512}, DType::c64), dims("CNxNy"), dims("C")));
  const BatchSpec spec{.batch_sizes = {{"C", 4}},
                       .device_matrix = {RankDevice(gpu)},
                       .base_device = RankDevice(cpu)};
  const NamedLinop b = create_batched_linop(a, spec, shape);
  const i64 bytes = count_of(shape) * size_of(DType::c64);
  const Layout layout = Layout::contiguous(shape);
  const Array x(Storage::pinned(Kind::cuda, bytes), layout, DType::c64),
      y(Storage::pinned(Kind::cuda, bytes), layout, DType::c64);
  x.copy_from(Random(8).normal(shape, DType::c64));
  Run run = b.plan({.shape = shape, .dtype = DType::c64}).instance();
  const Storage there = Storage::allocate(gpu, bytes), back = Storage::allocate(gpu, bytes);
  const Stream in(gpu), out(gpu);
  compare(
      "FFT * Diagonal of 32 x 512^2 from the host, 8 tiles", "the link, both ways at once", 0.85,
      [&] { run(x, y); },
      [&] {
        in.copy(there.data(), gpu, x.data(), cpu, bytes);
        out.copy(y.data(), cpu, back.data(), gpu, bytes);
        in.sync();
        out.sync();
      });
}

}  // namespace

void bench_split() {
  overhead_per_tile();
  two_devices_beside_one();
  if (why_unavailable(Kind::cuda).empty()) through_a_device(Device::parse("cuda:0"));
}

}  // namespace tessera::bench
