// SPDX-License-Identifier: Apache-2.0
// Rung 12: several threads, each with its stream, run the same prepared tasks at once.
#include <atomic>
#include <thread>

#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder12Threads, TasksAreShared) {
  const Device d = test_device();
  const KernelTable& table = kernels_of(d);
  const Shape shape{3, 40, 24};
  const Twin x = twin(shape, DType::c64, LayoutKind::dense, 1),
             m = twin({3, 24, 7}, DType::c64, LayoutKind::dense, 2),
             y = twin(shape, DType::c64, LayoutKind::dense, 3),
             z = twin({3, 40, 7}, DType::c64, LayoutKind::dense, 4);
  const FftSpec fft{FftKind::complex, x.operand(), y.operand(), {1, 2}, -1, 1, false};
  const MatmulSpec product{y.operand(), m.operand(), z.operand()};
  const Prepared first = table.fft.prepare(fft, d), second = table.matmul.prepare(product, d);
  run_both(&KernelTable::fft, "fft", fft, {x, y});
  run_both(&KernelTable::matmul, "matmul", product, {y, m, z});
  constexpr int threads = 4;
  std::vector<Array> results(threads);
  std::vector<std::thread> workers;
  std::atomic<int> failures{0};
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      try {
        const Stream stream(d);
        const Array mid(Storage::allocate(stream, x.host.bytes()), Layout::contiguous(shape),
                        DType::c64);
        const Storage workspace =
            Storage::allocate(stream, std::max<i64>({64, first.workspace, second.workspace}));
        Array out(Storage::allocate(stream, z.host.storage().bytes()), z.host.layout(), DType::c64);
        for (int round = 0; round < 50; ++round) {
          Launch a, b;
          a.operand = {x.device.data(), mid.data()};
          b.operand = {mid.data(), m.device.data(), out.data()};
          a.workspace = b.workspace = workspace.data();
          stream.launch(first.task, a);
          stream.launch(second.task, b);
        }
        stream.sync();
        results[static_cast<std::size_t>(t)] = out;
      } catch (...) {
        ++failures;
      }
    });
  for (std::thread& w : workers) w.join();
  ASSERT_EQ(failures, 0);
  const auto* expected = static_cast<const c64*>(z.host.data());
  for (const Array& r : results) {
    const Array got = device_to_host(r);
    const auto* found = static_cast<const c64*>(got.data());
    for (i64 i = 0; i < z.host.size(); ++i) {
      const double error = std::hypot(found[i].re - expected[i].re, found[i].im - expected[i].im);
      ASSERT_TRUE(error < 0.05) << "element " << i;  // sums of 23040 terms up to 100
    }
  }
}

}  // namespace
}  // namespace tessera::ladder
