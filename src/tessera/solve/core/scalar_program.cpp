// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/scalar_program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/device/stream.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

constexpr i64 cell_bytes = mirror_offset, sent_bytes = counter_offset;

// All of it is one array, so that plans see that a program writes the mirror too.
Array memory_of_cells(const Storage& memory) {
  const Array cells(memory,
                    Layout::contiguous({cell_memory_bytes / static_cast<i64>(sizeof(double))}),
                    DType::f64);
  cells.fill(Value(0));
  return cells;
}

// Between the host and a device that is elsewhere: page-locked, where there is room for that.
Array staging_for(Device device) {
  if (device.kind == Kind::cpu) return {};
  try {
    return memory_of_cells(Storage::pinned(device.kind, cell_memory_bytes));
  } catch (const OutOfMemory&) {
    return memory_of_cells(Storage::allocate(cpu, cell_memory_bytes));
  }
}

// A value that only becomes a cell is computed there: no copy, a third fewer steps.
std::vector<ScalarStep> without_copies(const std::vector<ScalarStep>& code, int scratch_begin) {
  std::vector<ScalarStep> kept;
  for (auto s = code.begin(); s != code.end(); ++s) {
    const std::uint8_t from = s->a;
    const bool moves = s->op == ScalarOp::copy && from >= scratch_begin && !kept.empty() &&
                       kept.back().op != ScalarOp::put && kept.back().to == from &&
                       std::none_of(s + 1, code.end(), [&](const ScalarStep& later) {
                         return later.a == from || later.b == from || later.c == from;
                       });
    if (moves)
      kept.back().to = s->to;
    else
      kept.push_back(*s);
  }
  return kept;
}

}  // namespace

ScalarProgram::ScalarProgram(Device device, DType vectors)
    : device_(device),
      real_(real_of(vectors)),
      memory_(memory_of_cells(Storage::allocate(device, cell_memory_bytes))),
      staging_(staging_for(device)),
      host_(max_cells, 0.0),
      initial_(max_cells, 0.0) {
  require<DTypeError>(real_ == DType::f32 || real_ == DType::f64, "solvers work in float32, ",
                      "float64, complex64 and complex128; got ", vectors,
                      ": convert the arrays with astype() first");
  // DeviceScalar 0 counts the reports; their ring follows.
  for (int i = 0; i < 1 + 2 * ring; ++i) fresh(0);
}

int ScalarProgram::fresh(double initial) {
  require<PlanError>(next_ < scratch_begin_, "a solver uses more than ", max_cells, " scalars");
  host_[static_cast<std::size_t>(next_)] = initial_[static_cast<std::size_t>(next_)] = initial;
  return next_++;
}

DeviceScalar ScalarProgram::cell(std::string_view name, double initial) {
  for (const auto& [known, at] : names_)
    if (known == name) return {this, at};
  names_.emplace_back(std::string(name), fresh(initial));
  return {this, names_.back().second};
}

DeviceScalar ScalarProgram::constant(double v) {
  for (const auto& [known, at] : constants_)
    if (std::bit_cast<std::uint64_t>(known) == std::bit_cast<std::uint64_t>(v)) return {this, at};
  constants_.emplace_back(v, fresh(v));
  return {this, constants_.back().second};
}

DeviceScalar ScalarProgram::emit(ScalarOp op, DeviceScalar a, DeviceScalar b, DeviceScalar c) {
  require<PlanError>(scratch_next_ - 1 >= next_, "a solver uses more than ", max_cells, " scalars");
  const int to = --scratch_next_;
  scratch_begin_ = std::min(scratch_begin_, scratch_next_);
  code_.push_back({op, static_cast<std::uint8_t>(to), static_cast<std::uint8_t>(a.at),
                   static_cast<std::uint8_t>(b.at), static_cast<std::uint8_t>(c.at)});
  return {this, to};
}

void ScalarProgram::store(DeviceScalar to, DeviceScalar e) {
  code_.push_back(
      {ScalarOp::copy, static_cast<std::uint8_t>(to.at), static_cast<std::uint8_t>(e.at), 0, 0});
}

void ScalarProgram::report(DeviceScalar measure, DeviceScalar status) {
  const DeviceScalar count{this, 0};
  code_.push_back({ScalarOp::put, 1, 0, static_cast<std::uint8_t>(measure.at), 0});
  code_.push_back({ScalarOp::put, 1 + ring, 0, static_cast<std::uint8_t>(status.at), 0});
  const DeviceScalar more = count + 1.0;
  store(count, choose(more < double(ring), more, 0.0));
}

ScalarProgram::Report ScalarProgram::reported(i64 iteration) const {
  const auto i = static_cast<std::size_t>((iteration - 1) % ring);
  return {host_[1 + i], static_cast<int>(host_[1 + ring + i])};
}

void ScalarProgram::restore(const std::vector<double>& saved) {
  const auto is_constant = [&](int at) {
    return std::any_of(constants_.begin(), constants_.end(),
                       [&](const auto& known) { return known.second == at; });
  };
  for (int at = 0; at < next_; ++at)
    if (!is_constant(at)) host_[static_cast<std::size_t>(at)] = saved[static_cast<std::size_t>(at)];
}

void ScalarProgram::record(Recorder& r) {
  ScalarsSpec spec;
  spec.code = without_copies(code_, scratch_begin_);
  spec.mirror = real_;
  code_.clear();
  scratch_next_ = max_cells;
  ++programs_;
  r.launch(&KernelTable::scalars, "scalars", spec, {}, r.constant(memory_), {.updates = true});
  r.may_join({.program = std::move(spec)});
}

View ScalarProgram::target(Recorder& r, DeviceScalar c, i64 rank) const {
  View v = r.constant(memory_);
  v.layout = Layout::contiguous(Shape(rank, 1));
  v.layout.offset = c.at;
  return v;
}

View ScalarProgram::factor(Recorder& r, DeviceScalar c) const {
  View v = r.constant(memory_);
  v.layout = Layout::contiguous({});
  v.dtype = real_;
  v.layout.offset = real_ == DType::f64 ? c.at : 2 * max_cells + c.at;
  return v;
}

void ScalarProgram::fetch() {
  send();
  const Stream stream = Stream::home(device_);
  if (staging_) stream.copy(staging_.data(), cpu, memory_.data(), device_, cell_bytes);
  stream.sync();
  reads_staging_ = false;
  std::memcpy(host_.data(), (staging_ ? staging_ : memory_).data(),
              static_cast<std::size_t>(cell_bytes));
}

void ScalarProgram::send() {
  if (!unsent_) return;
  const Stream stream = Stream::home(device_);
  if (!staging_ || reads_staging_) stream.sync();
  auto* cells = static_cast<double*>((staging_ ? staging_ : memory_).data());
  std::memcpy(cells, host_.data(), static_cast<std::size_t>(cell_bytes));
  auto* mirror = reinterpret_cast<float*>(cells + max_cells);
  for (std::size_t i = 0; i < max_cells; ++i) mirror[i] = static_cast<float>(host_[i]);
  if (staging_) stream.copy(memory_.data(), device_, staging_.data(), cpu, sent_bytes);
  reads_staging_ = static_cast<bool>(staging_);
  unsent_ = false;
  sent_ = next_;
}

}  // namespace tessera
