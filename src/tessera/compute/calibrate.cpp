// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/calibrate.hpp"
#include "tessera/base/text_file.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "tessera/device/memory.hpp"
#include "tessera/device/stream.hpp"
#include "tessera/device/topology.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One size of one operation, its operands made before it is timed.
struct Trial {
  Workload problem;
  std::function<void()> run;
};

Array numbers(const Shape& shape, DType dtype, Device device) {
  return Random(7).normal(shape, dtype, device);
}

// The same numbers over and over, for operations whose time does not depend on them: large arrays
// take less time to make than to compute with.
Array repeated(const Shape& shape, DType dtype, Device device) {
  constexpr i64 period = i64{1} << 14;
  i64 size = 1;
  for (const i64 n : shape) size *= n;
  if (size % period != 0) return numbers(shape, dtype, device);
  return numbers({period}, dtype, device)
      .broadcast_to({size / period, period})
      .contiguous()
      .reshape(shape);
}

// Symmetric, positive definite and far from singular: every factorization has something to do.
Array tame(i64 n, DType dtype, Device device) {
  const Array a = numbers({n, n}, dtype, device);
  const Array sum = ops::add(a, ops::conj(a.transpose()));
  const Array shift = ops::multiply(eye(n, n, 0, dtype, device), Value(4.0 * double(n)));
  return ops::add(sum, shift);
}

template <class Run>
Trial trial(const Workload& problem, Run run) {
  return {problem, [run] { (void)run(); }};
}

// Products and what reads its operands once.
Trial product_trial(Operation op, DType dtype, i64 n, Device device) {
  switch (op) {
    case Operation::elementwise: {
      const Array a = repeated({n * n}, dtype, device), b = repeated({n * n}, dtype, device);
      return trial({op, dtype, n * n}, [a, b] { return ops::add(a, b); });
    }
    case Operation::reduce: {
      const Array a = repeated({n * n}, dtype, device);
      return trial({op, dtype, n * n}, [a] { return reduce(ReduceOp::sum, a); });
    }
    case Operation::matvec: {
      const Array a = repeated({n, n}, dtype, device), x = numbers({n}, dtype, device);
      return trial({op, dtype, n, 1, n}, [a, x] { return matmul(a, x); });
    }
    case Operation::bit_matmul: {
      const Array x = numbers({n, n}, DType::f32, device);
      const Bits a = bit_pack(ops::greater(x, Value(0.0)));
      return trial({op, dtype, n, n, n}, [a] { return bit_counts(a, a); });
    }
    default: {
      const Array a = repeated({n, n}, dtype, device), b = repeated({n, n}, dtype, device);
      return trial({op, dtype, n, n, n}, [a, b] { return matmul(a, b); });
    }
  }
}

Trial trial_of(Operation op, DType dtype, i64 n, Device device) {
  if (op < Operation::solve) return product_trial(op, dtype, n, device);
  const Array a = op == Operation::eig ? numbers({n, n}, dtype, device) : tame(n, dtype, device);
  const Array b = numbers({n, 1}, dtype, device);
  const Workload square{op, dtype, n, op == Operation::solve ? 1 : n};
  switch (op) {
    case Operation::solve: return trial(square, [a, b] { return linalg::solve(a, b); });
    case Operation::inverse: return trial(square, [a] { return linalg::inverse(a); });
    case Operation::cholesky: return trial(square, [a] { return linalg::cholesky(a); });
    case Operation::qr: return trial(square, [a] { return linalg::qr(a); });
    case Operation::eigh: return trial(square, [a] { return linalg::eigh(a); });
    case Operation::eig: return trial(square, [a] { return linalg::eig(a); });
    default: return trial(square, [a] { return linalg::svd(a); });
  }
}

// Until the threads of the host sleep: whoever has a choice of devices comes from waiting for one.
void fall_asleep() {
  const auto until = Clock::now() + std::chrono::microseconds(30);
  while (Clock::now() < until) {
  }
}

// The best of a few, as many as fit into a few milliseconds; what takes very long is run once.
// At least as many as asked for, where that takes no half a second: a busy machine disturbs some.
double best_of(const std::function<void()>& run, Device device, int least) {
  const Stream stream = Stream::home(device);
  const auto once = [&] {
    if (device == cpu) fall_asleep();
    const auto start = Clock::now();
    run();
    stream.sync();
    return since(start);
  };
  const double first = once();  // plans, pages and workspaces
  if (first > 0.5) return first;
  double best = std::min(first, once()), spent = first + best;
  for (int i = 2; i < 7 && (spent < 5e-3 || (i < least && spent < 0.1)); ++i) {
    const double now = once();
    spent += now;
    best = std::min(best, now);
  }
  return std::max(best, 1e-9);
}

constexpr std::array<i64, 9> sizes{8, 32, 64, 128, 256, 512, 1024, 2048, 4096};

// The curve of one operation, so far.
struct Drawing {
  Device device;
  Operation op;
  DType dtype;
  std::size_t next = 0;  // of the sizes
  double last = 0;       // seconds of the last point
  double expected = 0;   // seconds that the next point takes, all runs and its operands included
};

// Small sizes are all latency, so the time of the next size is guessed from the growth so far.
void foresee(Drawing& d, double making, double now) {
  const double step = double(sizes[d.next]) / double(sizes[d.next - 1]), area = step * step;
  const double most = d.op >= Operation::matmul ? area * step : area;
  const double growth =
      d.last > 0 ? std::clamp(1.5 * now / d.last, 1.5, most) : std::min(most, 8.0);
  const double then = now * growth;
  d.expected = making * area + then * (then > 0.5 ? 1 : then > 2e-3 ? 2 : 7);
  d.last = now;
}

// False where the device cannot do it, or has no room for it.
bool draw_point(CostModel& model, Drawing& d) {
  const auto began = Clock::now();
  try {
    const Trial t = trial_of(d.op, d.dtype, sizes[d.next], d.device);
    Stream::home(d.device).sync();
    const double making = since(began), now = best_of(t.run, d.device, sizes[d.next] <= 64 ? 4 : 2);
    model.add(d.device, t.problem, now);
    if (++d.next == sizes.size()) return false;
    foresee(d, d.next == 1 ? 0 : making, now);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// The others stand in for one of these (stand_in): what takes long is measured in fewer dtypes.
std::span<const DType> dtypes_of(Operation op) {
  static constexpr DType all[] = {DType::f32, DType::f64, DType::c64, DType::c128},
                         some[] = {DType::f32, DType::f64, DType::c128}, bits[] = {DType::b1};
  if (op == Operation::bit_matmul) return bits;
  if (op == Operation::eig) return std::span(some).subspan(1);
  if (op >= Operation::solve) return some;
  return all;
}

// Devices take turns, so that the clock treats them alike.
std::vector<Drawing> all_drawings(std::span<const Device> devices) {
  std::vector<Drawing> all;
  for (int i = 0; i < operation_count; ++i)
    for (const DType dtype : dtypes_of(static_cast<Operation>(i)))
      for (const Device device : devices) all.push_back({device, static_cast<Operation>(i), dtype});
  return all;
}

void draw_curves(CostModel& model, std::span<const Device> devices, double seconds) {
  const auto start = Clock::now();
  std::vector<Drawing> open = all_drawings(devices);
  while (!open.empty()) {
    std::vector<Drawing> next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const double left = seconds - since(start);
      const double share = 2 * left / double(open.size() - i + next.size());
      const bool fits = open[i].next == 0 || open[i].expected < share;  // one point in any case
      if (fits && draw_point(model, open[i])) next.push_back(open[i]);
    }
    open = std::move(next);
  }
}

// As arrays of the host travel: not pinned, touched before.
void draw_routes(CostModel& model, Device device) {
  for (const i64 kib : {i64{1}, i64{16}, i64{256}, i64{4096}, i64{32768}, i64{131072}}) try {
      const Array here = repeated({kib * 256}, DType::f32, cpu), there = here.to(device);
      const double bytes = double(kib) * 1024;
      const int least = kib > 4096 ? 2 : 4;
      model.add_move(cpu, device, bytes, best_of([&] { (void)here.to(device); }, device, least));
      model.add_move(device, cpu, bytes, best_of([&] { (void)there.to(cpu); }, device, least));
    } catch (const Error&) {
      return;  // no room, or no such device any more: the link's figures stand in
    }
}

}  // namespace

CostModel calibrate(std::span<const Device> devices, double seconds) {
  CostModel model;
  const auto start = Clock::now();
  for (const Device device : devices)
    if (device != cpu) draw_routes(model, device);
  draw_curves(model, devices, seconds - since(start));
  for (const Device device : devices) {
    const Workload large{Operation::elementwise, DType::f32, sizes.back() * sizes.back()};
    if (const auto s = model.seconds(device, large))
      model.set_memory_rate(device, touched_bytes(large) / *s);
    trim_pool(device);
  }
  return model;
}

CostModel cached_costs(const std::string& path, std::span<const Device> devices, double seconds) {
  if (path.empty()) return calibrate(devices, seconds);
  const std::string key = cat("# ", machine_key(), '\n');
  const std::string text = read_text(path).value_or("");
  CostModel known;
  if (text.starts_with(key)) try {
      known = CostModel::parse(std::string_view(text).substr(key.size()));
    } catch (const Error&) {
      // Damaged: measured again and replaced below.
    }
  std::vector<Device> missing;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(missing),
               [&](Device d) { return !known.knows(d); });
  if (missing.empty()) return known;
  known.add(calibrate(missing, seconds));
  replace_text(path, key + known.text());  // where nothing can be kept they are measured again
  return known;
}

std::string cost_cache_path() { return cache_path("costs.txt"); }

}  // namespace tessera
