// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines that a user asked to see while something runs, such as those of log_device_transfers: one
// hook for the process, which hands them to a program's own log, else stderr. Not for warnings.
//   log_line("matmul moves 4 KiB from cpu to sim:0");

#include <string>

#include "tessera/base/api.hpp"

namespace tessera {

using LogHook = bool (*)(const std::string& text) noexcept;  // whether it took the line

TESSERA_API void set_log_hook(LogHook hook);  // null: lines on stderr
TESSERA_API void log_line(const std::string& text);

}  // namespace tessera
