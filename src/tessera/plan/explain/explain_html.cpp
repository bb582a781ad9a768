// SPDX-License-Identifier: Apache-2.0
// The page of a plan: tables as markup, drawings as data that the script of the page draws. Nothing
// is fetched from anywhere, and no name or label is markup.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/report/html.hpp"
#include "tessera/plan/explain/explain.hpp"

namespace tessera::explain {
namespace {

using html::classed;
using html::element;
using html::escaped;
using nlohmann::json;

const Slot& slot_at(const Plan::Impl& p, int i) { return p.slots[static_cast<std::size_t>(i)]; }

std::string card(std::string_view number, std::string_view what) {
  return classed("div", "card", element("b", escaped(number)) + element("span", escaped(what)));
}

std::string heading(const Plan::Impl& p) {
  std::string ends;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const int i : *list)
      ends += element("div", cat(escaped(slot_at(p, i).label), " ",
                                 element("code", escaped(slot_sizes(slot_at(p, i))))));
  return cat(element("h1", escaped(p.name)), classed("div", "ends", ends));
}

std::string totals(const Plan::Impl& p, const std::optional<TracedRun>& run) {
  i64 moved = 0, transfers = 0, touched = 0, held = 0;
  double flops = 0;
  for (const Step& s : p.steps) {
    const bool transfer = s.kind == Step::Kind::transfer;
    transfers += transfer;
    (transfer ? moved : touched) += s.bytes;
    flops += s.prepared.flops;
  }
  for (const Slot& s : p.slots) held += s.kind == SlotKind::constant ? s.bytes : 0;
  std::string cards = card(std::to_string(p.steps.size()), p.steps.size() == 1 ? "step" : "steps");
  cards += card(std::to_string(p.lanes.size()), p.lanes.size() == 1 ? "lane" : "lanes");
  if (run && run->runs > 0) cards += card(time_text(run->length), "the traced run took");
  cards += card(flops_text(flops), "arithmetic");
  cards += card(bytes_text(touched), "read and written by kernels");
  cards += card(moved ? bytes_text(moved) : "none",
                moved ? cat("moved between devices in ", transfers,
                            transfers == 1 ? " transfer" : " transfers")
                      : "moved between devices");
  if (p.workspace.empty()) cards += card("none", "workspace");
  for (const auto& [device, bytes] : p.workspace)
    cards += card(bytes_text(bytes), cat("workspace on ", device, ", ", bytes, " bytes"));
  for (const auto& [kind, bytes] : p.pinned)
    cards += card(bytes_text(bytes), "pinned host memory for staging");
  if (held > 0) cards += card(bytes_text(held), "held by the operators");
  return classed("div", "cards", cards);
}

std::string places(const TreeRow& row) {
  std::string chips;
  for (const auto& [device, steps] : row.where) {
    const std::string times = row.where.size() > 1 ? cat(" ×", steps) : "";
    chips += cat("<span class=\"chip\" data-device=\"", escaped(device), "\">", escaped(device),
                 times, "</span>");
  }
  return chips;
}

std::string tree_table(const Plan::Impl& p, const Tree& tree, bool timed) {
  if (tree.rows.empty())
    return element("p", "These steps were recorded without operators around them.");
  std::string rows = cat("<tr><th>operator</th><th>sizes</th><th>runs on</th><th class=\"n\">steps",
                         "</th><th class=\"n\">touches</th><th class=\"n\">moves</th>",
                         "<th class=\"n\">flop</th><th class=\"n\">holds</th>",
                         timed ? "<th class=\"n\">time</th>" : "", "</tr>");
  auto number = [](const std::string& text) { return classed("td", "n", text); };
  for (std::size_t i = 0; i < tree.rows.size(); ++i) {
    const TreeRow& r = tree.rows[i];
    const bool inner = i + 1 < tree.rows.size() && tree.rows[i + 1].parent == static_cast<int>(i);
    const std::string times = r.count > 1 ? classed("b", "times", cat(" ×", r.count)) : "";
    rows += cat(
        "<tr data-row=\"", i, "\"><td class=\"name\" style=\"--depth:", r.depth, "\">",
        inner ? "<button class=\"overlap_add\" aria-label=\"overlap_add\">▾</button>"
              : "<span class=\"leaf\">·</span>",
        escaped(r.name), times, "</td><td>", escaped(r.sizes), "</td><td>", places(r), "</td>",
        number(std::to_string(r.steps)), number(r.bytes ? bytes_text(r.bytes) : ""),
        number(r.moved ? bytes_text(r.moved) : ""), number(r.flops > 0 ? flops_text(r.flops) : ""),
        number(r.held ? bytes_text(r.held) : ""),
        timed ? number(r.time > 0 ? time_text(r.time) : "") : "", "</tr>\n");
  }
  std::string left_out;
  if (tree.rows.size() == most_rows && p.tree.size() > most_rows)
    left_out = element("p", cat("Only the first ", most_rows, " rows are shown."));
  return cat(classed("div", "scroll", cat("<table class=\"tree\">", rows, "</table>")), left_out);
}

std::string steps_table(const Plan::Impl& p, const std::optional<TracedRun>& run) {
  const bool timed = run && run->runs > 0;
  std::string rows = cat("<tr><th class=\"n\">#</th><th>step</th><th>lane</th><th>operands</th>",
                         "<th class=\"n\">bytes</th><th>waits for</th>",
                         timed ? "<th class=\"n\">time</th>" : "", "</tr>");
  for (std::size_t t = 0; t < std::min(p.steps.size(), most_steps); ++t) {
    const Step& s = p.steps[t];
    const double time = timed ? run->step_time[t] : -1;
    rows += cat("<tr><td class=\"n\">", t, "</td><td>", escaped(s.label), "</td><td>",
                escaped(lane_text(p.lanes[static_cast<std::size_t>(s.lane)])), "</td><td>",
                escaped(operands_text(p.slots, s)), "</td><td class=\"n\">", bytes_text(s.bytes),
                "</td><td>", join(s.waits), "</td>",
                timed ? classed("td", "n", time >= 0 ? time_text(time) : "") : "", "</tr>\n");
  }
  const std::string left_out =
      p.steps.size() > most_steps
          ? element("p", cat("Only the first ", most_steps, " of ", p.steps.size(),
                             " steps are listed and drawn; format 'json' has all."))
          : "";
  return cat(html::folded(cat("all ", p.steps.size(), " steps"),
                          classed("div", "scroll", element("table", rows)), false),
             left_out);
}

std::string notes(const Plan::Impl& p) {
  std::string lines;
  for (const std::string& n : p.notes) lines += element("li", escaped(n));
  return p.notes.empty() ? element("p", "Nothing was rewritten or placed.") : element("ul", lines);
}

// Labels repeat from tile to tile: each stands in the page once.
struct Texts {
  json list = json::array();
  std::map<std::string, int> known;
  int of(const std::string& text) {
    const auto [at, fresh] = known.emplace(text, static_cast<int>(list.size()));
    if (fresh) list.push_back(text);
    return at->second;
  }
};

// The earliest column a step can stand in: after what precedes it in its lane and what it waits
// for.
std::vector<int> columns(const Plan::Impl& p) {
  std::vector<int> column(p.steps.size(), 0), next(p.lanes.size(), 0);
  for (std::size_t t = 0; t < p.steps.size(); ++t) {
    int& lane = next[static_cast<std::size_t>(p.steps[t].lane)];
    int c = lane;
    for (const int u : p.steps[t].waits) c = std::max(c, column[static_cast<std::size_t>(u)] + 1);
    column[t] = c;
    lane = c + 1;
  }
  return column;
}

json steps_data(const Plan::Impl& p, const Tree& tree, const std::optional<TracedRun>& run,
                Texts& texts) {
  const std::vector<int> column = columns(p);
  json steps = json::array();
  for (std::size_t t = 0; t < std::min(p.steps.size(), most_steps); ++t) {
    const Step& s = p.steps[t];
    const int row = s.scope < 0 ? -1 : tree.row_of_scope[static_cast<std::size_t>(s.scope)];
    const double time = run && run->runs > 0 ? run->step_time[t] : -1;
    steps.push_back({texts.of(s.label), s.lane, static_cast<int>(s.kind), s.bytes, s.prepared.flops,
                     row, column[t], s.waits, time, texts.of(operands_text(p.slots, s))});
  }
  return steps;
}

json blocks_of(const Plan::Impl& p, Device device, std::optional<Kind> pinned, Texts& texts) {
  json blocks = json::array();
  for (std::size_t i = 0; i < p.slots.size(); ++i) {
    const Slot& s = p.slots[i];
    if (s.kind != SlotKind::temporary || s.device != device || s.pinned != pinned ||
        s.shares >= 0 || s.offset < 0 || s.first < 0 ||
        static_cast<std::size_t>(s.first) >= most_steps)
      continue;
    blocks.push_back({s.first, s.last, s.offset, s.bytes, texts.of(s.label), i});
  }
  return blocks;
}

json memory_data(const Plan::Impl& p, Texts& texts) {
  json memory = json::array();
  for (const auto& [device, bytes] : p.workspace)
    memory.push_back({{"device", device.str()},
                      {"bytes", bytes},
                      {"blocks", blocks_of(p, device, std::nullopt, texts)}});
  for (const auto& [kind, bytes] : p.pinned)
    memory.push_back(
        {{"device", "pinned"}, {"bytes", bytes}, {"blocks", blocks_of(p, cpu, kind, texts)}});
  return memory;
}

json trace_data(const TracedRun& run, Texts& texts) {
  json spans = json::array();
  auto rounded = [](double us) { return std::round(us * 1000) / 1000; };
  for (const TracedSpan& s : run.spans)
    spans.push_back(
        {s.track, rounded(s.start), rounded(s.length), texts.of(s.name), s.step, s.bytes});
  return {{"tracks", run.tracks}, {"spans", spans}, {"length", run.length}};
}

std::string data_of(const Plan::Impl& p, const Tree& tree, const std::optional<TracedRun>& run) {
  Texts texts;
  json data, lanes = json::array(), parents = json::array();
  for (const Lane& lane : p.lanes)
    lanes.push_back(
        {{"name", lane_text(lane)}, {"device", lane.device.str()}, {"transfers", lane.transfers}});
  for (const TreeRow& r : tree.rows) parents.push_back(r.parent);
  data["lanes"] = std::move(lanes);
  data["parents"] = std::move(parents);
  data["steps"] = steps_data(p, tree, run, texts);
  data["memory"] = memory_data(p, texts);
  if (run && run->runs > 0) data["trace"] = trace_data(*run, texts);
  data["texts"] = std::move(texts.list);
  return html::script_safe(data.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string section(std::string_view title, std::string_view hint, std::string_view content) {
  return cat("<section>", element("h2", title), hint.empty() ? "" : classed("p", "hint", hint),
             content, "</section>\n");
}

std::string timeline(const std::optional<TracedRun>& run) {
  constexpr std::string_view how =
      "Times come from a traced run: <code>with ts.trace(\"run.json\"): plan(x)</code>, then "
      "<code>plan.explain(format=\"html\", trace=\"run.json\")</code>.";
  if (!run) return section("Timeline", how, "");
  if (run->runs == 0)
    return section("Timeline", cat("The trace holds no run of this plan. ", how), "");
  const std::string which =
      run->runs == 1 ? std::string("The run in the trace, stream by stream.")
                     : cat("The last of ", run->runs, " runs in the trace, stream by stream.");
  return section("Timeline",
                 cat(which,
                     " Grey: other work of the same time; on the lanes of disks, "
                     "what was read and written meanwhile."),
                 "<div id=\"timeline\" class=\"chart\"></div>");
}

}  // namespace

std::string as_html(const Plan::Impl& p, const std::optional<TracedRun>& run) {
  const Tree tree = tree_of(p, run);
  const bool timed = run && run->runs > 0;
  std::string page = cat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
      "<meta name=\"viewport\" content=\"width=device-width\">", element("title", escaped(p.name)),
      element("style", page_style), "</head>\n<body>\n<header>", heading(p), totals(p, run),
      "</header>\n<noscript>The tables are complete; the drawings need JavaScript.</noscript>\n");
  page += section("Operators", "Who records what. Click a row to find its steps below.",
                  tree_table(p, tree, timed));
  page +=
      section("Schedule",
              "A row is a lane, a queue that runs in order: solid boxes compute, dashed ones move "
              "bytes between devices. An arrow is a wait. Boxes of one column may run at the "
              "same time.",
              "<div id=\"lanes\" class=\"chart\"></div>");
  page += timeline(run);
  page += section("Memory",
                  p.workspace.empty() && p.pinned.empty()
                      ? "No temporaries: the steps read and write what they are given."
                      : "Temporaries by address (upwards) and life (steps, to the right) "
                        "in the one arena of each device.",
                  "<div id=\"memory\"></div>");
  page += section("Notes", "", notes(p));
  page += section("Steps", "", steps_table(p, run));
  page += cat("<svg id=\"proto\" width=\"0\" height=\"0\"></svg><div id=\"tip\"></div>\n",
              "<script type=\"application/json\" id=\"data\">", data_of(p, tree, run),
              "</script>\n", element("script", page_script), "\n</body></html>\n");
  return page;
}

}  // namespace tessera::explain
