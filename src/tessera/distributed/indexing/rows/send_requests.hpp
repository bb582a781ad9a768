// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encoded ids (id_codec.hpp) from ranks that want them to the ranks that own them, with a word from
// those that have a problem: in one message where all lists are short, else announced first.
//   Requests requests = send_requests(lists, problem, rows, key, requesters(key, part), bytes);

#include <functional>

#include "tessera/distributed/indexing/rows/fetch.hpp"
#include "tessera/distributed/wire/id_codec.hpp"

namespace tessera::dist {

// What the other ranks want of this one, as they said it. Where positions were sent as a set: what
// this rank wants itself, and its positions as they were then. They may be written to through
// `local` since, of which no other rank knows.
struct Requests {
  std::vector<IdFormat> forms;
  std::vector<std::vector<std::byte>> bytes;
  IdSet own;
  Array positions;
  std::string of;  // of whom it was requested, where it is remembered
};

// Whether what owners are sent is one message for each: where no list of ids can be long. The same
// on all ranks.
bool sent_at_once(const IndexedRows& rows);

// By rank: whether it has positions of the key, which may be wrong, or entries. All ranks know that
// of each other: the others have nothing to say.
std::vector<bool> requesters(const NormalKey& key, const Partition& part);

// How long a list of this form from this rank is.
using EncodedBytes = std::function<i64(const IdFormat& form, int rank)>;
// Hands the lists, one for each rank, over; where any rank has a problem, all throw (collective).
Requests send_requests(std::span<const EncodedIds> lists, bool problem, const IndexedRows& rows,
                       const NormalKey& key, const std::vector<bool>& requests_from,
                       const EncodedBytes& length);

}  // namespace tessera::dist
