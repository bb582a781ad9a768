// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/explain.hpp"

#include <algorithm>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

Explanation added_up(ExchangePlan plan) {
  const Transfers& t = plan.transfers;
  Explanation e;
  e.sent.assign(to_index(t.ranks()), 0);
  e.exact = t.exact();
  for (const Transfer& transfer : t.list()) {
    e.messages += transfer.messages;
    (transfer.content == Content::rows ? e.data_bytes : e.index_bytes) += transfer.bytes();
    for (std::size_t r = 0; r < e.sent.size(); ++r) e.sent[r] += transfer.sent[r];
  }
  e.route = plan.route;
  e.reason = std::move(plan.reason);
  e.shape = std::move(plan.shape);
  e.distribution = std::move(plan.distribution);
  return e;
}

}  // namespace

std::string Explanation::str() const {
  std::string where = "whole on every rank";
  if (distribution.split) where = cat("split along axis ", *distribution.split);
  std::string size = to_text(shape);
  if (std::find(shape.begin(), shape.end(), -1) != shape.end())
    size += " (-1: as many as are true)";
  return cat(name(route), ": ", reason, "; result ", size, ", ", where, "; ",
             exact ? "" : "at most ", messages, messages == 1 ? " message, " : " messages, ",
             index_bytes + data_bytes, " bytes",
             index_bytes > 0 ? cat(" (", index_bytes, " of them about positions)") : "");
}

Explanation explain(const DNDarray& x, const DistIndex& key) {
  return added_up(plan_index(x, key));
}

Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& value) {
  return added_up(plan_index(x, key, value));
}

Explanation explain_relayout(const DNDarray& x, const Distribution& to) {
  return added_up(plan_relayout(x, to));
}

}  // namespace tessera::dist
