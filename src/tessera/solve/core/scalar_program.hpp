// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scalars of a solver: named cells on the device of its vectors, and arithmetic on them that is
// recorded into plans (kernels/scalars) instead of done. Reductions write cells, element-wise steps
// read them, the host looks at all of them at once when it wants to know.
//   DeviceScalar a = program.cell("alpha");  program.store(a, rr / curvature);  program.record(r);

#include <string>
#include <string_view>
#include <vector>

#include "tessera/plan/recorder.hpp"

namespace tessera {

class ScalarProgram;

// A number on the device, inside an expression that is being written.
struct DeviceScalar {
  ScalarProgram* program = nullptr;
  int at = 0;
};

class TESSERA_API ScalarProgram {
 public:
  // `vectors`: the dtype that element-wise steps compute in.
  ScalarProgram(Device device, DType vectors);
  ScalarProgram(const ScalarProgram&) = delete;
  ScalarProgram& operator=(const ScalarProgram&) = delete;

  DeviceScalar cell(std::string_view name,
                    double initial = 0);  // the one of that name, or a new one
  DeviceScalar constant(double v);

  // `to` gets the expression when the program that is being written runs.
  void store(DeviceScalar to, DeviceScalar expression);
  void store(DeviceScalar to, double v) { store(to, constant(v)); }
  DeviceScalar emit(ScalarOp op, DeviceScalar a, DeviceScalar b = {}, DeviceScalar c = {});
  // Ends the program: one step of the plan.
  void record(Recorder& r);

  // Where a reduction of an array of `rank` axes writes the cell, and where element-wise steps
  // read it (in the precision of the vectors).
  View target(Recorder& r, DeviceScalar c, i64 rank) const;
  View factor(Recorder& r, DeviceScalar c) const;

  // The host's copy of all cells: fetch() waits for the device; what upload() asks for is sent
  // once, before the next run of the engine or fetch(). Programs that were written since may have
  // constants of their own: upload_new() asks where there are some.
  void fetch();
  void upload() { unsent_ = true; }
  void upload_new() {
    if (sent_ < next_) upload();
  }
  void send();  // what upload() asked for
  double value(DeviceScalar c) const { return host_[static_cast<std::size_t>(c.at)]; }
  void set(DeviceScalar c, double v) { host_[static_cast<std::size_t>(c.at)] = v; }

  // The last measures that programs reported, see report(): a ring of this many.
  static constexpr int ring = 16;
  // Appends (measure, status) to the ring: part of the program being written.
  void report(DeviceScalar measure, DeviceScalar status);
  struct Report {
    double measure = 0;
    int status = 0;
  };
  Report reported(i64 iteration) const;  // of the host's copy; iterations count from 1

  const std::vector<double>& cells() const { return host_; }
  const Array& memory() const { return memory_; }  // of the cells, on the device
  i64 programs() const { return programs_; }       // so many were recorded so far
  // Named cells and reports as they were saved. Constants stay those of this program: a
  // file has no say in them.
  void restore(const std::vector<double>& saved);
  void restart() { host_ = initial_; }  // every cell as it was made, on the host
  // The next report is that of this iteration, counted from 0.
  void next_report(i64 iteration) { host_[0] = static_cast<double>(iteration % ring); }

 private:
  int fresh(double initial);

  Device device_;
  DType real_;
  Array memory_;   // as kernels/sweep has it: cells, their mirror, a counter
  Array staging_;  // the same between the host and a device that is elsewhere
  std::vector<double> host_, initial_;
  std::vector<std::pair<std::string, int>> names_;
  std::vector<std::pair<double, int>> constants_;
  std::vector<ScalarStep> code_;
  int next_ = 0, sent_ = 0;
  bool unsent_ = false;
  bool reads_staging_ = false;  // the device may still
  i64 programs_ = 0;
  // DeviceScalars of unnamed intermediate values: counted down from the end, free again after record().
  int scratch_begin_ = max_cells, scratch_next_ = max_cells;
};

inline DeviceScalar operator+(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::add, a, b);
}
inline DeviceScalar operator-(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::subtract, a, b);
}
inline DeviceScalar operator*(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::multiply, a, b);
}
inline DeviceScalar operator/(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::divide, a, b);
}
inline DeviceScalar operator+(DeviceScalar a, double b) { return a + a.program->constant(b); }
inline DeviceScalar operator-(DeviceScalar a, double b) { return a - a.program->constant(b); }
inline DeviceScalar operator*(DeviceScalar a, double b) { return a * a.program->constant(b); }
inline DeviceScalar operator/(DeviceScalar a, double b) { return a / a.program->constant(b); }
inline DeviceScalar operator*(double a, DeviceScalar b) { return b.program->constant(a) * b; }
inline DeviceScalar operator/(double a, DeviceScalar b) { return b.program->constant(a) / b; }
inline DeviceScalar operator-(double a, DeviceScalar b) { return b.program->constant(a) - b; }
inline DeviceScalar operator-(DeviceScalar a) { return 0.0 - a; }
inline DeviceScalar operator<(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::less, a, b);
}
inline DeviceScalar operator<=(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::less_equal, a, b);
}
inline DeviceScalar operator<=(DeviceScalar a, double b) { return a <= a.program->constant(b); }
inline DeviceScalar operator<(DeviceScalar a, double b) { return a < a.program->constant(b); }
inline DeviceScalar operator<(double a, DeviceScalar b) { return b.program->constant(a) < b; }
inline DeviceScalar operator&&(DeviceScalar a, DeviceScalar b) {
  return a * b;
}  // of conditions, which are 0 or 1
inline DeviceScalar operator!(DeviceScalar a) { return 1.0 - a; }
inline DeviceScalar root(DeviceScalar a) { return a.program->emit(ScalarOp::sqrt, a); }
inline DeviceScalar length(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::hypot, a, b);
}
inline DeviceScalar magnitude(DeviceScalar a) { return a.program->emit(ScalarOp::absolute, a); }
inline DeviceScalar larger(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::maximum, a, b);
}
inline DeviceScalar smaller(DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::minimum, a, b);
}
inline DeviceScalar finite(DeviceScalar a) { return a.program->emit(ScalarOp::finite, a); }
inline DeviceScalar choose(DeviceScalar condition, DeviceScalar a, DeviceScalar b) {
  return a.program->emit(ScalarOp::where, condition, a, b);
}
inline DeviceScalar choose(DeviceScalar condition, DeviceScalar a, double b) {
  return choose(condition, a, a.program->constant(b));
}
// 1/a, or 0 where a is 0: the scale of a vector that vanished.
inline DeviceScalar inverse(DeviceScalar a) { return choose(0.0 < magnitude(a), 1.0 / a, 0.0); }

}  // namespace tessera
