// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Plan owns: shared by plan.cpp, run.cpp and explain.cpp only. Not part of the public face.

#include "tessera/plan/plan.hpp"

namespace tessera {

struct Plan::Impl {
  std::string name;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Lane> lanes;
  std::vector<std::string> notes;
  std::vector<ScopeNode> tree;
  ArenaSizes workspace;
  PinnedSizes pinned;
  i64 sum_of_temporaries = 0;
  std::vector<RepeatedEvent> starts;  // recorded when a run starts
  std::vector<int> inputs, outputs;   // slots, in the order of recording
};

}  // namespace tessera
