// SPDX-License-Identifier: Apache-2.0
#pragma once
// The event that is recorded when applications of an operator start: made when somebody asks for
// it, held by the operator and by all that share it. People ask NamedLinop::start_event().
//   auto start = std::make_shared<StartEvent>();   A's and A.H's;   RepeatedEvent e =
//   start->event();

#include <atomic>
#include <mutex>
#include <optional>

#include "tessera/device/stream.hpp"

namespace tessera {

class StartEvent {
 public:
  StartEvent() = default;
  explicit StartEvent(RepeatedEvent given) : event_(std::move(given)) {}
  RepeatedEvent event() {
    std::lock_guard lock(mutex_);
    if (!event_) {
      event_.emplace();
      made_.fetch_add(1);
    }
    return *event_;
  }
  std::optional<RepeatedEvent> asked() const {
    std::lock_guard lock(mutex_);
    return event_;
  }
  // A number that grows when an event is made: plans of earlier numbers may not know all of them.
  static std::uint64_t made() { return made_.load(); }

 private:
  inline static std::atomic<std::uint64_t> made_{0};
  mutable std::mutex mutex_;
  std::optional<RepeatedEvent> event_;
};

}  // namespace tessera
