// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/recorder.hpp"

#include <algorithm>

#include "tessera/plan/plan.hpp"
#include "tessera/plan/record_transfer.hpp"

namespace tessera {
namespace {

i64 view_bytes(const View& v) { return v.layout.size() * size_of(v.dtype); }

// Without the axes along which it only repeats.
Layout without_repeats(Layout layout) {
  for (i64 i = 0; i < layout.ndim(); ++i)
    if (layout.strides[i] == 0 && layout.shape[i] > 1) layout.shape[i] = 1;
  return layout;
}

// The same shape in memory of its own; what repeats still does.
Layout packed(const Layout& layout) {
  return Layout::contiguous(without_repeats(layout).shape).broadcast_to(layout.shape);
}

// Note [streaming]: of what tiles fetch, a device keeps what the next tile needs again and nothing
// longer: a row of tiles shares one panel of one operand while the panels of the other go by. A
// copy that was last used before is sent again rather than held.
bool used_by_this_or_last_part(const std::vector<Step>& steps, const Part& now, Device where,
                               int slot) {
  if (now.container < 0) return true;
  int part = now.index;
  int before = 0;  // parts of this device before this one
  for (auto s = steps.rbegin(); s != steps.rend() && s->part.container == now.container; ++s) {
    if (s->device != where) continue;
    if (s->part.index != part) {
      if (++before > 1) return false;
      part = s->part.index;
    }
    for (const Access& a : s->operands)
      if (a.slot == slot) return true;
  }
  return false;
}

}  // namespace

Access Recorder::access(const View& v) {
  const i64 item = size_of(v.dtype);
  const auto [lowest, highest] = v.layout.span();
  return {v.slot, v.layout.offset * item, lowest * item, (highest + 1) * item};
}

i64& Recorder::writes(const View& v) {
  const std::size_t i = static_cast<std::size_t>(v.slot);
  if (writes_.size() <= i) writes_.resize(slots_.size(), 0);
  return writes_[i];
}

void Recorder::push(Step step) {
  step.part = part_;
  step.scope = scope_;
  ++writes(View{.slot = step.write().slot, .layout = {}});
  steps_.push_back(std::move(step));
}

Recorder::Parts::Parts(Recorder& r, Device base) : recorder_(r), outermost_(r.part_.container < 0) {
  if (outermost_) r.part_ = {r.containers_++, -1, base};
}

Recorder::Parts::~Parts() {
  if (outermost_) recorder_.part_ = {};
}

View Recorder::resident(const View& v, Device where) {
  if (device(v) == where) return v;
  const View from = sub_view(v, without_repeats(v.layout));
  std::vector<Copy>& known = copies_[{from.slot, from.layout.offset, where.kind, where.index}];
  const bool streams = constants_ == Constants::fetched;
  for (auto c = known.begin(); c != known.end(); ++c) {
    if (!(c->from.dtype == from.dtype && c->from.layout.shape == from.layout.shape &&
          c->from.layout.strides == from.layout.strides && c->from_writes == writes(c->from) &&
          c->to_writes == writes(c->to)))
      continue;
    if (!streams || used_by_this_or_last_part(steps_, part_, where, c->to.slot))
      return sub_view(c->to, c->to.layout.broadcast_to(v.shape()));
    known.erase(c);
    break;
  }
  const View to = temporary(from.shape(), from.dtype, where);
  record::copy(*this, from, to);
  known.push_back({from, to, writes(from), writes(to)});
  return sub_view(to, to.layout.broadcast_to(v.shape()));
}

Recorder::Scope::Scope(Recorder& r, std::string name, const View& in, const View& out)
    : recorder_(r), outer_(r.scope_) {
  r.tree_.push_back({std::move(name), outer_, in, out});
  r.scope_ = static_cast<int>(r.tree_.size()) - 1;
}

void Recorder::Scope::withdraw() {
  recorder_.tree_.resize(static_cast<std::size_t>(recorder_.scope_));
  recorder_.scope_ = outer_;
}

int Recorder::add_slot(Slot slot) {
  slot.scope = scope_;
  slots_.push_back(std::move(slot));
  return static_cast<int>(slots_.size()) - 1;
}

std::string Recorder::scope_name(std::string_view otherwise) const {
  return scope_ < 0 ? std::string(otherwise) : tree_[static_cast<std::size_t>(scope_)].name;
}

std::string Recorder::scope_text() const { return scope_ < 0 ? "" : scope_name({}) + ": "; }

View Recorder::input(const Layout& layout, DType dtype, Device device, std::string_view label) {
  Slot slot{.kind = SlotKind::input,
            .device = device,
            .bytes = layout.size() * size_of(dtype),
            .constant = {},
            .layout = layout,
            .dtype = dtype,
            .label = std::string(label)};
  slot.layout.offset = 0;
  View view{-1, slot.layout, dtype};
  view.slot = add_slot(std::move(slot));
  return view;
}

View Recorder::output(const Layout& layout, DType dtype, Device device, std::string_view label) {
  View view = input(layout, dtype, device, label);
  require<ShapeError>(!layout.self_overlaps(), scope_text(), "the output's layout ", layout,
                      " overlaps itself");
  slots_.back().kind = SlotKind::output;
  return view;
}

View Recorder::constant(const Array& array) {
  if (constants_ == Constants::as_they_are || array.device() == residence_)
    return constant_slot(array, array.device());
  if (constants_ == Constants::fetched)
    return resident(constant_slot(array, array.device()), residence_);
  // Where it would be placed it is dense, but for axes along which it only repeats.
  View v = constant_slot(array, residence_);
  v.layout = packed(v.layout);
  return v;
}

View Recorder::constant_slot(const Array& array, Device device) {
  std::vector<int>& known = constant_slots_[{array.storage().data(), device.kind, device.index}];
  for (const int i : known)
    if (slots_[static_cast<std::size_t>(i)].constant.storage() == array.storage())
      return {i, array.layout(), array.dtype()};
  // The slot is the whole storage, so that other views of it find the same slot.
  Slot slot{.kind = SlotKind::constant,
            .device = device,
            .bytes = array.storage().bytes(),
            .constant = array,
            .layout = {},
            .dtype = array.dtype(),
            .label = scope_name("constant")};
  known.push_back(add_slot(std::move(slot)));
  return {known.back(), array.layout(), array.dtype()};
}

View Recorder::temporary(const Shape& shape, DType dtype, Device device) {
  Layout layout = Layout::contiguous(shape);
  Slot slot{.kind = SlotKind::temporary,
            .device = device,
            .bytes = layout.size() * size_of(dtype),
            .constant = {},
            .layout = layout,
            .dtype = dtype,
            .label = scope_name("temporary")};
  return {add_slot(std::move(slot)), std::move(layout), dtype};
}

View Recorder::pinned(i64 bytes, Kind kind) {
  const View v = temporary({bytes}, DType::u8, cpu);
  slots_.back().pinned = kind;
  return v;
}

Step Recorder::make_step(std::string_view what, std::span<const View> reads,
                         const View& write) const {
  Step step;
  step.label = cat(scope_text(), what);
  step.device = device(write);
  step.listeners = listeners_;
  for (const Stream& s : compute_streams_)
    if (s.device() == step.device) step.stream = s;
  require<PlanError>(static_cast<int>(reads.size()) < max_operands, step.label, ": ", reads.size(),
                     " operands; a kernel takes at most ", max_operands - 1);
  step.bytes = view_bytes(write);
  for (const View& v : reads) {
    require<DeviceError>(device(v) == step.device, step.label, ": operands on ", device(v), " and ",
                         step.device,
                         "; move them with to(), or place the operator with to(device)");
    step.operands.push_back(access(v));
    step.bytes += view_bytes(v);
  }
  step.operands.push_back(access(write));
  return step;
}

void Recorder::add_launch(std::string_view kernel, Prepared prepared, std::span<const View> reads,
                          const View& write, Options options) {
  Step step = make_step(kernel, reads, write);
  step.updates = options.updates;
  step.reuse = options.reuse;
  if (prepared.workspace > 0) {
    Slot slot{.kind = SlotKind::temporary,
              .device = step.device,
              .bytes = prepared.workspace,
              .constant = {},
              .layout = {},
              .dtype = DType::u8,
              .label = step.label + " work area"};
    step.workspace = add_slot(std::move(slot));
  }
  step.prepared = std::move(prepared);
  push(std::move(step));
}

void Recorder::call(std::string_view what, decltype(HostCall::run) run, std::span<const View> reads,
                    const View& write) {
  Step step = make_step(what, reads, write);
  step.kind = Step::Kind::call;
  HostCall call{.run = std::move(run), .operands = {}};
  for (const View& v : reads) call.operands.push_back(operand_of(v));
  call.operands.push_back(operand_of(write));
  step.call = std::make_shared<const HostCall>(std::move(call));
  push(std::move(step));
}

void Recorder::compute_on(Device device, const std::optional<Stream>& stream) {
  std::erase_if(compute_streams_, [&](const Stream& s) { return s.device() == device; });
  if (stream) compute_streams_.push_back(*stream);
}

bool Recorder::starts_with(const RepeatedEvent& event) const {
  return std::find(starts_.begin(), starts_.end(), event) != starts_.end();
}

Recorder::Listening::Listening(Recorder& r, const std::optional<RepeatedEvent>& event)
    : recorder_(r), before_(r.listeners_.size()) {
  std::vector<RepeatedEvent>& all = r.listeners_;
  if (event && !r.starts_with(*event) && std::find(all.begin(), all.end(), *event) == all.end())
    all.push_back(*event);
}

void Recorder::starts(const RepeatedEvent& event) {
  if (!starts_with(event)) starts_.push_back(event);
}

Plan Recorder::finish() && { return Plan(std::move(*this)); }

namespace record {
namespace {

void elementwise(Recorder& r, ElementOp op, DType compute, std::span<const View> reads,
                 std::vector<ElementwiseSpec::Input> inputs, const View& y) {
  ElementwiseSpec spec;
  spec.op = op;
  spec.compute = compute;
  spec.out = operand_of(y);
  spec.inputs = std::move(inputs);
  int reuse = -1;
  for (std::size_t i = 0; i < reads.size(); ++i)
    if (y.layout.dense() && reads[i].layout.dense() && reads[i].shape() == y.shape() &&
        reads[i].dtype == y.dtype)
      reuse = static_cast<int>(i);
  r.launch(&KernelTable::elementwise, name(op), spec, reads, y, {.reuse = reuse});
}

ElementwiseSpec::Input broadcast(const View& v, const View& y) {
  return {{v.layout.broadcast_to(y.shape()), v.dtype}, std::nullopt};
}

void binary(Recorder& r, ElementOp op, const View& a, const View& b, const View& y) {
  const View reads[] = {a, b};
  elementwise(r, op, promote(a.dtype, b.dtype), reads, {broadcast(a, y), broadcast(b, y)}, y);
}

}  // namespace

void copy(Recorder& r, const View& x, const View& y) {
  if (r.device(x) == r.device(y)) {
    const View reads[] = {x};
    return elementwise(r, ElementOp::copy, y.dtype, reads, {broadcast(x, y)}, y);
  }
  cross(r, x, y);
}

void fill(Recorder& r, const Value& v, const View& y) {
  elementwise(r, ElementOp::copy, y.dtype, {}, {{{}, v}}, y);
}

void scale(Recorder& r, const Value& c, const View& x, const View& y) {
  const View reads[] = {x};
  elementwise(r, ElementOp::multiply, y.dtype, reads, {{{}, c}, broadcast(x, y)}, y);
}

void multiply(Recorder& r, const View& a, const View& b, const View& y) {
  binary(r, ElementOp::multiply, a, b, y);
}
void conj_multiply(Recorder& r, const View& a, const View& b, const View& y) {
  binary(r, ElementOp::conj_multiply, a, b, y);
}
void add(Recorder& r, const View& a, const View& b, const View& y) {
  binary(r, ElementOp::add, a, b, y);
}

void subtract(Recorder& r, const View& a, const View& b, const View& y) {
  const View reads[] = {a, b};
  elementwise(r, ElementOp::subtract, y.dtype, reads, {broadcast(a, y), broadcast(b, y)}, y);
}
void multiply_add(Recorder& r, const Value& c, const View& x, const View& a, const View& y) {
  const View reads[] = {x, a};
  elementwise(r, ElementOp::multiply_add, y.dtype, reads,
              {{{}, c}, broadcast(x, y), broadcast(a, y)}, y);
}

void sum(Recorder& r, const View& x, const View& y) {
  const ReduceSpec spec{.op = ReduceOp::sum, .in = operand_of(x), .in2 = {}, .out = operand_of(y)};
  const View reads[] = {x};
  r.launch(&KernelTable::reduce, "sum", spec, reads, y);
}

namespace {
void transform(Recorder& r, FftSpec spec, const View& x, const View& y) {
  spec.in = operand_of(x);
  spec.out = operand_of(y);
  const View reads[] = {x};
  r.launch(&KernelTable::fft, "fft", spec, reads, y, {.updates = spec.in_place});
}
}  // namespace

void fft(Recorder& r, const View& x, const View& y, const Shape& axes, int sign, double scale) {
  transform(r, {.in = {}, .out = {}, .axes = axes, .sign = sign, .scale = scale}, x, y);
}

void real_fft(Recorder& r, const View& x, const View& y, const Shape& axes, double scale) {
  const bool forward = !is_complex(x.dtype);
  transform(r,
            {.kind = forward ? FftKind::real_to_complex : FftKind::complex_to_real,
             .in = {},
             .out = {},
             .axes = axes,
             .sign = forward ? -1 : 1,
             .scale = scale},
            x, y);
}

void filter(Recorder& r, const View& x, const View& weight, const View& y, const Shape& axes,
            int sign, double scale) {
  FftSpec spec;
  spec.in = operand_of(x);
  spec.out = operand_of(y);
  spec.weight = Operand{weight.layout.broadcast_to(y.shape()), weight.dtype};
  spec.axes = axes;
  spec.sign = sign;
  spec.scale = scale;
  const View reads[] = {x, weight};
  r.launch(&KernelTable::fft, "filter", spec, reads, y);
}

void fft_in_place(Recorder& r, const View& y, const Shape& axes, int sign, double scale) {
  transform(r, {.in = {}, .out = {}, .axes = axes, .sign = sign, .scale = scale, .in_place = true},
            y, y);
}

void matmul(Recorder& r, const View& a, const View& b, const View& y, bool conj_a, bool conj_b) {
  MatmulSpec spec;
  spec.a = operand_of(a);
  spec.b = operand_of(b);
  spec.out = operand_of(y);
  spec.conj_a = conj_a;
  spec.conj_b = conj_b;
  const View reads[] = {a, b};
  r.launch(&KernelTable::matmul, "matmul", spec, reads, y);
}

void vdot(Recorder& r, const View& a, const View& b, const View& y) {
  ReduceSpec spec{
      .op = ReduceOp::vdot, .in = operand_of(a), .in2 = operand_of(b), .out = operand_of(y)};
  const View reads[] = {a, b};
  r.launch(&KernelTable::reduce, "vdot", spec, reads, y);
}

}  // namespace record
}  // namespace tessera
