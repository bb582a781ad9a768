// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_huffman.hpp"

#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/huffman.hpp"
#include "tessera/distributed/wire/id_gaps.hpp"

namespace tessera::dist {
namespace {

struct Part {
  IdFormat format;
  IdSet set;
  BitReader bits;
};

void merge(IdSet& set, std::vector<Part>& parts) {
  std::vector<HuffmanCode::Stream> streams;
  streams.reserve(parts.size());
  for (Part& p : parts)
    streams.push_back(
        {&HuffmanCode::of(p.format.low), p.bits.bytes(), p.format.high, p.set.bytes()});
  if (!HuffmanCode::decode(streams)) refuse_ids();
  const i64 rest = (set.last() - set.first()) & 63;
  for (const Part& p : parts) {
    const bool beyond = rest != 0 && p.set.words().back() >> rest != 0;
    if (p.set.size() != p.format.listed || beyond) refuse_ids();
    set.merge(p.set);
  }
  parts.clear();
}

}  // namespace

bool huffman_pays(const IdSet& set, i64 n) {
  const i64 radix = set.last() - set.first();
  if (!may_be_huffman(n, radix)) return false;
  const double part = static_cast<double>(n) / static_cast<double>(radix);
  return static_cast<double>(set.runs()) >= 0.75 * static_cast<double>(n) * (1 - part);
}

EncodedIds encode_huffman(const IdSet& set, i64 n) {
  const i64 radix = set.last() - set.first();
  const int number = HuffmanCode::suited(n, radix);
  EncodedIds encoded{{Encoding::bitmap, 0, 1, 0}, {}};
  const std::span<const std::uint8_t> bytes = set.bytes();
  // Of about half, nothing is shorter than a bit each.
  if (n <= radix / 8 * 3 || n >= radix / 8 * 5) {
    encoded.bytes.resize(to_index(HuffmanCode::room(static_cast<i64>(bytes.size()))));
    const i64 bits = HuffmanCode::of(number).encode(bytes, encoded.bytes.data());
    if (bits < radix && bits <= most_gaps) encoded.format = {Encoding::huffman, number, n, bits};
  }
  encoded.bytes.resize(to_index(encoded.format.bytes(radix)));
  if (encoded.format.kind == Encoding::bitmap)
    copy_bytes(encoded.bytes.data(), bytes.data(), bytes.size());
  return encoded;
}

void decode_huffman(IdSet& set, std::span<const IdFormat> formats,
                    std::span<const std::vector<std::byte>> bytes) {
  constexpr std::size_t read_at_once = 8;  // more of them gain nothing
  std::vector<Part> parts;
  for (std::size_t q = 0; q < formats.size(); ++q) {
    if (formats[q].kind != Encoding::huffman) continue;
    parts.push_back({formats[q], IdSet(set.first(), set.last()), BitReader(bytes[q])});
    if (parts.size() == read_at_once) merge(set, parts);
  }
  merge(set, parts);
}

}  // namespace tessera::dist
