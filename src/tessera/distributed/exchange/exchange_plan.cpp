// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/exchange_plan.hpp"

#include <algorithm>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

std::string_view name(Route route) {
  switch (route) {
    case Route::scalar: return "scalar";
    case Route::distributed_mask: return "distributed mask";
    case Route::local_mask: return "local mask";
    case Route::local: return "local";
    case Route::descending_slice: return "descending slice";
    case Route::unordered: return "unordered";
    default: return "relayout";
  }
}

std::string_view name(Content content) {
  switch (content) {
    case Content::flags: return "flags";
    case Content::counts: return "counts";
    case Content::bits: return "bits";
    case Content::positions: return "positions";
    case Content::ids: return "ids";
    case Content::numbers: return "numbers of entries";
    default: return "rows";
  }
}

Transfer& Transfers::begin(Content content, Pattern pattern, bool exact) {
  list_.push_back({{pattern, 0, std::vector<i64>(to_index(ranks_))}, content, exact});
  return list_.back();
}

void Transfers::to_all(Content content, i64 bytes, bool exact) {
  Transfer& t = begin(content, Pattern::to_all, exact);
  for (int r = 0; r < ranks_; ++r) t.send(r, ranks_ - 1, bytes * (ranks_ - 1));
}

void Transfers::from_owner(int owner, i64 bytes, bool exact) {
  begin(Content::rows, Pattern::from_owner, exact).send(owner, ranks_ - 1, bytes * (ranks_ - 1));
}

void Transfers::add(Content content, Movement m, bool exact) {
  list_.push_back({std::move(m), content, exact});
}

void Transfers::gather(Content content, const DNDarray& a, i64 item, bool exact) {
  Movement m = Relayout(a, Distribution{}).movement(item);
  m.pattern = Pattern::to_all;
  add(content, std::move(m), exact);
}

Transfer& Transfers::pairs(Content content, bool exact) {
  return begin(content, Pattern::pairs, exact);
}

bool Transfers::exact() const {
  return ranks_ == 1 || (exact_ && std::all_of(list_.begin(), list_.end(),
                                               [](const Transfer& t) { return t.exact; }));
}

std::string ExchangePlan::str() const {
  std::string text = cat(name(route), ": ", reason);
  for (const Transfer& t : transfers.list())
    if (t.messages > 0)
      text += cat("\n", name(t.content), ", ", name(t.pattern), ": ",
                  t.exact || transfers.ranks() == 1 ? "" : "at most ", t.messages, " messages, ",
                  t.bytes(), " bytes");
  return text;
}

ExchangePlan plan_relayout(const DNDarray& x, const Distribution& to) {
  ExchangePlan plan(x.comm().size());
  plan.route = Route::relayout;
  plan.shape = x.shape();
  plan.distribution = to;
  plan.reason = "the array has this distribution";
  if (x.distribution() == to) return plan;
  plan.reason = "each element goes straight to the rank that gets it";
  plan.transfers.add(Content::rows, Relayout(x, to).movement(size_of(x.dtype())));
  return plan;
}

}  // namespace tessera::dist
