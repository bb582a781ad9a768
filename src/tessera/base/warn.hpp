// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a user should hear without being stopped: a device that failed, precision that was given up,
// integers that may not fit. One hook for the process; Python's turns them into its warnings, and
// without a hook they are lines on stderr. Not for errors, and not for progress.
//   warn_once(WarningKind::precision, "matmul", "matmul: float64 with float32 gives float32");

#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera {

enum class WarningKind : std::uint8_t { device, precision, overflow_risk };

// May throw: then so does warn, to the caller of what is warned about.
using WarningHook = void (*)(WarningKind kind, const std::string& text);

TESSERA_API void set_warning_hook(WarningHook hook);  // null: lines on stderr
TESSERA_API void warn(WarningKind kind, const std::string& text);
// Said once for each kind and key, until forget_warnings(). Cheap when it was said.
TESSERA_API void warn_once(WarningKind kind, std::string_view key, const std::string& text);
TESSERA_API bool was_warned(WarningKind kind, std::string_view key);
TESSERA_API void forget_warnings();

}  // namespace tessera
