// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles and devices chosen for an operator so that every device stays within a number of bytes: the
// fastest way by forecast among those that fit. Nothing is moved while it looks; what it returns is
// placed, and its forecast of bytes is exact.
//   Fitted f = fit(A, {.shape = {64, 64}, .dtype = DType::c64, .budget = {{gpu, 2 << 30}}});
//   NamedLinop B = f;   B(x);   f.explain()

#include <string>
#include <utility>
#include <vector>

#include "tessera/linop/containers/wrapper.hpp"
#include "tessera/plan/forecast.hpp"
#include "tessera/split/batch_spec.hpp"

namespace tessera {

struct FitOptions {
  Shape shape;               // of the input
  DType dtype = DType::c64;  // of the input
  Device device = cpu;       // where input and output live
  // Bytes that the operator may hold on a device: its arrays, what a run needs, and on `device` the
  // input and the output. A device without an entry has no limit.
  std::vector<std::pair<Device, i64>> budget;
  std::vector<Device> devices{};  // that compute; empty: those of the budget
};

struct DeviceBytes {
  Device device;
  i64 arrays = 0;     // of the operator
  i64 workspace = 0;  // of a run, with the constants that its plan forms
  i64 data = 0;       // input and output, where they live
  i64 budget = 0;     // 0 = no limit
  i64 total() const { return arrays + workspace + data; }
  auto state() const { return std::tuple(device, arrays, workspace, data, budget); }
  static DeviceBytes from_state(Device d, i64 arrays, i64 workspace, i64 data, i64 budget) {
    return {d, arrays, workspace, data, budget};
  }
};

struct FitForecast {
  std::vector<DeviceBytes> memory;  // each device that is used
  std::vector<LinkBytes> transfers;
  double seconds = 0;
  auto state() const { return std::tuple(memory, transfers, seconds); }
  static FitForecast from_state(std::vector<DeviceBytes> memory, std::vector<LinkBytes> transfers,
                                double seconds) {
    return {std::move(memory), std::move(transfers), seconds};
  }
};

// The operator that fits, what it takes, and why it was chosen. An operator itself.
struct TESSERA_API Fitted : StandIn {
  std::vector<BatchSpec> specs{};  // empty: the operator as it was
  FitForecast forecast{};
  std::vector<std::string> reasons{};  // one sentence for each way that was looked at

  static constexpr const char* kind = "Fitted";
  auto state() const { return std::tuple(a, specs, forecast, reasons); }
  static Fitted from_state(NamedLinop of, std::vector<BatchSpec> specs, FitForecast forecast,
                           std::vector<std::string> reasons) {
    return {std::move(of), std::move(specs), std::move(forecast), std::move(reasons)};
  }
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x,
                 const View& y) const = delete;  // apply() notes reasons
  std::string details() const;
  std::string explain() const;  // bytes, transfers, time, reasons
};

// OutOfMemory when nothing fits: which array, how much it takes, and the smallest budget that would
// do, of all ways with tiles few enough to plan. SplitError for an operator that says itself which
// devices it runs on and is given others.
TESSERA_API Fitted fit(const NamedLinop& a, const FitOptions& options);

}  // namespace tessera
