// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events of an operator, held by it and by all that share it: the one that is recorded when its
// applications start, made when somebody asks for it, and the one that it waits for, which may be
// set at any time. People ask NamedLinop::start_event() and input_listener().
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
  explicit StartEvent(std::optional<RepeatedEvent> given) : event_(std::move(given)) {}
  RepeatedEvent event() {
    std::lock_guard lock(mutex_);
    if (!event_) {
      event_.emplace();
      changes_.fetch_add(1);
    }
    return *event_;
  }
  std::optional<RepeatedEvent> asked() const {
    std::lock_guard lock(mutex_);
    return event_;
  }

  std::optional<RepeatedEvent> listener() const {
    if (!ever_listened()) return std::nullopt;
    std::lock_guard lock(mutex_);
    return listener_;
  }
  void listen_to(std::optional<RepeatedEvent> event) {
    std::lock_guard lock(mutex_);
    if (event) ever_listened_.store(true);
    listener_ = std::move(event);
    changes_.fetch_add(1);
  }
  // Some operator of the process has listened: without, nobody looks for listeners.
  static bool ever_listened() { return ever_listened_.load(); }

  // A number that grows when an event is made or a listener set: plans of earlier numbers may not
  // know all of them.
  static std::uint64_t changes() { return changes_.load(); }

 private:
  inline static std::atomic<std::uint64_t> changes_{0};
  inline static std::atomic<bool> ever_listened_{false};
  mutable std::mutex mutex_;
  std::optional<RepeatedEvent> event_, listener_;
};

}  // namespace tessera
