// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the formats of Plan::explain share, and the parts of its page: used by explain*.cpp only.
//   std::string page = as_html(plan, read_traced_run("run.json", plan));

#include <optional>
#include <utility>

#include "tessera/plan/plan_impl.hpp"

namespace tessera::explain {

// Beyond these, the page tells how many it leaves out: it stays a few megabytes.
inline constexpr std::size_t most_steps = 4000, most_rows = 1500, most_spans = 8000;

const char* kind_name(Step::Kind kind);
const char* kind_name(SlotKind kind);
std::string operands_text(const std::vector<Slot>& slots, const Step& step);
std::string lane_text(const Lane& lane);  // "sim:0", "cpu -> sim:0"
// "(8, 64) complex64 on cpu"
std::string slot_sizes(const Slot& slot);
std::string flops_text(double flops);  // "1.2 Gflop"
std::string time_text(double microseconds);

// One run of the plan out of a trace file. Times in microseconds since the run began.
struct TracedSpan {
  std::string name;
  int track = 0;
  int step = -1;  // of the plan; -1: other work of the same time
  double start = 0, length = 0;
  i64 bytes = -1;
};
struct TracedRun {
  std::vector<std::string> tracks;
  std::vector<TracedSpan> spans;  // by start
  double length = 0;
  i64 runs = 0;                   // of this plan in the whole trace; the last one is given
  std::vector<double> step_time;  // by step; -1: no span of it
};
// IoError when the file cannot be read or is no trace. Without a run of this plan: runs == 0.
TracedRun read_traced_run(const std::string& path, const Plan::Impl& plan);

// The tree of operators, in preorder, with totals of each subtree. Large trees are merged: parts of
// one operator that have the same name become one row.
struct TreeRow {
  std::string name, sizes;
  int parent = -1, depth = 0;
  i64 count = 1;                                   // operators in this row
  std::vector<std::pair<std::string, i64>> where;  // steps by device
  i64 steps = 0, bytes = 0, moved = 0, held = 0;
  double flops = 0, time = 0;
};
struct Tree {
  std::vector<TreeRow> rows;
  std::vector<int> row_of_scope;  // -1: beyond most_rows
};
Tree tree_of(const Plan::Impl& plan, const std::optional<TracedRun>& run);

std::string as_html(const Plan::Impl& plan, const std::optional<TracedRun>& run);

extern const std::string_view page_style, page_script;

}  // namespace tessera::explain
