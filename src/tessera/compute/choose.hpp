// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one rule by which a device is chosen, for operations on arrays and matrices (auto_solver.hpp)
// and for whole plans (linop/core/plan_linop.cpp): the device that is done first, what must be moved
// there included, with a sentence for each one that was considered. Pure: others say what a device
// would take.
//   Choice c = choose("matmul", {{cpu, 1e-3}, {gpu, 1e-5, 2e-4, 1 << 20}});

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/device/device.hpp"

namespace tessera {

// What a device would take, or why it is out of the question.
struct TESSERA_API Considered {
  Device device;
  std::optional<double> compute_seconds{};  // nothing: not measured
  double transfer_seconds = 0;
  i64 transferred_bytes = 0;
  std::string refused{};  // "": it could be taken
  bool lacks_memory = false;
  double seconds() const { return compute_seconds.value_or(0) + transfer_seconds; }
  std::string str() const;
};

struct TESSERA_API Choice {
  Device device;
  double compute_seconds = 0;  // 0 where it was not measured
  double transfer_seconds = 0;
  i64 transferred_bytes = 0;
  bool stays = false;  // another device would gain too little to move data for it (worth_moving)
  std::vector<Considered> considered;  // the chosen device first
  std::string str() const;             // why, one line for each of them
};

// Data are not moved for less than this: a device that has all operands is left only for one that
// is done in that share of its time, or less. So a choice is never worse than 1 / 0.95 of the best
// forecast, and data do not go to and fro between devices that are as good as each other.
inline constexpr double worth_moving = 0.95;

// OutOfMemory where no device has room, DeviceError where none may be used otherwise; `who` is whom
// the error names. Of equal ones the first is taken.
TESSERA_API Choice choose(std::string_view who, std::vector<Considered> considered);
// The only one that was considered, whatever it takes.
TESSERA_API Choice only_choice(Considered considered);

}  // namespace tessera
