// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a call on arrays on disk will read, write, hold and take, before it starts: its passes, with
// the figures that the plans of the same call have when they run.
//   StoredPlan p = StoredPlan::of([&] { matmul(a, b); });   p.disk().read;   p.explain();

#include <functional>

#include "tessera/streaming/plan/pass_figures.hpp"

namespace tessera::streaming {

class TESSERA_API StoredPlan {
 public:
  // Makes the call without its work (plan/planning.hpp). What it throws passes.
  static StoredPlan of(const std::function<void()>& call);

  const std::vector<PassFigures>& passes() const { return passes_; }
  i64 steps() const;
  Moved disk() const;
  Moved host() const;
  i64 host_peak() const;                        // of the pass that holds most
  i64 device_peak() const;                      // the same of other devices, that hold buffers
  i64 disk_peak() const { return disk_peak_; }  // of new files
  // By the costs of this machine, which are measured when they are first asked for.
  std::optional<double> seconds() const;
  std::string explain() const;

 private:
  std::vector<PassFigures> passes_;
  i64 disk_peak_ = 0;
};

}  // namespace tessera::streaming
