// SPDX-License-Identifier: Apache-2.0
// The cpu kernel: the kernels of the single steps one after the other, so that a pass gives the same
// bits as its steps do.
#include "tessera/kernels/sweep/sweep.hpp"

#include <algorithm>

#include "tessera/kernels/table.hpp"

namespace tessera {
namespace {

struct Place {
  int vector;  // -1: the cells
  i64 bytes;   // into it
};
struct Part {
  Task task;
  std::vector<Place> operands;
};
struct SweepState {
  int vectors;
  std::vector<Part> parts;
};

ElementOp op_of(SweepKind kind) {
  switch (kind) {
    case SweepKind::scale: return ElementOp::multiply;
    case SweepKind::add: return ElementOp::add;
    case SweepKind::subtract: return ElementOp::subtract;
    case SweepKind::multiply_add: return ElementOp::multiply_add;
    case SweepKind::select: return ElementOp::where;
    default: return ElementOp::copy;
  }
}

Part element_part(const SweepSpec& spec, const SweepStep& s, Device device, i64& workspace) {
  const Layout row = Layout::contiguous({spec.count});
  ElementwiseSpec e;
  e.op = op_of(s.kind);
  e.compute = spec.dtype;
  e.out = {row, spec.dtype};
  Part part;
  const auto vector = [&](int v) {
    e.inputs.push_back({{row, spec.dtype}, std::nullopt});
    part.operands.push_back({v, 0});
  };
  const auto factor = [&] {
    if (s.factor < 0) return e.inputs.push_back({{}, Value(s.value)});
    e.inputs.push_back(
        {{Layout::contiguous({}).broadcast_to({spec.count}), spec.dtype}, std::nullopt});
    part.operands.push_back({-1, factor_offset(spec.dtype, s.factor)});
  };
  const bool first = s.kind != SweepKind::multiply_add;  // the factor comes before the vectors
  if (first && has_factor(s.kind)) factor();
  if (s.a >= 0) vector(s.a);
  if (!first) factor();
  if (s.b >= 0) vector(s.b);
  part.operands.push_back({s.to, 0});
  const Prepared p = cpu_kernels().elementwise.prepare(e, device);
  part.task = p.task;
  workspace = std::max(workspace, p.workspace);
  return part;
}

Part sum_part(const SweepSpec& spec, const SweepStep& s, Device device, i64& workspace) {
  const Operand row{Layout::contiguous({spec.count}), spec.dtype};
  const bool two = s.kind == SweepKind::dot;
  const ReduceSpec r{.op = two ? ReduceOp::vdot : ReduceOp::sum_abs2,
                     .in = row,
                     .in2 = two ? row : Operand{},
                     .out = {Layout::contiguous({1}), DType::f64}};
  const Prepared p = cpu_kernels().reduce.prepare(r, device);
  workspace = std::max(workspace, p.workspace);
  Part part{p.task, {{s.a, 0}}};
  if (two) part.operands.push_back({s.b, 0});
  part.operands.push_back({-1, static_cast<i64>(sizeof(double)) * s.sum});
  return part;
}

void run_sweep(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const SweepState*>(state);
  Launch one = launch;
  for (const Part& part : s.parts) {
    for (std::size_t i = 0; i < part.operands.size(); ++i) {
      const Place& p = part.operands[i];
      const int at = p.vector < 0 ? s.vectors : p.vector;
      one.operand[i] =
          static_cast<std::byte*>(launch.operand[static_cast<std::size_t>(at)]) + p.bytes;
    }
    part.task.run(part.task.state.get(), one);
  }
}

}  // namespace

void check_sweep(const SweepSpec& spec) {
  require<DTypeError>(spec.dtype == DType::f32 || spec.dtype == DType::f64, "sweep: vectors of ",
                      name(spec.dtype), "; expected float32 or float64");
  require<ArgumentError>(spec.steps.size() <= max_sweep_steps, "sweep: ", spec.steps.size(),
                         " steps; at most ", max_sweep_steps);
  require<ArgumentError>(spec.vectors <= max_sweep_vectors, "sweep: ", spec.vectors,
                         " vectors; at most ", max_sweep_vectors);
  for (const SweepStep& s : spec.steps) {
    const bool two = s.kind == SweepKind::add || s.kind == SweepKind::subtract ||
                     s.kind == SweepKind::multiply_add || s.kind == SweepKind::select ||
                     s.kind == SweepKind::dot;
    const bool sums = is_sum(s.kind);
    const auto is_vector = [&](int v) { return v >= 0 && v < spec.vectors; };
    const auto is_cell = [&](int c) { return spec.cells && c >= 0 && c < max_cells; };
    const bool fits = (s.kind == SweepKind::fill ? s.a < 0 : is_vector(s.a)) &&
                      (two ? is_vector(s.b) : s.b < 0) && (sums ? s.to < 0 : is_vector(s.to)) &&
                      (sums ? is_cell(s.sum) : s.sum < 0) &&
                      (s.factor < 0 || (has_factor(s.kind) && is_cell(s.factor)));
    require<ArgumentError>(fits,
                           "sweep: a step names vectors or cells that its kind does not have");
    require<ArgumentError>(
        s.factor < 0 || std::none_of(spec.steps.begin(), spec.steps.end(),
                                     [&](const SweepStep& o) { return o.sum == s.factor; }),
        "sweep: the factor of a step is cell ", s.factor, ", which a sum of the same pass writes");
  }
  require<ArgumentError>(spec.after.code.empty() || spec.cells,
                         "sweep: a program of scalars without cells");
  check_scalars(spec.after);
}

Prepared prepare_sweep_cpu(const SweepSpec& spec, Device device) {
  check_sweep(spec);
  auto state = std::make_shared<SweepState>();
  state->vectors = spec.vectors;
  Prepared p;
  for (const SweepStep& s : spec.steps) {
    state->parts.push_back(is_sum(s.kind) ? sum_part(spec, s, device, p.workspace)
                                          : element_part(spec, s, device, p.workspace));
    p.flops += static_cast<double>(spec.count);
  }
  if (!spec.after.code.empty()) {
    const Prepared after = cpu_kernels().scalars.prepare(spec.after, device);
    state->parts.push_back({after.task, {{-1, 0}}});
    p.workspace = std::max(p.workspace, after.workspace);
    p.flops += after.flops;
  }
  p.task = {&run_sweep, std::move(state)};
  return p;
}

}  // namespace tessera
