// SPDX-License-Identifier: Apache-2.0
#pragma once
// What happened: counters (always on, relaxed atomics) and an optional timeline in Chrome's trace
// format (off: one relaxed load per span). Not a profiler: spans are steps of plans, transfers,
// allocations.
//   Counters before = counters();   ...   { TraceFile trace("run.json"); run(); }

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera {

#define TESSERA_COUNTERS(COUNTER)                                                  \
  COUNTER(allocations)     /* raw requests that reached a device, not pool hits */ \
  COUNTER(pool_requests)   /* allocations asked of a pool, hits included */        \
  COUNTER(allocated_bytes) /* bytes of those raw requests */                       \
  COUNTER(copies)          /* transfers between devices, host included */          \
  COUNTER(bytes_host_to_device)                                                    \
  COUNTER(bytes_device_to_host)                                                    \
  COUNTER(bytes_device_to_device)                                                  \
  COUNTER(launches)       /* kernels started */                                    \
  COUNTER(graph_launches) /* captured segments replayed */                         \
  COUNTER(runs)           /* plans run */                                          \
  COUNTER(plans)          /* plans made */                                         \
  COUNTER(messages)       /* messages between ranks */                             \
  COUNTER(bytes_sent)     /* bytes between ranks */

enum class Counter : std::uint8_t {
#define TESSERA_ONE(name) name,
  TESSERA_COUNTERS(TESSERA_ONE)
#undef TESSERA_ONE
      last_
};
inline constexpr int counter_count = static_cast<int>(Counter::last_);

TESSERA_API void count(Counter c, i64 n = 1);
TESSERA_API i64 counter(Counter c);
TESSERA_API std::vector<std::pair<std::string, i64>> counters();
TESSERA_API void reset_counters();

// While one of these lives, spans are kept; the file is written when it is closed or destroyed
// (IoError on close; destruction never throws). Nested traces are refused with a PlanError.
class TESSERA_API TraceFile {
 public:
  explicit TraceFile(std::string path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  void close();

 private:
  std::string path_;
  bool open_ = true;
};

// A span on a track ("cpu", "sim:0 stream 1", …) of the running trace; nothing when no trace runs.
class TESSERA_API Span {
 public:
  Span(std::string_view name, std::string_view track) : Span(name, track, -1) {}
  Span(std::string_view name, std::string_view track, i64 bytes);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  i64 started_ = -1;  // nanoseconds; -1 = not traced
  i64 bytes_ = -1;
  std::string_view name_, track_;  // must outlive the span
};

TESSERA_API bool tracing();
// A span measured elsewhere (device timers): start and length in nanoseconds of the steady clock.
TESSERA_API void add_span(std::string_view name, std::string_view track, i64 start_ns,
                          i64 length_ns, i64 bytes = -1);

}  // namespace tessera
