// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where work should run: a pure function of what the work costs and what the devices can do, with
// its reasons. No device is asked anything here, so invented machines test it.
//   Placement p = place(work, candidates);   p.device, p.reasons

#include <string>
#include <vector>

#include "tessera/device/device.hpp"

namespace tessera {

// What a recorded program does, whatever the device.
struct Work {
  double flops = 0;
  i64 bytes = 0;  // read and written by its steps
  i64 steps = 0;
  i64 input_bytes = 0;
  i64 output_bytes = 0;
  i64 workspace = 0;
  Device home;  // where input and output live
};

struct Candidate {
  Device device;
  double flops_per_second = 1e9;
  double bytes_per_second = 1e9;     // of its own memory
  double seconds_per_step = 0;       // launch overhead
  double to_bytes_per_second = 1e9;  // from the home device, and back
  double from_bytes_per_second = 1e9;
  double transfer_latency = 0;
  i64 free_bytes = 0;  // budget left; 0 = no limit
};

struct Placement {
  Device device;
  double seconds = 0;  // forecast
  i64 transferred_bytes = 0;
  std::vector<std::string> reasons;  // one sentence per candidate
};

// The candidate with the lowest forecast that fits; ties go to the first. OutOfMemory says what
// each lacks when none fits.
TESSERA_API Placement place(const Work& work, const std::vector<Candidate>& candidates);

}  // namespace tessera
