// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_coded.hpp"

#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/byte_code.hpp"
#include "tessera/distributed/wire/id_gaps.hpp"

namespace tessera::dist {
namespace {

struct Part {
  WireForm form;
  IdSet set;
  BitReader bits;
};

void merge(IdSet& set, std::vector<Part>& parts) {
  std::vector<ByteCode::Stream> streams;
  streams.reserve(parts.size());
  for (Part& p : parts)
    streams.push_back({&ByteCode::of(p.form.low), p.bits.bytes(), p.form.high, p.set.bytes()});
  if (!ByteCode::decode(streams)) refuse_wire();
  const i64 rest = (set.last() - set.first()) & 63;
  for (const Part& p : parts) {
    const bool beyond = rest != 0 && p.set.words().back() >> rest != 0;
    if (p.set.size() != p.form.listed || beyond) refuse_wire();
    set.merge(p.set);
  }
  parts.clear();
}

}  // namespace

bool coding_pays(const IdSet& set, i64 n) {
  const i64 radix = set.last() - set.first();
  if (!may_be_coded(n, radix)) return false;
  const double part = static_cast<double>(n) / static_cast<double>(radix);
  return static_cast<double>(set.runs()) >= 0.75 * static_cast<double>(n) * (1 - part);
}

Wire encode_coded(const IdSet& set, i64 n) {
  const i64 radix = set.last() - set.first();
  const int number = ByteCode::suited(n, radix);
  Wire wire{{WireKind::bits, 0, 1, 0}, {}};
  const std::span<const std::uint8_t> bytes = set.bytes();
  // Of about half, nothing is shorter than a bit each.
  if (n <= radix / 8 * 3 || n >= radix / 8 * 5) {
    wire.bytes.resize(to_index(ByteCode::room(static_cast<i64>(bytes.size()))));
    const i64 bits = ByteCode::of(number).encode(bytes, wire.bytes.data());
    if (bits < radix && bits <= most_gaps) wire.form = {WireKind::coded, number, n, bits};
  }
  wire.bytes.resize(to_index(wire.form.bytes(radix)));
  if (wire.form.kind == WireKind::bits) copy_bytes(wire.bytes.data(), bytes.data(), bytes.size());
  return wire;
}

void decode_coded(IdSet& set, std::span<const WireForm> forms,
                  std::span<const std::vector<std::byte>> bytes) {
  constexpr std::size_t read_at_once = 8;  // more of them gain nothing
  std::vector<Part> parts;
  for (std::size_t q = 0; q < forms.size(); ++q) {
    if (forms[q].kind != WireKind::coded) continue;
    parts.push_back({forms[q], IdSet(set.first(), set.last()), BitReader(bytes[q])});
    if (parts.size() == read_at_once) merge(set, parts);
  }
  merge(set, parts);
}

}  // namespace tessera::dist
