// SPDX-License-Identifier: Apache-2.0
// Finds the last run of a plan in a trace. Spans carry labels, not step numbers: the step of a span
// is found by the device of its stream, its label and, of a transfer, its bytes; steps that agree
// in these are told apart by their order. The last n spans of n such steps belong to the last run.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/text_file.hpp"
#include "tessera/plan/explain/explain.hpp"

namespace tessera::explain {
namespace {

constexpr std::string_view runs_track = "runs", disk_track = "disk";

struct Timeline {
  std::vector<std::string> tracks;
  std::vector<TracedSpan> spans;
};

Timeline read_spans(const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  require<IoError>(text.has_value(), "explain: cannot read the trace '", path, "'");
  const nlohmann::json whole = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json* events =
      whole.is_object() && whole.contains("traceEvents") ? &whole["traceEvents"] : &whole;
  require<IoError>(events->is_array(), "explain: '", path,
                   "' is no trace; ts.trace or TraceFile writes one");
  Timeline t;
  std::map<i64, int> track_of;  // by thread id
  try {
    for (const auto& e : *events) {
      const std::string kind = e.value("ph", "");
      if (kind == "M" && e.value("name", "") == "thread_name") {
        track_of[e.value("tid", i64{0})] = static_cast<int>(t.tracks.size());
        t.tracks.push_back(e.at("args").value("name", ""));
      }
    }
    for (const auto& e : *events) {
      if (e.value("ph", "") != "X") continue;
      TracedSpan s{.name = e.value("name", ""),
                   .track = -1,
                   .start = e.value("ts", 0.0),
                   .length = std::max(0.0, e.value("dur", 0.0))};
      if (e.contains("args")) s.bytes = e["args"].value("bytes", i64{-1});
      const auto track = track_of.find(e.value("tid", i64{0}));
      if (track == track_of.end()) continue;
      s.track = track->second;
      t.spans.push_back(std::move(s));
    }
  } catch (const nlohmann::json::exception&) {
    throw IoError(cat("explain: '", path, "' is no trace; ts.trace or TraceFile writes one"));
  }
  std::stable_sort(t.spans.begin(), t.spans.end(),
                   [](const TracedSpan& a, const TracedSpan& b) { return a.start < b.start; });
  return t;
}

// What a span of the step is known by. Tracks are "cpu", "call" or "sim:0 stream 3".
std::string key_of(const Plan::Impl& p, const Step& s) {
  if (s.kind == Step::Kind::call) return cat("call\n", s.label);
  const std::string device = p.lanes[static_cast<std::size_t>(s.lane)].device.str();
  return s.kind == Step::Kind::launch ? cat(device, "\n", s.label)
                                      : cat(device, "\n", s.label, "\n", s.bytes);
}
std::vector<std::string> keys_of(const Timeline& t, const TracedSpan& s) {
  const std::string& track = t.tracks[static_cast<std::size_t>(s.track)];
  const std::string key = cat(track.substr(0, track.find(' ')), "\n", s.name);
  return {key, cat(key, "\n", s.bytes)};
}

void assign_steps(const Plan::Impl& p, Timeline& t, double begin) {
  std::map<std::string, std::vector<int>> steps;
  for (std::size_t i = 0; i < p.steps.size(); ++i)
    steps[key_of(p, p.steps[i])].push_back(static_cast<int>(i));
  for (auto s = t.spans.rbegin(); s != t.spans.rend(); ++s) {
    if (s->start < begin || t.tracks[static_cast<std::size_t>(s->track)] == runs_track) continue;
    for (const std::string& key : keys_of(t, *s)) {
      const auto open = steps.find(key);
      if (s->step >= 0 || open == steps.end() || open->second.empty()) continue;
      s->step = open->second.back();
      open->second.pop_back();
    }
  }
}

// The track of a span as the page has it, after its place among the others: what a disk gives and what
// it takes lie on either side of the streams between them.
std::pair<int, std::string> shown_track(const std::string& track, const TracedSpan& s) {
  if (track == runs_track) return {0, track};
  if (track != disk_track) return {2, track};
  const bool reads = s.name == "io.read" || s.name == "io.prefetch";
  return reads ? std::pair(1, std::string("disk -> host"))
               : std::pair(3, std::string("host -> disk"));
}

// Tracks that nothing is on are left out; the host's runs come first, then what is read from disks, cpu
// and devices, and what is written to disks.
void keep_used_tracks(TracedRun& run, const std::vector<std::string>& tracks) {
  std::map<std::pair<int, std::string>, std::vector<TracedSpan*>> used;
  for (TracedSpan& s : run.spans)
    used[shown_track(tracks[static_cast<std::size_t>(s.track)], s)].push_back(&s);
  for (const auto& [order, spans] : used) {
    for (TracedSpan* s : spans) s->track = static_cast<int>(run.tracks.size());
    run.tracks.push_back(order.second);
  }
}

}  // namespace

TracedRun read_traced_run(const std::string& path, const Plan::Impl& plan) {
  Timeline t = read_spans(path);
  TracedRun run;
  run.step_time.assign(plan.steps.size(), -1);
  double begin = 0, end = 0;
  for (const TracedSpan& s : t.spans) {
    if (t.tracks[static_cast<std::size_t>(s.track)] != runs_track || s.name != plan.name) continue;
    ++run.runs;
    begin = s.start;
    end = s.start + s.length;
  }
  if (run.runs == 0) return run;
  assign_steps(plan, t, begin);
  for (const TracedSpan& s : t.spans) {
    if (s.step < 0) continue;
    end = std::max(end, s.start + s.length);
    run.step_time[static_cast<std::size_t>(s.step)] = s.length;
  }
  run.length = end - begin;
  std::size_t others = 0;
  for (TracedSpan& s : t.spans) {
    if (s.start + s.length < begin || s.start > end) continue;
    if (s.step < 0 && ++others > most_spans) continue;
    s.start -= begin;
    run.spans.push_back(std::move(s));
  }
  keep_used_tracks(run, t.tracks);
  return run;
}

}  // namespace tessera::explain
