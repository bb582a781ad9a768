// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pass over stores moves, holds and takes, as numbers and as text. A StreamPlan keeps them as
// its steps are added: what is printed is what will be run.
//   PassFigures f = plan_copy(from, to).figures();   f.disk.read;   f.explain();

#include <string>
#include <vector>

#include "tessera/compute/cost_model.hpp"
#include "tessera/compute/disk_rate.hpp"

namespace tessera::streaming {

// "1 byte", "2048 bytes"; "2048 bytes (2.00 KiB)".
TESSERA_API std::string exact_bytes(i64 bytes);
TESSERA_API std::string exact_and_short_bytes(i64 bytes);

// Bytes of one tier.
struct Moved {
  i64 read = 0, written = 0;
};

struct StoreFigures {
  std::string role, description;
  bool on_disk = false;  // else in host memory, or made when it is asked for
  Moved wanted;          // the numbers of the boxes
  i64 read = 0;          // from where they are, with what lies between and is read along
};

struct TESSERA_API PassFigures {
  std::string title;
  std::vector<StoreFigures> stores;
  std::vector<std::string> notes;
  std::vector<Workload> work;  // what is computed meanwhile
  i64 steps = 0, transfers = 0;
  Device device = cpu;         // where it is computed
  i64 held = 0, budget = 0;    // of that device's memory; no budget: 0
  i64 pinned = 0, beside = 0;  // of host memory: on the way to another device, and held beside it
  i64 held_by_host() const { return device == cpu ? held : pinned + beside; }

  Moved wanted() const;  // of all stores
  Moved disk() const;    // of those on disk, with what is read along
  Moved host() const;    // of those that are not
  // Computing and moving overlap, but for the first step. Nothing where the costs say nothing.
  std::optional<double> seconds(const CostModel& costs, const std::optional<DiskRate>& rate) const;
  // What is read, written and held, store by store.
  std::string explain() const;
};

}  // namespace tessera::streaming
