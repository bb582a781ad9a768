// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/exchange_plan.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

std::string_view name(Route route) {
  switch (route) {
    case Route::scalar: return "scalar";
    case Route::distributed_mask: return "distributed mask";
    case Route::local_mask: return "local mask";
    case Route::local: return "local";
    case Route::descending_slice: return "descending slice";
    default: return "unordered";
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

std::string_view name(Pattern pattern) {
  switch (pattern) {
    case Pattern::to_all: return "every rank to all";
    case Pattern::from_owner: return "the owner to all";
    default: return "between pairs of ranks";
  }
}

i64 Transfer::bytes() const { return std::accumulate(sent.begin(), sent.end(), i64{0}); }

void Transfer::send(int rank, i64 count, i64 bytes) {
  if (count == 0 || bytes == 0) return;
  messages += count;
  sent[to_index(rank)] += bytes;
}

Transfer& Transfers::begin(Content content, Pattern pattern, bool exact) {
  list_.push_back({content, pattern, 0, std::vector<i64>(to_index(ranks_)), exact});
  return list_.back();
}

void Transfers::to_all(Content content, i64 bytes, bool exact) {
  Transfer& t = begin(content, Pattern::to_all, exact);
  for (int r = 0; r < ranks_; ++r) t.send(r, ranks_ - 1, bytes * (ranks_ - 1));
}

void Transfers::from_owner(int owner, i64 bytes, bool exact) {
  begin(Content::rows, Pattern::from_owner, exact).send(owner, ranks_ - 1, bytes * (ranks_ - 1));
}

void Transfers::add(Content content, const Movement& m, bool exact) {
  Transfer& t = begin(content, Pattern::pairs, exact);
  t.messages = m.messages;
  t.sent = m.sent;
}

void Transfers::gather(Content content, const DNDarray& a, i64 item, bool exact) {
  const Boxes from = a.split()   ? boxes_of(a.shape(), a.distribution(), ranks_)
                     : a.known() ? Boxes(to_index(ranks_))
                                 : boxes_on(*a.owner(), ranks_);
  add(content, movement(a.shape(), item, from, Boxes(to_index(ranks_))), exact);
  list_.back().pattern = Pattern::to_all;
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

}  // namespace tessera::dist
