// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/context.hpp"

#include <cstdio>

#include "tessera/compute/calibrate.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

constexpr double quick_in_double = 0.25;

std::vector<Device> with_host(const std::vector<Device>& accelerators) {
  std::vector<Device> all{cpu};
  all.insert(all.end(), accelerators.begin(), accelerators.end());
  return all;
}

}  // namespace

ComputeContext::ComputeContext(std::vector<Device> accelerators, CostModel costs, Topology links)
    : accelerators_(std::move(accelerators)),
      facts_(new Facts{std::move(costs), std::move(links)}) {}

void ComputeContext::enable_gpu(const AcceleratorConfig& config) {
  require<ArgumentError>(config.device_id >= 0 && config.memory_limit_bytes >= 0,
                         "enable_gpu: device_id = ", config.device_id,
                         ", memory_limit_bytes = ", config.memory_limit_bytes,
                         "; expected neither to be negative");
  const Device gpu{Kind::cuda, static_cast<std::int16_t>(config.device_id)};
  compute_device(gpu);  // refuses with the reason
  const std::lock_guard lock(mutex_);
  accelerators_ = {gpu};
  config_ = config;
  breaker_ = {};
  facts_.reset();
}

void ComputeContext::disable_gpu() {
  const std::lock_guard lock(mutex_);
  accelerators_.clear();
}

bool ComputeContext::is_gpu_active() const {
  const std::lock_guard lock(mutex_);
  return !accelerators_.empty();
}

AcceleratorConfig ComputeContext::config() const {
  const std::lock_guard lock(mutex_);
  return config_;
}

std::string ComputeContext::device() const {
  const std::lock_guard lock(mutex_);
  std::string text = "AutoSolver (cpu";
  for (const Device d : accelerators_) text += cat(" + ", d);
  return text + ")";
}

void ComputeContext::force(std::optional<Device> device) {
  const std::lock_guard lock(mutex_);
  rules_.forced = device;
}

void ComputeContext::set_gpu_threshold_elements(i64 elements) {
  require<ArgumentError>(elements >= 0, "gpu_threshold_elements: ", elements,
                         "; expected none or more");
  const std::lock_guard lock(mutex_);
  rules_.gpu_threshold_elements = elements;
}

void ComputeContext::on_warning(Warn warn) {
  const std::lock_guard lock(mutex_);
  warn_ = std::move(warn);
}

const ComputeContext::Facts& ComputeContext::facts() const {
  if (!facts_) {
    const std::vector<Device> all = with_host(accelerators_);
    facts_.reset(new Facts{cached_costs(cost_cache_path(), all), topology()});
  }
  return *facts_;
}

Candidates ComputeContext::candidates() const {
  const Facts& known = facts();
  Candidates machine{known.costs, known.links, {}};
  const auto now = Breaker::Time::clock::now();
  for (const Device d : with_host(accelerators_)) {
    DeviceOffer offer{d, std::nullopt, breaker_.why_closed(d, now)};
    const MemoryStats memory = memory_stats(d);
    i64 limit = memory.budget;
    if (d != cpu && config_.memory_limit_bytes > 0)
      limit = limit > 0 ? std::min(limit, config_.memory_limit_bytes) : config_.memory_limit_bytes;
    if (limit > 0) offer.free_bytes = limit - memory.in_use;
    machine.offers.push_back(std::move(offer));
  }
  return machine;
}

Choice ComputeContext::choose_locked(const Workload& problem, std::span<const Held> operands,
                                     i64 result_bytes) const {
  return tessera::choose(problem, operands, result_bytes, candidates(), rules_);
}

Choice ComputeContext::choose(const Workload& problem, std::span<const Held> operands,
                              i64 result_bytes) const {
  const std::lock_guard lock(mutex_);
  return choose_locked(problem, operands, result_bytes);
}

void ComputeContext::failed(Device device, const std::string& why) {
  Warn warn;
  {
    const std::lock_guard lock(mutex_);
    breaker_.failed(device, why, Breaker::Time::clock::now());
    warn = warn_;
  }
  const std::string text = cat(device, " failed and is left alone for a while: ", why);
  if (warn)
    warn(text);
  else
    std::fprintf(stderr, "tessera: %s\n", text.c_str());
}

void ComputeContext::run(const Workload& problem, std::span<const Held> operands, i64 result_bytes,
                         const std::function<void(Device)>& body) {
  for (;;) {
    const Device device = choose(problem, operands, result_bytes).device;
    const auto other = [&] {
      const std::lock_guard lock(mutex_);
      return device != cpu && !rules_.forced;
    };
    try {
      body(device);
      const std::lock_guard lock(mutex_);
      breaker_.worked(device);
      return;
    } catch (const DeviceError& e) {
      if (!other()) throw;
      failed(device, e.what());
    } catch (const OutOfMemory& e) {
      if (!other()) throw;
      failed(device, e.what());
    } catch (const BackendError& e) {
      if (!other()) throw;
      failed(device, e.what());
    }
  }
}

DType ComputeContext::preferred_precision(Device device) const {
  const std::lock_guard lock(mutex_);
  if (config_.precision == PrecisionMode::force_float32) return DType::f32;
  if (config_.precision == PrecisionMode::force_float64) return DType::f64;
  const auto rate = facts().costs.double_rate(device);
  return rate && *rate < quick_in_double ? DType::f32 : DType::f64;
}

ComputeContext& context() {
  static auto* const one = new ComputeContext();  // never destroyed: users may outlive statics
  return *one;
}

}  // namespace tessera
