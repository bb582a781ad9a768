// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many ids that lie anywhere, as the bytes of a bitmap in a Huffman code that suits how many are set
// (byte_code). What id_wire.cpp needs and nobody else.
//   if (coding_pays(set, n)) wire = encode_coded(set, n);   decode_coded(set, forms, bytes);

#include "tessera/distributed/wire/id_wire.hpp"

namespace tessera::dist {

// Of so many ids neither few nor nearly all, which need not be a set yet to know that.
inline bool may_be_coded(i64 n, i64 radix) {
  return radix > 4096 && n >= radix / 12 && n <= radix - radix / 12;
}
// Such n ids that do not lie together.
bool coding_pays(const IdSet& set, i64 n);
// The bitmap itself where no code is shorter.
Wire encode_coded(const IdSet& set, i64 n);
// Those of several senders that are coded, read together, combined with what is in the set.
void decode_coded(IdSet& set, std::span<const WireForm> forms,
                  std::span<const std::vector<std::byte>> bytes);

}  // namespace tessera::dist
