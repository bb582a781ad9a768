// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/plan_linop.hpp"

#include "tessera/compute/choose.hpp"
#include "tessera/compute/machine.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

// What a plan would take on a device, with its input and output brought there and back if they lie
// elsewhere.
Considered considered(Device device, const Plan& sketch, const Planned& in, const Planned& out) {
  const Machine machine = Machine::measured();
  Work work{.steps = 0};
  for (const Step& s : sketch.steps()) {
    work.flops += s.prepared.flops;
    work.bytes += s.bytes;
    ++work.steps;
  }
  Considered c;
  c.device = device;
  c.compute_seconds = machine.seconds(device, work);
  if (device != in.device) {
    const i64 fetched = in.layout.size() * size_of(in.dtype),
              returned = out.layout.size() * size_of(out.dtype);
    c.transferred_bytes = fetched + returned;
    c.transfer_seconds = machine.links.seconds(in.device, device, fetched) +
                         machine.links.seconds(device, out.device, returned);
  }
  const MemoryStats m = memory_stats(device);
  i64 free = compute_device(device).info(device.index).memory_free;
  if (m.budget > 0) free = std::max<i64>(0, std::min(free, m.budget - m.in_use));
  const i64 needed = sketch.workspace(in.device) + c.transferred_bytes;
  c.lacks_memory = needed > free;
  if (c.lacks_memory) c.refused = cat("needs ", bytes_text(needed), ", has ", bytes_text(free));
  return c;
}

}  // namespace

Plan plan_linop(const NamedLinop& a, const Planned& in, const Planned& out) {
  Recorder r;
  const View x = r.input(in.layout, in.dtype, in.device),
             y = r.output(out.layout, out.dtype, out.device);
  a.record(r, x, y);
  return Plan(std::move(r), a.str());
}

Plan plan_linop_on(const NamedLinop& a, const Planned& in, const Planned& out, Device compute) {
  Recorder r;
  const View x = r.input(in.layout, in.dtype, in.device),
             y = r.output(out.layout, out.dtype, out.device);
  const View there = r.temporary(in.layout.shape, in.dtype, compute),
             result = r.temporary(out.layout.shape, out.dtype, compute);
  record::copy(r, x, there);
  a.to(compute).record(r, there, result);
  record::copy(r, result, y);
  r.note(cat("computed on ", compute, ", input and output on ", in.device));
  return Plan(std::move(r), a.str());
}

Plan NamedLinop::plan(const PlanOptions& o) const {
  const Planned in{Layout::contiguous(o.shape), o.dtype, o.device},
      out{Layout::contiguous(output_shape(o.shape)), output_dtype(o.dtype),
          output_device(o.device)};
  auto on = [&](Device compute) {
    if (compute == o.device) return plan_linop(to(compute), in, out);
    return plan_linop_on(*this, in, out, compute);
  };
  if (o.run_on.empty()) return plan_linop(*this, in, out);
  if (o.run_on.size() == 1) return on(o.run_on.front());
  const Plan sketch = on(o.device);
  std::vector<Considered> all;
  for (Device d : o.run_on) all.push_back(considered(d, sketch, in, out));
  const Choice choice = choose(str(), std::move(all));
  std::vector<std::string> reasons;
  for (const Considered& c : choice.considered) reasons.push_back(c.str());
  return on(choice.device).with_notes(reasons);
}

}  // namespace tessera
