// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/send_requests.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

using Message = std::vector<std::byte>;
Block block_of(int rank, const Message& m) {
  return Block::dense(rank, m.data(), static_cast<i64>(m.size()));
}

// Headers, and behind each its list where `with_lists`: to those ranks of which something is
// wanted, and to all where there is a problem. Nothing of a rank: it wants nothing.
std::vector<Message> announce(std::span<const EncodedIds> lists, std::span<const Header> headers,
                              const IndexedRows& rows, const std::vector<bool>& requests_from,
                              bool with_lists) {
  const Communicator& comm = rows.array().comm();
  const int p = comm.size(), me = comm.rank();
  const std::size_t room =
      sizeof(Header) + (with_lists ? to_index(longest_encoding(rows.radix(me))) : 0);
  std::vector<Message> out(to_index(p)), in(to_index(p));
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    if (q == me) continue;
    if (headers[to_index(q)].word != 0) {
      const Message& list = lists[to_index(q)].bytes;
      out[to_index(q)].resize(sizeof(Header) + (with_lists ? list.size() : 0));
      copy_bytes(out[to_index(q)].data(), &headers[to_index(q)], sizeof(Header));
      if (with_lists)
        copy_bytes(out[to_index(q)].data() + sizeof(Header), list.data(), list.size());
      sends.push_back(block_of(q, out[to_index(q)]));
    }
    if (!requests_from[to_index(q)]) continue;
    in[to_index(q)].resize(room);
    receives.push_back(block_of(q, in[to_index(q)]));
  }
  const std::vector<i64> lengths = comm.exchange_short(sends, receives);
  for (std::size_t k = 0; k < receives.size(); ++k) {
    require<CommError>(lengths[k] == 0 || lengths[k] >= static_cast<i64>(sizeof(Header)),
                       "the positions that another rank sent are damaged: they cannot be read");
    in[to_index(receives[k].rank)].resize(to_index(lengths[k]));
  }
  return in;
}

}  // namespace

bool sent_at_once(const IndexedRows& rows) {
  i64 most = 0;
  for (int r = 0; r < rows.array().part().ranks(); ++r) most = std::max(most, rows.radix(r));
  return static_cast<i64>(sizeof(Header)) + longest_encoding(most) <= Transport::short_bytes;
}

std::vector<bool> requesters(const NormalKey& key, const Partition& part) {
  std::vector<bool> requests_from;
  requests_from.reserve(to_index(part.ranks()));
  for (int r = 0; r < part.ranks(); ++r)
    requests_from.push_back(
        part.count(r) > 0 ||
        std::any_of(key.distribution.begin(), key.distribution.end(),
                    [&](const DNDarray& a) { return a && count_of(a.lshape(r)) > 0; }));
  return requests_from;
}

Requests send_requests(std::span<const EncodedIds> lists, bool problem, const IndexedRows& rows,
                       const NormalKey& key, const std::vector<bool>& requests_from,
                       const EncodedBytes& length) {
  const Communicator& comm = rows.array().comm();
  const int p = comm.size(), me = comm.rank();
  std::vector<Header> out, in(to_index(p));
  out.reserve(lists.size());
  for (const EncodedIds& ids : lists) out.push_back(Header::of(ids.format, problem));
  in[to_index(me)] = out[to_index(me)];
  Requests requests;
  requests.bytes.resize(to_index(p));
  const bool at_once = sent_at_once(rows);
  std::vector<Message> messages = announce(lists, out, rows, requests_from, at_once);
  for (int q = 0; q < p; ++q) {
    Message& m = messages[to_index(q)];
    if (m.empty()) continue;
    copy_bytes(&in[to_index(q)], m.data(), sizeof(Header));
    m.erase(m.begin(), m.begin() + sizeof(Header));
    requests.bytes[to_index(q)] = std::move(m);
  }
  for (const Header& n : in)
    if (n.problem()) throw_first_problem(rows.array(), key);
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    requests.forms.push_back(q == me ? IdFormat{} : in[to_index(q)].format());
    if (q == me) continue;
    const i64 bytes = length(requests.forms.back(), q);
    Message& theirs = requests.bytes[to_index(q)];
    require<CommError>(!at_once || static_cast<i64>(theirs.size()) == bytes,
                       "the positions that another rank sent are damaged: they cannot be read");
    if (at_once) continue;
    theirs.resize(to_index(bytes));
    if (!lists[to_index(q)].bytes.empty()) sends.push_back(block_of(q, lists[to_index(q)].bytes));
    if (!theirs.empty()) receives.push_back(block_of(q, theirs));
  }
  if (!at_once) comm.exchange(sends, receives);
  return requests;
}

}  // namespace tessera::dist
