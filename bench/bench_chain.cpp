// SPDX-License-Identifier: Apache-2.0
// What a plan costs beside its kernels: chains of small operators, on the cpu and on a GPU where
// there is one. As written, node by node; and as the rewriter leaves them, one multiplication.
#include "ratio.hpp"
#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

NamedLinop diagonals(int count, i64 n, Device device) {
  std::vector<NamedLinop> parts;
  for (int i = 0; i < count; ++i)
    parts.push_back(Diagonal(Random(static_cast<std::uint64_t>(i)).uniform({n}, DType::f32, device),
                             dims("N")));
  return chain(parts);
}

}  // namespace

void bench_chain() {
  constexpr int nodes = 20;
  constexpr i64 n = 64;
  const NamedLinop merged = diagonals(nodes, n, cpu);
  const Using as_written(config().rewrite_diagonals, false);
  const NamedLinop A = diagonals(nodes, n, cpu);
  const Array x = ones({n}, DType::f32), y = zeros({n}, DType::f32);
  const Plan plan = A.plan({.shape = {n}, .dtype = DType::f32, .device = cpu});
  Run run = plan.instance();
  within(
      "20 Diagonal of 64, planned, cpu", nodes * 0.3e-6, [&] { run(x, y); },
      cat(plan.steps().size(), " steps, workspace ", plan.workspace(cpu), " B"));
  within("20 Diagonal of 64, A(x, y), cpu", nodes * 0.3e-6, [&] { A(x, y); });
  within("20 Diagonal of 64, A(x), cpu", 2e-6, [&] { (void)A(x); });
  within("20 Diagonal of 64, A.H(x), cpu", 2e-6, [&] { (void)A.H()(x); });
  within("20 Diagonal of 64, A.N(x), cpu", 4e-6, [&] { (void)A.N()(x); });
  within("20 Diagonal of 64, merged, cpu", nodes * 0.3e-6, [&] { merged(x, y); });
  if (!why_unavailable(Kind::cuda).empty()) return;
  const Device gpu = Device::parse("cuda:0");
  const NamedLinop B = A.to(gpu);
  const Array gx = x.to(gpu), gy = y.to(gpu);
  const Plan gpu_plan = B.plan({.shape = {n}, .dtype = DType::f32, .device = gpu});
  Run plain = gpu_plan.instance(), captured = gpu_plan.instance();
  captured.capture();
  within(
      "20 Diagonal of 64, planned, cuda", 138e-6,
      [&] {
        plain(gx, gy);
        plain.sync();
      },
      "limit: plain torch there");
  within("20 Diagonal of 64, captured, cuda", 40e-6, [&] {
    captured(gx, gy);
    captured.sync();
  });
  within("20 Diagonal of 64, A(x), cuda", 40e-6, [&] {
    (void)B(gx);
    Stream::home(gpu).sync();
  });
}

}  // namespace tessera::bench
