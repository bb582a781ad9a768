// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which device an operation should run on: the one that is done first, what must be moved there
// included, with a sentence for each device that was considered. Pure: costs, links and free memory
// are given, so invented machines test it. Moves nothing; results stay where they are computed.
//   Choice c = choose({Operation::matmul, DType::f32, n, n, n}, operands, n * n * 4, machine);

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/compute/cost_model.hpp"
#include "tessera/device/topology.hpp"

namespace tessera {

// An operand and the devices that hold a copy of it now.
struct Held {
  i64 bytes = 0;
  std::vector<Device> at;
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

struct Rules {
  std::optional<Device> forced = {};
  i64 gpu_threshold_elements = 0;  // results with fewer elements stay on the host; 0: no such rule
};

struct TESSERA_API Choice {
  Device device;
  double compute_seconds = 0;
  double transfer_seconds = 0;
  i64 transferred_bytes = 0;
  std::vector<std::string> reasons;  // the chosen device first
  std::string str() const;           // the reasons, one a line
};

// OutOfMemory where no device has room; DeviceError where the forced one is not offered, is closed
// or cannot do it.
TESSERA_API Choice choose(const Workload& problem, std::span<const Held> operands, i64 result_bytes,
                          const Candidates& machine, const Rules& rules = {});

}  // namespace tessera
