// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/sim/sim_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/kernel_tables.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/readable_tail.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/sim/sim_stream.hpp"

namespace tessera {
namespace {

using StreamRef = std::shared_ptr<SimStream>;
using EventRef = std::shared_ptr<SimEvent>;
using GraphRef = std::shared_ptr<const SimGraph>;

// Handles are pointers to shared pointers: queued operations keep what they need alive.
SimStream& as_stream(void* handle) { return **static_cast<StreamRef*>(handle); }
const EventRef& as_event(void* handle) { return *static_cast<EventRef*>(handle); }

i64 memory_limit() {
  const i64 set = config().sim_memory;
  return set > 0 ? set : i64{1} << 30;
}

// With some bytes more: see Note [reading beyond the end].
i64 whole_pages(i64 bytes) {
  static const i64 page = sysconf(_SC_PAGE_SIZE);
  return ((bytes + readable_tail(bytes) + page - 1) / page) * page;
}

// Its memory is the host's in truth: there must be as much.
void* map_host(const std::string& who, i64 bytes) {
  claim_host_memory(who, bytes);
  void* p = mmap(nullptr, static_cast<std::size_t>(whole_pages(bytes)), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) return p;
  unclaim_host_memory(bytes);
  throw OutOfMemory(cat(who, ": the system has no ", bytes_text(bytes), " to give"));
}

}  // namespace

SimDevice::SimDevice() {
  const i64 n = std::clamp<i64>(config().sim_devices, 0, max_devices);
  for (int i = 0; i < n; ++i) {
    units_.push_back(std::make_unique<SimUnit>());
    units_.back()->index = i;
  }
}
SimDevice::~SimDevice() = default;

DeviceInfo SimDevice::info(int index) const {
  const i64 total = memory_limit();
  return {"simulated accelerator", "kernels of the cpu, memory and threads of its own", total,
          total - unit(index).used.load()};
}

const KernelTable& SimDevice::kernels() const { return cpu_kernels(); }

void* SimDevice::allocate(int index, i64 bytes) {
  SimUnit& u = unit(index);
  u.check_alive();
  if (u.allocations_left.load() >= 0) {
    require<OutOfMemory>(u.allocations_left.load() > 0, u.name(),
                         ": no memory (a failure that a test asked for)");
    u.allocations_left.fetch_sub(1);
  }
  const i64 total = memory_limit(), used = u.used.fetch_add(bytes) + bytes;
  void* p = MAP_FAILED;
  try {
    require<OutOfMemory>(used <= total, u.name(), ": ", bytes_text(used - bytes), " of its ",
                         bytes_text(total), " are taken, ", bytes_text(bytes),
                         " more were asked for");
    p = map_host(u.name(), bytes);
  } catch (...) {
    u.used.fetch_sub(bytes);
    throw;
  }
  std::memset(p, 0xFF, static_cast<std::size_t>(bytes));
  return host_to_sim(p);
}

void SimDevice::release(int index, void* p, i64 bytes) noexcept {
  SimUnit& u = unit(index);
  for (const StreamRef& stream : u.living()) stream->drain();
  munmap(sim_to_host(p), static_cast<std::size_t>(whole_pages(bytes)));  // a late read ends at once
  unclaim_host_memory(bytes);
  u.used.fetch_sub(bytes);
}

void* SimDevice::allocate_pinned(i64 bytes) {
  claim_host_memory("sim", bytes);
  void* p =
      std::aligned_alloc(64, static_cast<std::size_t>((std::max<i64>(bytes, 1) + 63) / 64 * 64));
  if (p != nullptr) return p;
  unclaim_host_memory(bytes);
  throw OutOfMemory(cat("sim: the system has no ", bytes_text(bytes), " to give"));
}

void SimDevice::release_pinned(void* p, i64 bytes) noexcept {
  std::free(p);
  unclaim_host_memory(bytes);
}

void* SimDevice::make_stream(int index) {
  unit(index).check_alive();
  auto ref = std::make_unique<StreamRef>(SimStream::start(unit(index)));
  (*ref)->set_native(ref.get());
  return ref.release();
}

void SimDevice::drop_stream(int, void* stream) noexcept {
  as_stream(stream).give_up();
  delete static_cast<StreamRef*>(stream);
}

void* SimDevice::make_event(int index) {
  unit(index).check_alive();
  return new EventRef(std::make_shared<SimEvent>());
}

void SimDevice::drop_event(int, void* event) noexcept { delete static_cast<EventRef*>(event); }

void SimDevice::record(int, void* stream, void* event) {
  SimOp op;
  op.what = SimOp::What::record;
  op.event = as_event(event);
  op.number = op.event->next();
  const EventRef kept = op.event;
  const i64 number = op.number;
  try {
    as_stream(stream).push(std::move(op));
  } catch (...) {
    kept->complete(number, std::current_exception());  // else a wait for it would never end
    throw;
  }
}

void SimDevice::wait(int, void* stream, void* event) {
  SimOp op;
  op.what = SimOp::What::wait;
  op.event = as_event(event);
  op.number = op.event->newest();
  if (op.number > 0) as_stream(stream).push(std::move(op));
}

bool SimDevice::done(int, void* event) { return as_event(event)->done(); }

void SimDevice::sync_event(int, void* event) {
  const EventRef& e = as_event(event);
  if (auto error = e->wait(e->newest())) std::rethrow_exception(error);
}

void SimDevice::sync_stream(int, void* stream) { as_stream(stream).sync(); }

void SimDevice::launch(int, void* stream, const Task& task, const Launch& launch) {
  SimOp op;
  op.what = SimOp::What::launch;
  op.task = task;
  op.launch = launch;
  as_stream(stream).push(std::move(op));
}

void SimDevice::copy(int index, void* stream, const Copy& copy) {
  for (const Device d : {copy.to_device, copy.from_device})
    if (d.kind == Kind::sim && d.index != index) unit(d.index).check_alive();
  SimOp op;
  op.what = SimOp::What::copy;
  op.copy = copy;
  as_stream(stream).push(std::move(op));
}

void SimDevice::fill(int, void* stream, void* p, int byte, i64 bytes) {
  SimOp op;
  op.what = SimOp::What::fill;
  op.copy.to = p;
  op.copy.row_bytes = bytes;
  op.byte = byte;
  as_stream(stream).push(std::move(op));
}

bool SimDevice::peer_access(int from, int to) const {
  return from == to || !(unit(from).isolated.load() || unit(to).isolated.load());
}

bool SimDevice::failed(int, void* stream) noexcept { return as_stream(stream).failed(); }

void SimDevice::begin_capture(int, void* stream) { as_stream(stream).begin_capture(); }

void* SimDevice::end_capture(int, void* stream) {
  return new GraphRef(as_stream(stream).end_capture());
}

void SimDevice::launch_graph(int, void* stream, void* graph) {
  SimOp op;
  op.what = SimOp::What::graph;
  op.graph = *static_cast<GraphRef*>(graph);
  as_stream(stream).push(std::move(op));
}

void SimDevice::drop_graph(int, void* graph) noexcept { delete static_cast<GraphRef*>(graph); }

namespace sim {
namespace {
SimUnit& unit_of(int index) {
  ComputeDevice& device = compute_device(Device{Kind::sim, static_cast<std::int16_t>(index)});
  return static_cast<SimDevice&>(device).unit(index);
}
}  // namespace

void fail_allocation_after(int index, i64 n) { unit_of(index).allocations_left.store(n); }
void fail_task_after(int index, i64 n) { unit_of(index).tasks_left.store(n); }
void fail_capture_after(int index, i64 n) { unit_of(index).captures_left.store(n); }

void isolate(int index) { unit_of(index).isolated.store(true); }

void lose_device(int index) {
  SimUnit& u = unit_of(index);
  u.lost.store(true);
}

void restore(int index) {
  SimUnit& u = unit_of(index);
  // What was queued before fails with the loss; only then is the device whole again.
  for (const auto& stream : u.living()) stream->drain();
  u.allocations_left.store(-1);
  u.tasks_left.store(-1);
  u.captures_left.store(-1);
  u.isolated.store(false);
  u.lost.store(false);
  for (const auto& stream : u.living()) stream->clear_failure();
}

}  // namespace sim
}  // namespace tessera
