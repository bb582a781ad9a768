// SPDX-License-Identifier: Apache-2.0
// The plan in short, in the frame and the manner of an operator's card.
#include <algorithm>

#include "tessera/base/report/html.hpp"
#include "tessera/plan/explain/explain.hpp"

namespace tessera {
namespace {

using html::element;
using html::escaped;

constexpr std::size_t most_lines = 40;
constexpr std::string_view cell = "padding:0 1em 0 0;text-align:left";

std::string line(std::initializer_list<std::string> cells, std::string_view tag = "td") {
  std::string text;
  for (const std::string& c : cells) text += element(tag, c, cell);
  return element("tr", text);
}

std::string table(std::string_view rows) {
  return element("table", rows, "border-collapse:collapse;margin:.3em 0");
}

std::string ends(const std::vector<Slot>& slots, const std::vector<int>& which) {
  std::string text;
  for (const int i : which)
    text += (text.empty() ? "" : ", ") + explain::slot_sizes(slots[static_cast<std::size_t>(i)]);
  return text;
}

std::string steps_table(const Plan::Impl& p) {
  std::string rows = line({"step", "where", "bytes"}, "th");
  for (std::size_t t = 0; t < std::min(p.steps.size(), most_lines); ++t)
    rows += line({escaped(p.steps[t].label),
                  explain::lane_text(p.lanes[static_cast<std::size_t>(p.steps[t].lane)]),
                  bytes_text(p.steps[t].bytes)});
  if (p.steps.size() > most_lines)
    rows += line({cat("and ", p.steps.size() - most_lines, " more"), "", ""});
  return table(rows);
}

}  // namespace

std::string Plan::repr_html() const {
  const Impl& p = *impl_;
  std::string text = element(
      "div",
      cat(element("b", escaped(p.name)), " ",
          element("code", escaped(cat(ends(p.slots, p.inputs), " → ", ends(p.slots, p.outputs))))));
  double flops = 0;
  for (const Step& s : p.steps) flops += s.prepared.flops;
  const i64 moved = transferred_bytes();
  std::string facts = line({"steps", cat(p.steps.size(), " in ", p.lanes.size(),
                                         p.lanes.size() == 1 ? " lane" : " lanes")});
  facts += line({"arithmetic", explain::flops_text(flops)});
  facts += line({"transfers", moved ? bytes_text(moved) : "none"});
  if (p.workspace.empty()) facts += line({"workspace", "none"});
  for (const auto& [device, bytes] : p.workspace)
    facts += line({cat("workspace on ", device), bytes_text(bytes)});
  text += table(facts);
  text += html::folded("steps", steps_table(p), p.steps.size() <= 12);
  if (!p.notes.empty()) {
    std::string lines;
    for (const std::string& n : p.notes) lines += element("li", escaped(n));
    text += html::folded(cat("notes (", p.notes.size(), ")"), element("ul", lines), false);
  }
  return html::framed("tessera-plan", text);
}

}  // namespace tessera
