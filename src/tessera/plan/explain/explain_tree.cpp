// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tessera/plan/explain/explain.hpp"

namespace tessera::explain {
namespace {

constexpr std::size_t most_unmerged = 300;  // operators; more, and equal parts become one row

std::string ends_text(const ScopeNode& node) {
  if (node.in.slot < 0 || node.out.slot < 0) return {};
  const std::string in = node.in.dtype == node.out.dtype ? "" : cat(" ", name(node.in.dtype));
  return cat(node.in.shape(), in, " → ", node.out.shape(), " ", name(node.out.dtype));
}

void count_device(TreeRow& row, const std::string& device) {
  for (auto& [known, steps] : row.where)
    if (known == device) {
      ++steps;
      return;
    }
  row.where.emplace_back(device, 1);
}

// Rows in the order of first appearance: parents stand before their parts, but not next to them.
struct Unordered {
  std::vector<TreeRow> rows;
  std::vector<int> row_of_scope;
};

Unordered grouped(const Plan::Impl& p) {
  Unordered u;
  const bool merge = p.tree.size() > most_unmerged;
  std::map<std::pair<int, std::string>, int> known;
  for (const ScopeNode& node : p.tree) {
    const int parent = node.parent < 0 ? -1 : u.row_of_scope[static_cast<std::size_t>(node.parent)];
    const int fresh = static_cast<int>(u.rows.size());
    const int row =
        merge ? known.emplace(std::pair(parent, node.name), fresh).first->second : fresh;
    u.row_of_scope.push_back(row);
    const std::string sizes = ends_text(node);
    if (row == fresh) {
      TreeRow r;
      r.name = node.name;
      r.sizes = sizes;
      r.parent = parent;
      u.rows.push_back(std::move(r));
      continue;
    }
    TreeRow& r = u.rows[static_cast<std::size_t>(row)];
    ++r.count;
    if (r.sizes != sizes && !r.sizes.ends_with(" and others")) r.sizes += " and others";
  }
  return u;
}

void add_totals(const Plan::Impl& p, const std::optional<TracedRun>& run, Unordered& u) {
  auto upwards = [&](int scope, auto&& apply) {
    for (int r = scope < 0 ? -1 : u.row_of_scope[static_cast<std::size_t>(scope)]; r >= 0;
         r = u.rows[static_cast<std::size_t>(r)].parent)
      apply(u.rows[static_cast<std::size_t>(r)]);
  };
  for (std::size_t t = 0; t < p.steps.size(); ++t) {
    const Step& s = p.steps[t];
    const bool transfer = s.kind == Step::Kind::transfer;
    const double time = run && run->step_time[t] > 0 ? run->step_time[t] : 0;
    const std::string device = s.device.str();
    upwards(s.scope, [&](TreeRow& r) {
      ++r.steps;
      (transfer ? r.moved : r.bytes) += s.bytes;
      r.flops += static_cast<double>(s.prepared.flops);
      r.time += time;
      count_device(r, device);
    });
  }
  for (const Slot& s : p.slots)
    if (s.kind == SlotKind::constant) upwards(s.scope, [&](TreeRow& r) { r.held += s.bytes; });
}

}  // namespace

Tree tree_of(const Plan::Impl& plan, const std::optional<TracedRun>& run) {
  Unordered u = grouped(plan);
  add_totals(plan, run, u);
  std::vector<std::vector<int>> parts(u.rows.size() + 1);  // the last: those without a parent
  for (std::size_t i = 0; i < u.rows.size(); ++i)
    parts[u.rows[i].parent < 0 ? u.rows.size() : static_cast<std::size_t>(u.rows[i].parent)]
        .push_back(static_cast<int>(i));
  Tree tree;
  std::vector<int> place(u.rows.size(), -1);
  std::vector<int> open(parts.back().rbegin(), parts.back().rend());
  while (!open.empty() && tree.rows.size() < most_rows) {
    const std::size_t i = static_cast<std::size_t>(open.back());
    open.pop_back();
    place[i] = static_cast<int>(tree.rows.size());
    TreeRow row = std::move(u.rows[i]);
    if (row.parent >= 0) {
      row.parent = place[static_cast<std::size_t>(row.parent)];
      row.depth = tree.rows[static_cast<std::size_t>(row.parent)].depth + 1;
    }
    tree.rows.push_back(std::move(row));
    open.insert(open.end(), parts[i].rbegin(), parts[i].rend());
  }
  for (const int row : u.row_of_scope)
    tree.row_of_scope.push_back(place[static_cast<std::size_t>(row)]);
  return tree;
}

}  // namespace tessera::explain
