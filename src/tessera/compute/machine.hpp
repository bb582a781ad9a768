// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the steps of a plan take on the devices of a machine, from the links between them: what is
// recorded there is of every kind, so memory and arithmetic stand for it, where operations on
// arrays and matrices have measured curves (cost_model.hpp). No device is asked anything, so
// invented machines test it.
//   Machine m = Machine::measured();   m.seconds(device, {.flops = 1e9, .bytes = 1 << 20})

#include "tessera/device/topology.hpp"

namespace tessera {

// What recorded steps do, whatever the device.
struct Work {
  double flops = 0;
  i64 bytes = 0;  // read and written
  i64 steps = 1;
};

struct TESSERA_API Machine {
  Topology links;

  // From the link of the device with itself: arithmetic is counted at ten operations per byte.
  double seconds(Device device, const Work& work) const;
  static Machine measured() { return {topology()}; }
};

}  // namespace tessera
