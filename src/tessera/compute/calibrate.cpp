// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "tessera/base/text_file.hpp"
#include "tessera/compute/disk_rate.hpp"
#include "tessera/compute/subjects.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/stream.hpp"
#include "tessera/device/topology.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/blas.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A moment after which nothing is begun and nothing repeated. One clock for all that is measured:
// what took longer than it was expected to is taken from what follows.
struct Deadline {
  Clock::time_point start;
  double seconds;
  double left() const { return seconds - since(start); }
  bool over() const { return left() <= 0; }
};

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
Trial product_trial(const Workload& p, Device device) {
  const DType dtype = p.dtype;
  switch (p.op) {
    case Operation::elementwise: {
      const Array a = repeated({p.m}, dtype, device), b = repeated({p.m}, dtype, device);
      return trial(p, [a, b] { return ops::add(a, b); });
    }
    case Operation::reduce: {
      const Array a = repeated({p.m}, dtype, device);
      return trial(p, [a] { return reduce(ReduceOp::sum, a); });
    }
    case Operation::matvec: {
      const Array a = repeated({p.m, p.k}, dtype, device), x = numbers({p.k}, dtype, device);
      return trial(p, [a, x] { return matmul(a, x); });
    }
    case Operation::bit_matmul: {
      const Array x = numbers({p.m, p.k}, DType::f32, device);
      const Bits a = bit_pack(ops::greater(x, Value(0.0)));
      return trial(p, [a] { return bit_counts(a, a); });
    }
    default: {
      const bool stack = p.batch > 1;
      const Array a = repeated(stack ? Shape{p.batch, p.m, p.k} : Shape{p.m, p.k}, dtype, device),
                  b = repeated(stack ? Shape{p.batch, p.k, p.n} : Shape{p.k, p.n}, dtype, device);
      return trial(p, [a, b] { return matmul(a, b); });
    }
  }
}

Trial trial_of(const Workload& p, Device device) {
  if (p.op < Operation::solve) return product_trial(p, device);
  // Of a tame matrix LU would exchange no rows, which takes up to half of its time.
  const bool any = p.op == Operation::eig || p.op == Operation::solve || p.op == Operation::inverse;
  const Array a = any ? numbers({p.m, p.m}, p.dtype, device) : tame(p.m, p.dtype, device);
  const Array b = numbers({p.m, p.op == Operation::solve ? p.n : 1}, p.dtype, device);
  switch (p.op) {
    case Operation::solve: return trial(p, [a, b] { return linalg::solve(a, b); });
    case Operation::inverse: return trial(p, [a] { return linalg::inverse(a); });
    case Operation::cholesky: return trial(p, [a] { return linalg::cholesky(a); });
    case Operation::qr: return trial(p, [a] { return linalg::qr(a); });
    case Operation::eigh: return trial(p, [a] { return linalg::eigh(a); });
    case Operation::eig: return trial(p, [a] { return linalg::eig(a); });
    default: return trial(p, [a] { return linalg::svd(a); });
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
double best_of(const std::function<void()>& run, Device device, int least, Deadline end) {
  const Stream stream = Stream::home(device);
  const auto once = [&] {
    if (device == cpu) fall_asleep();
    const auto start = Clock::now();
    run();
    stream.sync();
    return since(start);
  };
  const double first = once();  // plans, pages and workspaces
  double best = first, spent = first;
  for (int i = 1; i < 7; ++i) {
    // A first run by itself is no figure: the deadline ends repetitions, but for what is short.
    const double most = end.over() ? 0.1 : 0.5;
    const bool more =
        i == 1 ? first < most : spent < 3e-3 || (i < least && spent < 0.1 && !end.over());
    if (!more) break;
    const double now = once();
    spent += now;
    best = std::min(best, now);
  }
  return std::max(best, 1e-9);
}

// What best_of takes for something that takes so long once, at most about.
double all_runs(double once) { return once * (once > 0.5 ? 1 : once > 2e-3 ? 2 : 7); }

// The curve of one operation, so far.
struct Drawing {
  Device device;
  Subject subject;
  std::size_t next = 0;  // of the sizes
  double last = 0;       // seconds of the last point
  double reached = 0;    // work of the last point
  double expected = 0;   // seconds that the next point takes, all runs and its operands included
};

// Small sizes are all latency, so the time of the next size is guessed from the growth so far.
void foresee(Drawing& d, double making, double now) {
  const double step = double(measured_sizes[d.next]) / double(measured_sizes[d.next - 1]),
               area = step * step;
  const double most = d.subject.op >= Operation::matmul ? area * step : area;
  const double growth =
      d.last > 0 ? std::clamp(1.5 * now / d.last, 1.5, most) : std::min(most, 8.0);
  d.expected = making * area + all_runs(now * growth);
  d.last = now;
}

// False where the device cannot do it, or has no room for it.
bool draw_point(CostModel& model, Drawing& d, Deadline end) {
  const auto began = Clock::now();
  try {
    const Trial t = trial_of(sized(d.subject, measured_sizes[d.next]), d.device);
    Stream::home(d.device).sync();
    const double making = since(began);
    // The first run of an operation loads its code: it is not the figure of any curve.
    const double seconds = d.next == 0 ? std::numeric_limits<double>::infinity() : end.seconds;
    const Deadline until{end.start, seconds};
    const int least = measured_sizes[d.next] <= 64 ? 4 : 2;
    double now = best_of(t.run, d.device, least, until);
    // Rates of what computes grow with the size: a point that says otherwise was disturbed, and all
    // that is read beyond it would be.
    const double most = d.reached > 0 ? 1.2 * d.last * work(t.problem) / d.reached : now;
    for (int again = 0; again < 3 && now > most && d.subject.op >= Operation::matmul; ++again) {
      if (until.left() < all_runs(now)) break;
      now = std::min(now, best_of(t.run, d.device, least, until));
    }
    model.add(d.device, t.problem, now);
    d.reached = work(t.problem);
    if (measured_sizes[d.next++] == largest_size(d.subject)) return false;
    foresee(d, d.next == 1 ? 0 : making, now);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Devices take turns, so that the clock treats them alike.
std::vector<Drawing> all_drawings(std::span<const Device> devices) {
  std::vector<Drawing> all;
  for (const Subject& subject : all_subjects())
    for (const Device device : devices) all.push_back({device, subject});
  return all;
}

void draw_curves(CostModel& model, std::span<const Device> devices, Deadline end) {
  std::vector<Drawing> open = all_drawings(devices);
  while (!open.empty()) {
    std::vector<Drawing> next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const double left = end.left(), share = 2 * left / double(open.size() - i + next.size());
      const bool fits =  // one point in any case
          open[i].next == 0 || open[i].expected < std::min(share, left);
      if (fits && draw_point(model, open[i], end)) next.push_back(open[i]);
    }
    open = std::move(next);
  }
}

// Until when arrays travel, curves are drawn and sizes at which devices are near each other are
// measured, of all seconds: the last that was begun may take longer than it was expected to, and
// memory is given back after it.
constexpr double travelled = 0.2, drawn = 0.78, settled = 0.9;

void settle_doubts(CostModel& model, std::span<const Device> devices, Deadline end) {
  constexpr double making = 1e-8;      // seconds for an element of an operand, or less
  const double most = end.left() / 8;  // no doubt is worth the others
  for (const UncertainSize& d : doubts(model, devices))
    for (const Device device : {cpu, d.device}) {
      const double elements = operand_bytes(d.problem) / double(size_of(d.problem.dtype));
      const double expected =
          elements * making + all_runs(model.seconds(device, d.problem).value_or(most));
      if (expected > std::min(most, end.left())) continue;
      try {
        const Trial t = trial_of(d.problem, device);
        model.add(device, t.problem, best_of(t.run, device, 3, end));
      } catch (const Error&) {
        // No room for it: the forecast stays.
      }
    }
}

// As arrays of the host travel: not pinned, touched before.
void draw_routes(CostModel& model, Device device, Deadline end) {
  for (const i64 kib : {i64{1}, i64{16}, i64{256}, i64{4096}, i64{32768}, i64{131072}}) try {
      if (kib > 1 && end.over()) return;
      const Array here = repeated({kib * 256}, DType::f32, cpu), there = here.to(device);
      const double bytes = double(kib) * 1024;
      const int least = kib > 4096 ? 2 : 4;
      model.add_move(cpu, device, bytes,
                     best_of([&] { (void)here.to(device); }, device, least, end));
      model.add_move(device, cpu, bytes, best_of([&] { (void)there.to(cpu); }, device, least, end));
    } catch (const Error&) {
      return;  // no room, or no such device any more: the link's figures stand in
    }
}

}  // namespace

CostModel calibrate(std::span<const Device> devices, double seconds, CostModel model) {
  const auto start = Clock::now();
  std::vector<Device> missing;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(missing),
               [&](Device d) { return !model.knows(d); });
  for (const Device device : missing)
    if (device != cpu) draw_routes(model, device, {start, travelled * seconds});
  draw_curves(model, missing, {start, drawn * seconds});
  settle_doubts(model, devices, {start, settled * seconds});
  for (const Device device : missing) {
    const Workload large{Operation::elementwise, DType::f32,
                         measured_sizes.back() * measured_sizes.back()};
    if (const auto s = model.seconds(device, large))
      model.set_memory_rate(device, touched_bytes(large) / *s);
    trim_pool(device);
  }
  return model;
}

CostModel cached_costs(const std::string& path, std::span<const Device> devices, double seconds) {
  if (path.empty()) return calibrate(devices, seconds);
  const std::string key = cost_cache_key();
  const std::string text = read_text(path).value_or("");
  CostModel known;
  std::string of_devices, of_disks;  // lines
  if (text.starts_with(key) && text.ends_with('\n'))
    for (const std::string_view line : lines_of(std::string_view(text).substr(key.size())))
      (is_line_of_disk(line) ? of_disks : of_devices) += cat(line, '\n');
  if (!of_devices.empty()) try {
      known = CostModel::parse(of_devices);
    } catch (const Error&) {
      // Damaged: measured again and replaced below.
    }
  if (std::all_of(devices.begin(), devices.end(), [&](Device d) { return known.knows(d); }))
    return known;
  const CostModel all = calibrate(devices, seconds, std::move(known));
  replace_text(path,
               key + all.text() + of_disks);  // where nothing can be kept they are measured again
  return all;
}

std::string cost_cache_key() {
  return cat("# ", machine_key(), " / OpenBLAS for ", openblas_get_corename(), '\n');
}

std::string cost_cache_path() { return cache_path("costs.txt"); }

}  // namespace tessera
