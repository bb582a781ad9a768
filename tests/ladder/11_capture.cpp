// SPDX-License-Identifier: Apache-2.0
// Rung 11: what is enqueued can be kept as a graph and replayed.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

Prepared multiply_by(const Twin& w, const Twin& x, const Twin& y) {
  ElementwiseSpec spec;
  spec.op = ElementOp::multiply;
  spec.compute = x.host.dtype();
  spec.inputs = {{w.operand(), std::nullopt}, {x.operand(), std::nullopt}};
  spec.out = y.operand();
  return kernels_of(test_device()).elementwise.prepare(spec, test_device());
}

// Runs `work` inside a capture on a stream of its own and replays it `times` times.
template <class Work>
void replay(int times, Work&& work) {
  const Device d = test_device();
  ComputeDevice& backend = compute_device(d);
  const Stream stream(d);
  work(stream);  // once as it is: loads code, makes handles
  stream.sync();
  backend.begin_capture(d.index, stream.native());
  work(stream);
  void* graph = backend.end_capture(d.index, stream.native());
  for (int i = 0; i < times; ++i) backend.launch_graph(d.index, stream.native(), graph);
  stream.sync();
  backend.drop_graph(d.index, graph);
}

TEST(Ladder11Capture, AChainOfTwentyMultiplications) {
  if (!compute_device(test_device()).capturable()) GTEST_SKIP() << "the device does not capture";
  const Twin w = twin({64}, DType::c64, LayoutKind::dense, 1),
             x = twin({64}, DType::c64, LayoutKind::dense, 2),
             y = twin({64}, DType::c64, LayoutKind::dense, 3);
  const Prepared there = multiply_by(w, x, y), back = multiply_by(w, y, x);
  replay(0, [&](const Stream& stream) {
    Launch a, b;
    a.operand = {w.device.data(), x.device.data(), y.device.data()};
    b.operand = {w.device.data(), y.device.data(), x.device.data()};
    for (int i = 0; i < 10; ++i) {
      stream.launch(there.task, a);
      stream.launch(back.task, b);
    }
  });
  // Only the run before the capture has touched the data: twenty factors.
  const auto* weight = static_cast<const c64*>(w.host.data());
  auto* value = static_cast<c64*>(x.host.data());
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 20; ++k) value[i] = weight[i] * value[i];
  expect_same(x, 1e-4, "chain of twenty");
}

TEST(Ladder11Capture, ReplaysReadTheNewData) {
  if (!compute_device(test_device()).capturable()) GTEST_SKIP() << "the device does not capture";
  const Twin w = twin({1000}, DType::f32, LayoutKind::dense, 1),
             x = twin({1000}, DType::f32, LayoutKind::dense, 2);
  const Prepared p = multiply_by(w, x, x);
  replay(3, [&](const Stream& stream) {
    Launch l;
    l.operand = {w.device.data(), x.device.data(), x.device.data()};
    stream.launch(p.task, l);
  });
  auto* value = static_cast<float*>(x.host.data());
  const auto* weight = static_cast<const float*>(w.host.data());
  for (int i = 0; i < 1000; ++i)
    for (int k = 0; k < 4; ++k) value[i] = weight[i] * value[i];  // one run and three replays
  expect_same(x, 1e-5, "replays");
}

TEST(Ladder11Capture, LibrariesToo) {
  if (!compute_device(test_device()).capturable()) GTEST_SKIP() << "the device does not capture";
  const Device d = test_device();
  const Twin x = twin({4, 32, 24}, DType::c64, LayoutKind::dense, 1),
             y = twin({4, 32, 24}, DType::c64, LayoutKind::dense, 2),
             m = twin({4, 24, 5}, DType::c64, LayoutKind::dense, 3),
             z = twin({4, 32, 5}, DType::c64, LayoutKind::dense, 4),
             s = twin({1, 1, 1}, DType::c64, LayoutKind::dense, 5);
  const FftSpec fft{FftKind::complex, x.operand(), y.operand(), {1, 2}, -1, 0.1, false};
  const MatmulSpec product{y.operand(), m.operand(), z.operand()};
  ReduceSpec sum;
  sum.in = z.operand();
  sum.out = s.operand();
  const auto prepare = [&](const KernelTable& t, Device on) {
    return std::vector<Prepared>{t.fft.prepare(fft, on), t.matmul.prepare(product, on),
                                 t.reduce.prepare(sum, on)};
  };
  const std::vector<Prepared> steps = prepare(kernels_of(d), d),
                              host_steps = prepare(cpu_kernels(), cpu);
  const std::vector<std::vector<const Twin*>> operands = {{&x, &y}, {&y, &m, &z}, {&z, &s}};
  i64 bytes = 64;
  for (const Prepared& p : steps) bytes = std::max(bytes, p.workspace);
  const Storage workspace = Storage::allocate(d, bytes);
  Stream::home(d).sync();
  replay(2, [&](const Stream& stream) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Launch l;
      for (std::size_t k = 0; k < operands[i].size(); ++k)
        l.operand[k] = operands[i][k]->device.data();
      l.workspace = workspace.data();
      stream.launch(steps[i].task, l);
    }
  });
  for (std::size_t i = 0; i < host_steps.size(); ++i) {
    std::vector<const Array*> arrays;
    for (const Twin* t : operands[i]) arrays.push_back(&t->host);
    enqueue(host_steps[i], cpu, arrays);
  }
  expect_same(y, 1e-3, "captured fft");
  expect_same(z, 1e-3, "captured product");
  expect_same(s, 1e-2, "captured sum");
}

}  // namespace
}  // namespace tessera::ladder
