// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/explain.hpp"

#include <algorithm>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

Explanation::Explanation(ExchangePlan plan)
    : ExchangePlan(std::move(plan)),
      sent(to_index(transfers.ranks()), 0),
      exact(transfers.exact()) {
  for (const Transfer& transfer : transfers.list()) {
    messages += transfer.messages;
    (transfer.content == Content::rows ? data_bytes : index_bytes) += transfer.bytes();
    for (std::size_t r = 0; r < sent.size(); ++r) sent[r] += transfer.sent[r];
  }
}

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
  return Explanation(plan_index(x, key));
}

Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& value) {
  return Explanation(plan_index(x, key, value));
}

Explanation explain_relayout(const DNDarray& x, const Distribution& to) {
  return Explanation(plan_relayout(x, to));
}

}  // namespace tessera::dist
