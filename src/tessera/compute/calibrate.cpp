// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/calibrate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tessera/device/stream.hpp"
#include "tessera/device/topology.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::array measured_dtypes{DType::f32, DType::f64, DType::c64, DType::c128};

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

// Symmetric, positive definite and far from singular: every factorization has something to do.
Array tame(i64 n, DType dtype, Device device) {
  const Array a = numbers({n, n}, dtype, device);
  const Array sum = ops::add(a, ops::conj(a.transpose()));
  const Array shift = ops::multiply(eye(n, n, 0, dtype, device), Value(4.0 * double(n)));
  return ops::add(sum, shift);
}

Trial trial_of(Operation op, DType dtype, i64 n, Device device) {
  const auto make = [&](const Workload& problem, auto run) {
    return Trial{problem, [run] { (void)run(); }};
  };
  switch (op) {
    case Operation::elementwise: {
      const Array a = numbers({n * n}, dtype, device), b = numbers({n * n}, dtype, device);
      return make({op, dtype, n * n}, [a, b] { return ops::add(a, b); });
    }
    case Operation::reduce: {
      const Array a = numbers({n * n}, dtype, device);
      return make({op, dtype, n * n}, [a] { return reduce(ReduceOp::sum, a); });
    }
    case Operation::matvec: {
      const Array a = numbers({n, n}, dtype, device), x = numbers({n}, dtype, device);
      return make({op, dtype, n, 1, n}, [a, x] { return matmul(a, x); });
    }
    case Operation::matmul: {
      const Array a = numbers({n, n}, dtype, device), b = numbers({n, n}, dtype, device);
      return make({op, dtype, n, n, n}, [a, b] { return matmul(a, b); });
    }
    default: break;
  }
  const Array a = tame(n, dtype, device), b = numbers({n, 1}, dtype, device);
  const Workload square{op, dtype, n, op == Operation::solve ? 1 : n};
  switch (op) {
    case Operation::solve: return make(square, [a, b] { return linalg::solve(a, b); });
    case Operation::inverse: return make(square, [a] { return linalg::inverse(a); });
    case Operation::cholesky: return make(square, [a] { return linalg::cholesky(a); });
    case Operation::qr: return make(square, [a] { return linalg::qr(a); });
    case Operation::eigh: return make(square, [a] { return linalg::eigh(a); });
    default: return make(square, [a] { return linalg::svd(a); });
  }
}

constexpr std::array measured_operations{
    Operation::elementwise, Operation::reduce,  Operation::matvec,   Operation::matmul,
    Operation::solve,       Operation::inverse, Operation::cholesky, Operation::qr,
    Operation::eigh,        Operation::svd};

double timed(const Trial& trial, Device device) {
  const Stream stream = Stream::home(device);
  const auto once = [&] {
    const auto start = Clock::now();
    trial.run();
    stream.sync();
    return since(start);
  };
  once();  // plans, pages and workspaces
  double best = once();
  for (int i = 0; i < 4 && best < 2e-3; ++i) best = std::min(best, once());
  return std::max(best, 1e-9);
}

// Sizes grow fourfold in each direction; the next one takes up to 64 times as long.
void draw_curve(CostModel& model, Operation op, DType dtype, Device device, double seconds) {
  const auto start = Clock::now();
  for (i64 n = 8; n <= 8192; n *= 4) {
    const auto began = Clock::now();
    const Trial trial = trial_of(op, dtype, n, device);
    model.add(device, trial.problem, timed(trial, device));
    if (since(start) + 30 * since(began) > seconds) break;
  }
}

}  // namespace

CostModel calibrate(std::span<const Device> devices, double seconds) {
  CostModel model;
  const double share =
      seconds / double(devices.size() * measured_operations.size() * measured_dtypes.size());
  for (const Device device : devices) {
    for (const Operation op : measured_operations)
      for (const DType dtype : measured_dtypes) try {
          draw_curve(model, op, dtype, device, share);
        } catch (const NotAvailable&) {  // no such kernel there: no candidate for it
        }
  }
  return model;
}

CostModel cached_costs(const std::string& path, std::span<const Device> devices) {
  if (path.empty()) return calibrate(devices);
  const std::string key = cat("# ", machine_key(), '\n');
  std::ostringstream kept;
  if (std::ifstream file(path); file) kept << file.rdbuf();
  const std::string text = kept.str();
  if (text.starts_with(key)) try {
      CostModel known = CostModel::parse(std::string_view(text).substr(key.size()));
      if (std::all_of(devices.begin(), devices.end(), [&](Device d) { return known.knows(d); }))
        return known;
    } catch (const Error&) {
      // Damaged: measured again and replaced below.
    }
  CostModel fresh = calibrate(devices);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string written = path + cat(".", since(Clock::time_point{}));
  if (std::ofstream(written) << key << fresh.text()) {
    std::filesystem::rename(written, path, ignored);
  }
  return fresh;
}

std::string cost_cache_path() { return cache_path("costs.txt"); }

}  // namespace tessera
