// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/trace.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tessera/base/error.hpp"
#include "tessera/base/text_file.hpp"

namespace tessera {
namespace {

std::array<std::atomic<i64>, counter_count> table{};

struct Record {
  std::string name, track;
  i64 start, length, bytes;
};
struct Timeline {
  std::mutex mutex;
  std::atomic<bool> on{false};
  std::vector<Record> records;
};
Timeline& timeline() {
  static Timeline* t = new Timeline;  // leaked: streams may end spans during exit
  return *t;
}
i64 now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void count(Counter c, i64 n) {
  table[static_cast<std::size_t>(c)].fetch_add(n, std::memory_order_relaxed);
}
i64 counter(Counter c) {
  return table[static_cast<std::size_t>(c)].load(std::memory_order_relaxed);
}

std::vector<std::pair<std::string, i64>> counters() {
  return {
#define TESSERA_ONE(name) {#name, counter(Counter::name)},
      TESSERA_COUNTERS(TESSERA_ONE)
#undef TESSERA_ONE
  };
}

void reset_counters() {
  for (auto& c : table) c.store(0, std::memory_order_relaxed);
}

bool tracing() { return timeline().on.load(std::memory_order_relaxed); }

void add_span(std::string_view name, std::string_view track, i64 start_ns, i64 length_ns,
              i64 bytes) {
  Timeline& t = timeline();
  std::lock_guard lock(t.mutex);
  if (t.on)
    t.records.push_back({std::string(name), std::string(track), start_ns, length_ns, bytes});
}

Span::Span(std::string_view name, std::string_view track, i64 bytes) {
  if (!tracing()) return;
  started_ = now_ns();
  bytes_ = bytes;
  name_ = name;
  track_ = track;
}
Span::~Span() {
  if (started_ >= 0) add_span(name_, track_, started_, now_ns() - started_, bytes_);
}

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  // Opened now: a path that cannot be written fails before the work, not after it.
  std::FILE* file = open_to_write(path_);
  require<IoError>(file != nullptr, "trace: cannot write '", path_, "'");
  std::fclose(file);
  Timeline& t = timeline();
  std::lock_guard lock(t.mutex);
  require<PlanError>(!t.on, "trace: another trace is running; close it before '", path_, "'");
  t.records.clear();
  t.on = true;
}

TraceFile::~TraceFile() {
  try {
    close();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

void TraceFile::close() {
  if (!open_) return;
  open_ = false;
  std::vector<Record> records;
  {
    Timeline& t = timeline();
    std::lock_guard lock(t.mutex);
    t.on = false;
    records.swap(t.records);
  }
  std::map<std::string, int> tracks;
  nlohmann::json events = nlohmann::json::array();
  for (const Record& r : records) {
    auto [it, fresh] = tracks.emplace(r.track, static_cast<int>(tracks.size()) + 1);
    if (fresh)
      events.push_back({{"ph", "M"},
                        {"pid", 1},
                        {"tid", it->second},
                        {"name", "thread_name"},
                        {"args", {{"name", r.track}}}});
    nlohmann::json event = {{"ph", "X"},
                            {"pid", 1},
                            {"tid", it->second},
                            {"name", r.name},
                            {"ts", static_cast<double>(r.start) / 1e3},
                            {"dur", static_cast<double>(r.length) / 1e3}};
    if (r.bytes >= 0) event["args"] = {{"bytes", r.bytes}};
    events.push_back(std::move(event));
  }
  const std::string text =
      nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump();
  std::FILE* file = open_to_write(path_);
  require<IoError>(file != nullptr, "trace: cannot write '", path_, "'");
  const bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  require<IoError>(std::fclose(file) == 0 && ok, "trace: could not write all of '", path_, "'");
}

}  // namespace tessera
