// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/join_sweeps.hpp"

#include <algorithm>

#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

// What a label says after the operator that recorded it.
std::string_view kernel_of(const std::string& label) {
  const std::size_t colon = label.rfind(": ");
  return std::string_view(label).substr(colon == std::string::npos ? 0 : colon + 2);
}

bool same_place(const Step& a, const Step& b) {
  return a.device == b.device && a.stream == b.stream && a.part.container == b.part.container &&
         a.part.index == b.part.index;
}

// Steps in a row that one launch can do.
class Pass {
 public:
  // `cells`: slots that programs of scalars work on.
  explicit Pass(const std::vector<bool>& cells) : is_cells_(&cells) {}

  bool empty() const { return members_.empty(); }
  // Adds the step, unless it has to begin another pass.
  bool takes(const Step& step) {
    const SweepPart& part = *step.sweep;
    if (!members_.empty() && !(same_place(*members_.front(), step) && step.listeners.empty()))
      return false;
    const Pass before = *this;
    if (part.program ? add_program(step) : add_step(step)) {
      members_.push_back(&step);
      return true;
    }
    *this = before;
    return false;
  }
  // The steps that came in, or the one that they become.
  void finish(std::vector<Slot>& slots, std::vector<Step>& to) const {
    if (members_.size() > 1 && !spec_.steps.empty())
      to.push_back(joined(slots));
    else
      for (const Step* s : members_) to.push_back(*s);
  }

 private:
  struct Vector {
    Access at;
    bool read, written;  // read: before it is written
  };

  bool use_cells(const Access& a) {
    if (!(*is_cells_)[static_cast<std::size_t>(a.slot)] || (cells_ >= 0 && cells_ != a.slot))
      return false;
    cells_ = a.slot;
    return true;
  }
  // -1: it overlaps another one, or there are too many.
  int number_of(const Access& a, bool writes) {
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      Vector& v = vectors_[i];
      if (v.at.slot != a.slot) continue;
      if (v.at.begin == a.begin && v.at.end == a.end) {
        v.written = v.written || writes;
        return static_cast<int>(i);
      }
      if (v.at.begin < a.end && a.begin < v.at.end) return -1;
    }
    if (vectors_.size() == max_sweep_vectors) return -1;
    vectors_.push_back({a, !writes, writes});
    return static_cast<int>(vectors_.size()) - 1;
  }
  bool add_program(const Step& step) {
    const ScalarsSpec& more = *step.sweep->program;
    if (!use_cells(step.write())) return false;
    if (spec_.after.code.size() + more.code.size() > max_scalar_code) return false;
    spec_.after.mirror = more.mirror;
    spec_.after.code.insert(spec_.after.code.end(), more.code.begin(), more.code.end());
    return true;
  }
  bool add_step(const Step& step) {
    const SweepPart& part = *step.sweep;
    const bool first = spec_.steps.empty();
    if (!spec_.after.code.empty() || spec_.steps.size() == max_sweep_steps) return false;
    if (!first && (spec_.dtype != part.dtype || spec_.count != part.count)) return false;
    spec_.dtype = part.dtype;
    spec_.count = part.count;
    SweepStep s{.kind = part.kind, .value = part.value};
    const auto operand = [&](int i) { return step.operands[static_cast<std::size_t>(i)]; };
    if (part.a >= 0 && (s.a = number_of(operand(part.a), false)) < 0) return false;
    if (part.b >= 0 && (s.b = number_of(operand(part.b), false)) < 0) return false;
    if (part.factor >= 0) {
      const Access& cell = operand(part.factor);
      if (!use_cells(cell)) return false;
      s.factor = static_cast<int>((cell.byte_offset - factor_offset(part.dtype, 0)) /
                                  (factor_offset(part.dtype, 1) - factor_offset(part.dtype, 0)));
      if (is_summed(s.factor)) return false;
    }
    if (is_sum(part.kind)) {
      if (!use_cells(step.write())) return false;
      s.sum = static_cast<int>(step.write().byte_offset / static_cast<i64>(sizeof(double)));
      if (is_summed(s.sum)) return false;
    } else if ((s.to = number_of(step.write(), true)) < 0) {
      return false;
    }
    spec_.steps.push_back(s);
    return true;
  }
  bool is_summed(int cell) const {
    return std::any_of(spec_.steps.begin(), spec_.steps.end(),
                       [&](const SweepStep& s) { return s.sum == cell; });
  }

  Step joined(std::vector<Slot>& slots) const {
    const Step& first = *members_.front();
    Step step;
    step.label = first.label;
    for (std::size_t i = 1; i < members_.size(); ++i)
      step.label += cat(" + ", kernel_of(members_[i]->label));
    step.device = first.device;
    step.stream = first.stream;
    step.listeners = first.listeners;
    step.part = first.part;
    step.scope = first.scope;
    step.updates = true;
    SweepSpec spec = spec_;
    spec.vectors = static_cast<int>(vectors_.size());
    spec.cells = cells_ >= 0;
    const i64 bytes = spec.count * size_of(spec.dtype);
    for (const Vector& v : vectors_) {
      const std::uint32_t bit = std::uint32_t{1} << step.operands.size();
      if (v.written) step.written |= bit;
      if (v.written && v.read) step.changed |= bit;
      step.bytes += bytes * (int{v.read} + int{v.written});
      step.operands.push_back(v.at);
    }
    if (spec.cells) {
      const bool sums = std::any_of(spec.steps.begin(), spec.steps.end(),
                                    [](const SweepStep&s) { return is_sum(s.kind); }),
                 has_factors = std::any_of(spec.steps.begin(), spec.steps.end(),
                                           [](const SweepStep&s) { return s.factor >= 0; });
      const std::uint32_t bit = std::uint32_t{1} << step.operands.size();
      if (sums || !spec.after.code.empty()) step.written |= bit;
      if (has_factors || !spec.after.code.empty()) step.changed |= bit & step.written;
      step.operands.push_back({cells_, 0, 0, cell_memory_bytes});
    }
    step.prepared = kernels_of(step.device).sweep.prepare(spec, step.device);
    if (step.prepared.workspace > 0) {
      Slot area{.kind = SlotKind::temporary,
                .device = step.device,
                .bytes = step.prepared.workspace,
                .constant = {},
                .layout = {},
                .dtype = DType::u8,
                .label = step.label + " work area"};
      area.scope = step.scope;
      step.workspace = static_cast<int>(slots.size());
      slots.push_back(std::move(area));
    }
    return step;
  }

  const std::vector<bool>* is_cells_;
  std::vector<const Step*> members_;
  std::vector<Vector> vectors_;
  SweepSpec spec_;
  int cells_ = -1;
};

}  // namespace

void join_sweeps(std::vector<Slot>& slots, std::vector<Step>& steps) {
  std::vector<bool> cells(slots.size(), false);
  bool any = false;
  for (const Step& s : steps) {
    if (s.sweep && s.sweep->program) cells[static_cast<std::size_t>(s.write().slot)] = true;
    any = any || s.sweep.has_value();
  }
  if (!any) return;
  std::vector<Step> done;
  done.reserve(steps.size());
  Pass pass(cells);
  const auto begin_anew = [&] {
    pass.finish(slots, done);
    pass = Pass(cells);
  };
  for (Step& s : steps) {
    const bool joins = s.sweep && kernels_of(s.device).sweep.prepare;
    if (joins && pass.takes(s)) continue;
    begin_anew();
    if (!joins || !pass.takes(s)) done.push_back(s);
  }
  begin_anew();
  steps = std::move(done);
}

}  // namespace tessera
