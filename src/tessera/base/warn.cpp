// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/warn.hpp"

#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace tessera {
namespace {

constinit std::atomic<WarningHook> hook_of_process{nullptr};

struct Said {
  std::mutex mutex;
  std::set<std::pair<WarningKind, std::string>, std::less<>> what;
};
Said& said() {
  static auto* one = new Said;  // never destroyed: warnings may come from threads that outlive main
  return *one;
}

}  // namespace

void set_warning_hook(WarningHook hook) { hook_of_process.store(hook); }

void warn(WarningKind kind, const std::string& text) {
  if (const WarningHook hook = hook_of_process.load())
    hook(kind, text);
  else
    std::fprintf(stderr, "tessera: %s\n", text.c_str());
}

bool was_warned(WarningKind kind, std::string_view key) {
  Said& s = said();
  const std::lock_guard lock(s.mutex);
  return s.what.contains(std::pair(kind, std::string(key)));
}

void warn_once(WarningKind kind, std::string_view key, const std::string& text) {
  {
    Said& s = said();
    const std::lock_guard lock(s.mutex);
    if (!s.what.emplace(kind, key).second) return;
  }
  warn(kind, text);
}

void forget_warnings() {
  Said& s = said();
  const std::lock_guard lock(s.mutex);
  s.what.clear();
}

}  // namespace tessera
