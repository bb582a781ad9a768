// SPDX-License-Identifier: Apache-2.0
#pragma once
// The context that picks devices: which accelerators may be used, what operations cost where, which
// devices are to be left alone for a while, and who is told when one fails. Making one measures and
// allocates nothing; costs are read, or measured once, at the first question that they decide. Does
// not own arrays and moves none: `run` says where, the caller moves and computes. Data on a device
// that was not enabled (a sim device too) stay there, and so does what is done with them.
//   ComputeContext& c = context();   c.enable_gpu();   c.explain("matmul", {{a, b}})

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/compute/auto_solver.hpp"
#include "tessera/compute/breaker.hpp"
#include "tessera/compute/problem_of.hpp"
#include "tessera/device/streamer.hpp"

namespace tessera {

struct AcceleratorConfig {
  i64 device_id = 0;
  i64 memory_limit_bytes = 0;  // 0: what the device has free
  // Of one of the pinned buffers through which other host memory travels (device/streamer.hpp);
  // 0: the driver copies by itself.
  i64 stream_buffer_size = default_stream_buffer;
  bool enable_async = true;  // false: an operation is over, or has failed, when it returns
  PrecisionMode precision = PrecisionMode::automatic;
  i64 pinned_budget_bytes = 0;  // of pinned host memory; 0: as it was
};

class TESSERA_API ComputeContext {
 public:
  using Warn = std::function<void(const std::string&)>;
  // Without accelerators until enable_gpu.
  ComputeContext() = default;
  // On a given machine: for tests, and for whoever knows better.
  ComputeContext(std::vector<Device> accelerators, CostModel costs, Topology links,
                 const AcceleratorConfig& config = {});
  ComputeContext(const ComputeContext&) = delete;
  ComputeContext& operator=(const ComputeContext&) = delete;

  // NotAvailable or DeviceError where there is no such device. Enabling again changes the
  // configuration and forgets earlier failures.
  void enable_gpu(const AcceleratorConfig& config = {});
  void disable_gpu();
  bool is_gpu_active() const { return active_.load(std::memory_order_relaxed); }
  // Whether operations have to ask: else each runs where its operands are.
  bool has_choice() const { return has_choice_.load(std::memory_order_relaxed); }
  AcceleratorConfig config() const;
  std::string device() const;           // "AutoSolver (cpu)", "AutoSolver (cpu + cuda:0)"
  std::vector<Device> devices() const;  // among which it picks, the host first

  // Which device, and why. `force` and the threshold are settings of the context.
  Choice choose(const Workload& problem, std::span<const Residency> operands,
                i64 result_bytes) const;
  // The same for a function by its name (problem_of_function); `explain` is its reasons, a line per device.
  Choice choose(std::string_view function, std::span<const OperandInfo> operands) const;
  std::string explain(std::string_view function, std::span<const OperandInfo> operands) const {
    return choose(function, operands).str();
  }
  void force(std::optional<Device> device);
  std::optional<Device> forced() const;
  void set_gpu_threshold_elements(i64 elements);

  // Calls `body` with the chosen device. When an accelerator fails, warns, leaves it alone for a
  // while and calls again with the next best device; one that cannot do this operation is passed
  // over this time. The last failure is the caller's, and so is that of a device that has to be
  // taken because it is forced or because the data are bound to it.
  void run(const Workload& problem, std::span<const Residency> operands, i64 result_bytes,
           const std::function<void(Device)>& body);
  void on_warning(Warn warn);  // nothing: base/warn.hpp

  // The real dtype that the device is quick in: float64 where its products take at most four times
  // those of float32 by measurement, else by its compute capability, or as the configuration says.
  // Converts nothing.
  DType preferred_precision(Device device) const;

 private:
  struct Facts {
    CostModel costs;
    Topology links;
  };
  const Facts& facts() const;
  Choice choose_locked(const Workload& problem, std::span<const Residency> operands,
                       i64 result_bytes, std::span<const Device> without) const;
  Candidates candidates(std::span<const Device> devices) const;
  std::optional<Device> settled(std::span<const Residency> operands) const;
  bool has_other(Device device) const;
  void say(const std::string& text) const;
  void failed(Device device, const std::string& why);

  mutable std::mutex mutex_;
  std::vector<Device> accelerators_;
  std::atomic<bool> active_{false};      // whether there are any
  std::atomic<bool> has_choice_{false};  // or one is forced: asked before every small operation
  AcceleratorConfig config_;
  Rules rules_;
  Breaker breaker_;
  Warn warn_;
  mutable std::unique_ptr<const Facts> facts_;
};

// The one of this process; made at the first call.
TESSERA_API ComputeContext& context();

}  // namespace tessera
