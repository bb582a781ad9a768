// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/log.hpp"

#include <atomic>
#include <cstdio>

namespace tessera {
namespace {
constinit std::atomic<LogHook> log_hook{nullptr};
}

void set_log_hook(LogHook hook) { log_hook.store(hook); }

void log_line(const std::string& text) {
  const LogHook hook = log_hook.load();
  if (hook == nullptr || !hook(text)) std::fputs(("tessera: " + text + "\n").c_str(), stderr);
}

}  // namespace tessera
