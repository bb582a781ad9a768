// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/plan_linop.hpp"

#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/plan/forecast.hpp"
#include "tessera/plan/place.hpp"

namespace tessera {
namespace {

Work work_of(const Plan& plan, const PlanOptions& options, i64 input_bytes, i64 output_bytes) {
  Work w{.input_bytes = input_bytes, .output_bytes = output_bytes, .home = options.device};
  for (const Step& s : plan.steps()) {
    w.flops += s.prepared.flops;
    w.bytes += s.bytes;
    ++w.steps;
  }
  w.workspace = plan.workspace(options.device);
  return w;
}

Candidate candidate(Device device, Device home) {
  const Machine machine = Machine::measured();
  const DeviceRates rates = machine.rates(device);
  const Topology& t = machine.links;
  Candidate c;
  c.device = device;
  c.bytes_per_second = rates.bytes_per_second;
  c.flops_per_second = rates.flops_per_second;
  c.seconds_per_step = rates.seconds_per_step;
  c.to_bytes_per_second = t.link(home, device).bytes_per_second;
  c.from_bytes_per_second = t.link(device, home).bytes_per_second;
  c.transfer_latency = t.link(home, device).latency_seconds;
  const MemoryStats m = memory_stats(device);
  const i64 free = compute_device(device).info(device.index).memory_free;
  c.free_bytes = m.budget > 0 ? std::max<i64>(1, std::min(free, m.budget - m.in_use)) : free;
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
  std::vector<Candidate> candidates;
  for (Device d : o.run_on) candidates.push_back(candidate(d, o.device));
  const Placement p = place(work_of(sketch, o, in.layout.size() * size_of(in.dtype),
                                    out.layout.size() * size_of(out.dtype)),
                            candidates);
  return on(p.device).with_notes(p.reasons);
}

}  // namespace tessera
