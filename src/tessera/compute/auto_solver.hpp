// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which device an operation should run on: the one that is done first, what must be moved there
// included, with a sentence for each device that was considered. Where costs are not known, data
// stay where they are. Pure: costs, links and free memory are given, so invented machines test it.
// Moves nothing; results stay where they are computed.
//   AutoSolver solver{machine};
//   Choice c = solver.select_device({Operation::matmul, DType::f32, n, n, n}, operands, n * n * 4);

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/compute/choose.hpp"
#include "tessera/compute/cost_model.hpp"
#include "tessera/device/topology.hpp"

namespace tessera {

// An operand and the devices that hold a copy of it now.
struct Residency {
  i64 bytes = 0;
  std::vector<Device> at;
  bool pinned = false;  // its copy on the host
};

struct DeviceOffer {
  Device device;
  std::optional<i64> free_bytes;  // nothing: no limit is known
  std::string closed;             // why it may not be used now; "": it may
};

struct Candidates {
  const CostModel& costs;
  const Topology& links;
  std::vector<DeviceOffer> offers;  // the host first
};

// What accelerators are for. Nothing is ever converted for it: work of another precision is not
// brought to them, and what already lies there is computed there as it is.
enum class PrecisionMode : std::uint8_t { automatic, force_float32, force_float64 };

struct Rules {
  std::optional<Device> forced = {};
  i64 gpu_threshold_elements = 0;  // smaller results are not brought there; 0: no such rule
  PrecisionMode precision = PrecisionMode::automatic;
};

// Picks among the devices that are offered.
struct TESSERA_API AutoSolver {
  Candidates machine;
  Rules rules = {};

  // OutOfMemory where no device has room; DeviceError where the forced one is not offered, is
  // closed or cannot do it.
  Choice select_device(const Workload& problem, std::span<const Residency> operands,
                       i64 result_bytes) const;
};

// Devices outside `usable` on which an operand lies and nowhere else: such data stay, so one of
// these is where they are computed.
TESSERA_API std::vector<Device> bound_to(std::span<const Residency> operands,
                                         std::span<const Device> usable);

}  // namespace tessera
