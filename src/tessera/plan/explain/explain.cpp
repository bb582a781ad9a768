// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/plan/explain/explain.hpp"

namespace tessera {
namespace explain {

const char* kind_name(SlotKind k) {
  constexpr const char* names[] = {"input", "output", "constant", "temporary"};
  return names[static_cast<int>(k)];
}

const char* kind_name(Step::Kind k) {
  constexpr const char* names[] = {"launch", "transfer", "call"};
  return names[static_cast<int>(k)];
}

std::string slot_text(const std::vector<Slot>& slots, int i) {
  const int root = root_of(slots, i);
  const Slot& s = slots[static_cast<std::size_t>(root)];
  if (s.kind == SlotKind::temporary) return fmt::format("t{}@{}", root, s.offset);
  return fmt::format("{}{}", kind_name(s.kind),
                     s.kind == SlotKind::constant ? std::to_string(root) : "");
}

std::string operands_text(const std::vector<Slot>& slots, const Step& step) {
  std::string reads, writes;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const std::string slot = slot_text(slots, step.operands[i].slot);
    if (step.reads(i)) reads += (reads.empty() ? "" : ", ") + slot;
    if (step.writes(i)) writes += (writes.empty() ? "" : ", ") + slot;
  }
  return reads + " -> " + writes;
}

std::string lane_text(const Lane& lane) {
  const std::string text = lane.transfers ? cat(lane.from, " -> ", lane.to) : lane.device.str();
  return lane.stream ? cat(text, ", stream ", lane.stream->id()) : text;
}

std::string slot_sizes(const Slot& s) {
  return cat(s.layout.shape, " ", name(s.dtype), " on ", s.device);
}

std::string flops_text(double flops) {
  constexpr const char* units[] = {"flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
  std::size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < std::size(units); ++unit) flops /= 1000;
  return fmt::format("{:.3g} {}", flops, units[unit]);
}

std::string time_text(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} µs", us);
}

}  // namespace explain

namespace {

using namespace explain;

std::string as_text(const Plan::Impl& p) {
  std::string text =
      fmt::format("plan '{}': {} step{}\n", p.name, p.steps.size(), p.steps.size() == 1 ? "" : "s");
  for (const std::string& note : p.notes) text += "  note: " + note + "\n";
  std::size_t wide = 4;
  for (const Step& s : p.steps) wide = std::max(wide, s.label.size());
  for (std::size_t t = 0; t < p.steps.size(); ++t) {
    const Step& s = p.steps[t];
    text += fmt::format("  {:>3}  {:<{}}  {:<7}  {}  {}", t, s.label, wide, s.device.str(),
                        operands_text(p.slots, s), bytes_text(s.bytes));
    if (s.workspace >= 0) text += fmt::format("  work area {}", bytes_text(s.prepared.workspace));
    if (s.rows > 1) text += fmt::format("  in {} rows", s.rows);
    for (int u : s.waits) text += fmt::format("  waits for {}", u);
    if (!s.listeners.empty()) text += "  waits for its listener";
    if (s.stream) text += fmt::format("  on stream {}", s.stream->id());
    if (!s.waits.empty() || p.lanes.size() > 1) text += fmt::format("  lane {}", s.lane);
    text += "\n";
  }
  i64 moved = 0;
  for (const Step& s : p.steps) moved += s.kind == Step::Kind::transfer ? s.bytes : 0;
  text += fmt::format("  transfers: {}\n", moved ? bytes_text(moved) : "none");
  if (p.workspace.empty() && p.pinned.empty()) text += "  workspace: none\n";
  for (const auto& [device, bytes] : p.workspace)
    text += fmt::format("  workspace on {}: {} ({} bytes; without reuse all temporaries take {})\n",
                        device.str(), bytes_text(bytes), bytes, bytes_text(p.sum_of_temporaries));
  for (const auto& [kind, bytes] : p.pinned)
    text += fmt::format("  workspace in pinned host memory: {} ({} bytes, for {})\n",
                        bytes_text(bytes), bytes, name(kind));
  return text;
}

std::string as_json(const Plan::Impl& p) {
  nlohmann::json steps = nlohmann::json::array(), slots = nlohmann::json::array(),
                 workspace = nlohmann::json::object(), tree = nlohmann::json::array();
  for (const Step& s : p.steps) {
    nlohmann::json operands = nlohmann::json::array();
    for (const Access& a : s.operands)
      operands.push_back({{"slot", root_of(p.slots, a.slot)}, {"offset", a.byte_offset}});
    steps.push_back({{"label", s.label},
                     {"device", s.device.str()},
                     {"lane", s.lane},
                     {"kind", kind_name(s.kind)},
                     {"operands", operands},
                     {"bytes", s.bytes},
                     {"rows", s.rows},
                     {"flops", s.prepared.flops},
                     {"waits", s.waits},
                     {"scope", s.scope},
                     {"workspace", s.prepared.workspace},
                     {"capturable", s.prepared.capturable}});
  }
  for (const Slot& s : p.slots)
    slots.push_back({{"kind", kind_name(s.kind)},
                     {"device", s.device.str()},
                     {"bytes", s.bytes},
                     {"label", s.label},
                     {"first", s.first},
                     {"last", s.last},
                     {"offset", s.offset},
                     {"shares", s.shares}});
  for (const auto& [device, bytes] : p.workspace) workspace[device.str()] = bytes;
  i64 pinned = 0;
  for (const auto& [kind, bytes] : p.pinned) pinned += bytes;
  if (pinned > 0) workspace["pinned"] = pinned;
  for (const ScopeNode& node : p.tree)
    tree.push_back({{"name", node.name}, {"parent", node.parent}});
  return nlohmann::json{{"name", p.name},         {"steps", steps}, {"slots", slots},
                        {"workspace", workspace}, {"tree", tree},   {"notes", p.notes}}
      .dump(1);
}

std::string quoted(const std::string& s) { return nlohmann::json(s).dump(); }

std::string as_dot(const Plan::Impl& p) {
  std::string text = fmt::format(
      "digraph {} {{\n  rankdir=LR; node [shape=box, fontname=\"sans-serif\"];\n", quoted(p.name));
  for (std::size_t t = 0; t < p.steps.size(); ++t)
    text += fmt::format("  s{} [label={}];\n", t,
                        quoted(p.steps[t].label + "\n" + p.steps[t].device.str()));
  std::vector<int> writer(p.slots.size(), -1);
  for (std::size_t t = 0; t < p.steps.size(); ++t) {
    const Step& s = p.steps[t];
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
      if (!s.reads(i)) continue;
      const int slot = s.operands[i].slot, from = writer[static_cast<std::size_t>(slot)];
      const std::string size = quoted(bytes_text(p.slots[static_cast<std::size_t>(slot)].bytes));
      if (from >= 0)
        text += fmt::format("  s{} -> s{} [label={}];\n", from, t, size);
      else
        text += fmt::format("  {0} [shape=ellipse]; {0} -> s{1} [label={2}];\n",
                            quoted(slot_text(p.slots, slot)), t, size);
    }
    for (std::size_t i = 0; i < s.operands.size(); ++i)
      if (s.writes(i)) writer[static_cast<std::size_t>(s.operands[i].slot)] = static_cast<int>(t);
  }
  for (int out : p.outputs)
    if (writer[static_cast<std::size_t>(out)] >= 0)
      text += fmt::format("  output [shape=ellipse]; s{} -> output;\n",
                          writer[static_cast<std::size_t>(out)]);
  return text + "}\n";
}

}  // namespace

std::string Plan::explain(ExplainFormat format) const {
  switch (format) {
    case ExplainFormat::json: return as_json(*impl_);
    case ExplainFormat::dot: return as_dot(*impl_);
    case ExplainFormat::html: return as_html(*impl_, std::nullopt);
    default: return as_text(*impl_);
  }
}

std::string Plan::explain_html(const std::string& trace) const {
  return as_html(*impl_, read_traced_run(trace, *impl_));
}

}  // namespace tessera
