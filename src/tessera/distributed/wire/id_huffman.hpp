// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many ids that lie anywhere, as the bytes of a bitmap in a Huffman code that suits how many are
// set (huffman). What id_codec.cpp needs and nobody else.
//   EncodedIds e = encode_huffman(set, n);   decode_huffman(set, formats, bytes);

#include "tessera/distributed/wire/id_codec.hpp"

namespace tessera::dist {

// Of so many ids neither few nor nearly all, which need not be a set yet to know that.
inline bool may_be_huffman(i64 n, i64 radix) {
  return radix > 4096 && n >= radix / 12 && n <= radix - radix / 12;
}
// Such n ids that do not lie together.
bool huffman_pays(const IdSet& set, i64 n);
// The bitmap itself where no code is shorter.
EncodedIds encode_huffman(const IdSet& set, i64 n);
// Those of several senders in Huffman codes, read together, combined with what is in the set.
void decode_huffman(IdSet& set, std::span<const IdFormat> formats,
                    std::span<const std::vector<std::byte>> bytes);

}  // namespace tessera::dist
