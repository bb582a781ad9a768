// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/context.hpp"

#include <algorithm>
#include <chrono>

#include "tessera/base/warn.hpp"
#include "tessera/compute/calibrate.hpp"
#include "tessera/compute/precision.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/streamer.hpp"

namespace tessera {
namespace {

std::vector<Device> with_host(const std::vector<Device>& accelerators) {
  std::vector<Device> all;
  all.reserve(accelerators.size() + 1);
  all.push_back(cpu);
  all.insert(all.end(), accelerators.begin(), accelerators.end());
  return all;
}

}  // namespace

ComputeContext::ComputeContext(std::vector<Device> accelerators, CostModel costs, Topology links,
                               const AcceleratorConfig& config)
    : accelerators_(std::move(accelerators)),
      active_(!accelerators_.empty()),
      has_choice_(!accelerators_.empty()),
      config_(config),
      facts_(new Facts{std::move(costs), std::move(links)}) {}

void ComputeContext::enable_gpu(const AcceleratorConfig& config) {
  const i64 sizes[] = {config.device_id, config.memory_limit_bytes, config.stream_buffer_size,
                       config.pinned_budget_bytes};
  require<ArgumentError>(
      std::all_of(std::begin(sizes), std::end(sizes), [](i64 n) { return n >= 0; }) &&
          config.device_id <= INT16_MAX,
      "enable_gpu: device_id = ", config.device_id,
      ", memory_limit_bytes = ", config.memory_limit_bytes,
      ", stream_buffer_size = ", config.stream_buffer_size,
      ", pinned_budget_bytes = ", config.pinned_budget_bytes, "; expected none to be negative");
  const Device gpu{Kind::cuda, static_cast<std::int16_t>(config.device_id)};
  compute_device(gpu);  // refuses with the reason
  if (config.pinned_budget_bytes > 0) set_pinned_budget(config.pinned_budget_bytes);
  set_stream_buffer_size(config.stream_buffer_size);
  const std::lock_guard lock(mutex_);
  if (accelerators_ != std::vector{gpu}) facts_.reset();
  accelerators_ = {gpu};
  active_ = has_choice_ = true;
  config_ = config;
  rules_.precision = config.precision;
  breaker_ = {};
}

void ComputeContext::disable_gpu() {
  const std::lock_guard lock(mutex_);
  if (active_) set_stream_buffer_size(default_stream_buffer);
  accelerators_.clear();
  active_ = false;
  has_choice_ = rules_.forced.has_value();
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

std::vector<Device> ComputeContext::devices() const {
  const std::lock_guard lock(mutex_);
  return with_host(accelerators_);
}

void ComputeContext::force(std::optional<Device> device) {
  if (device) (void)compute_device(*device);  // a device that cannot be used, with its own sentence
  const std::lock_guard lock(mutex_);
  rules_.forced = device;
  has_choice_ = active_ || device.has_value();
}

std::optional<Device> ComputeContext::forced() const {
  const std::lock_guard lock(mutex_);
  return rules_.forced;
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
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const Topology& links = topology();  // measured once as well, out of the same seconds
    const double used = std::chrono::duration<double>(Clock::now() - start).count(),
                 left = std::max(calibration_seconds - used, calibration_seconds / 2);
    const std::vector<Device> all = with_host(accelerators_);
    facts_.reset(new Facts{cached_costs(cost_cache_path(), all, left), links});
  }
  return *facts_;
}

Candidates ComputeContext::candidates(std::span<const Device> devices) const {
  // Devices to which data are bound have no costs; nothing is measured for their sake.
  static const auto* const no_costs = new CostModel;
  const bool bound = std::none_of(devices.begin(), devices.end(), [&](Device d) {
    return d == cpu ||
           std::find(accelerators_.begin(), accelerators_.end(), d) != accelerators_.end();
  });
  Candidates machine{bound ? *no_costs : facts().costs, bound ? topology() : facts().links, {}};
  const auto now = Breaker::Time::clock::now();
  machine.offers.reserve(devices.size());
  for (const Device d : devices) {
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

Choice ComputeContext::choose_locked(const Workload& problem, std::span<const Residency> operands,
                                     i64 result_bytes, std::span<const Device> without) const {
  std::vector<Device> devices = with_host(accelerators_);
  if (!rules_.forced)
    if (auto bound = bound_to(operands, devices); !bound.empty()) devices = std::move(bound);
  std::erase_if(devices, [&](Device d) {
    return std::find(without.begin(), without.end(), d) != without.end();
  });
  return AutoSolver{candidates(devices), rules_}.select_device(problem, operands, result_bytes);
}

Choice ComputeContext::choose(const Workload& problem, std::span<const Residency> operands,
                              i64 result_bytes) const {
  const std::lock_guard lock(mutex_);
  return choose_locked(problem, operands, result_bytes, {});
}

Choice ComputeContext::choose(std::string_view function,
                              std::span<const OperandInfo> operands) const {
  const PlacementProblem q = problem_of_function(function, operands);
  return choose(q.problem, q.held, q.result_bytes);
}

// The device, where there is no choice: then nothing has to be measured.
std::optional<Device> ComputeContext::settled(std::span<const Residency> operands) const {
  if (!accelerators_.empty()) return std::nullopt;
  const Device host[] = {cpu};
  const std::vector<Device> bound = bound_to(operands, host);
  if (bound.size() > 1) return std::nullopt;
  const Device only = bound.empty() ? cpu : bound[0];
  if (rules_.forced && *rules_.forced != only) return std::nullopt;
  return only;
}

// Whether something else may be tried when the device fails: not for data that are bound to it.
bool ComputeContext::has_other(Device device) const {
  const std::lock_guard lock(mutex_);
  return !rules_.forced &&
         std::find(accelerators_.begin(), accelerators_.end(), device) != accelerators_.end();
}

void ComputeContext::say(const std::string& text) const {
  Warn mine;
  {
    const std::lock_guard lock(mutex_);
    mine = warn_;
  }
  if (mine)
    mine(text);
  else
    warn(WarningKind::device, text);
}

void ComputeContext::failed(Device device, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    breaker_.failed(device, why, Breaker::Time::clock::now());
  }
  say(cat(device, " failed and is left alone for a while: ", why));
}

void ComputeContext::run(const Workload& problem, std::span<const Residency> operands,
                         i64 result_bytes, const std::function<void(Device)>& body) {
  std::vector<Device> passed_over;
  for (;;) {
    Device device;
    bool waits = false;
    {
      const std::lock_guard lock(mutex_);
      waits = !config_.enable_async;
      const auto only = settled(operands);
      device = only ? *only : choose_locked(problem, operands, result_bytes, passed_over).device;
    }
    try {
      body(device);
      if (waits) Stream::home(device).sync();
      const std::lock_guard lock(mutex_);
      breaker_.worked(device);
      return;
    } catch (const NotAvailable& e) {
      if (!has_other(device)) throw;
      passed_over.push_back(device);
      warn_once(
          WarningKind::device, cat(device, " ", name(problem.op)),
          cat(device, " cannot do ", name(problem.op), ", another device does it: ", e.what()));
    } catch (const DeviceError& e) {
      if (!has_other(device)) throw;
      failed(device, e.what());
    } catch (const OutOfMemory& e) {
      if (!has_other(device)) throw;
      failed(device, e.what());
    } catch (const BackendError& e) {
      if (!has_other(device)) throw;
      failed(device, e.what());
    }
  }
}

DType ComputeContext::preferred_precision(Device device) const {
  const std::lock_guard lock(mutex_);
  if (config_.precision == PrecisionMode::force_float32) return DType::f32;
  if (config_.precision == PrecisionMode::force_float64) return DType::f64;
  if (device == cpu ||
      std::find(accelerators_.begin(), accelerators_.end(), device) != accelerators_.end())
    if (const auto measured = facts().costs.double_rate(device)) return quick_dtype(measured);
  const auto chip = capability_in(compute_device(device).info(device.index).details);
  return quick_dtype(chip ? double_rate_of(*chip) : std::nullopt);
}

ComputeContext& context() {
  static auto* const one = new ComputeContext();  // never destroyed: users may outlive statics
  return *one;
}

}  // namespace tessera
