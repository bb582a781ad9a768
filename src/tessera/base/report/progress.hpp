// SPDX-License-Identifier: Apache-2.0
#pragma once
// A progress bar on stderr for long work: redrawn in place on a terminal at most ten times a
// second, one line at the end elsewhere; silent when config().progress is off. One hook for the
// process may show bars in another way: notebooks have bars of their own.
//   Progress bar("cg", 30);   bar.update(7, "residual 1e-3");   // ends with its scope

#include <chrono>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera {

struct ProgressState {
  const void* bar;  // of several at a time
  std::string_view name, note;
  i64 done, total;
  bool ended;
};
using ProgressHook = bool (*)(const ProgressState&) noexcept;  // whether it showed the bar

TESSERA_API void set_progress_hook(ProgressHook hook);  // null: bars on stderr

class TESSERA_API Progress {
 public:
  Progress(std::string name, i64 total, bool enabled = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  static bool on_terminal();  // whether stderr is one
  void update(i64 done, std::string_view note = {});

 private:
  void draw(bool ended);
  using Clock = std::chrono::steady_clock;
  std::string name_, note_;
  i64 total_, done_ = 0;
  bool enabled_, terminal_;
  Clock::time_point started_, drawn_;
};

}  // namespace tessera
