// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_scattered.hpp"

#include "tessera/distributed/wire/byte_code.hpp"
#include "tessera/distributed/wire/id_gaps.hpp"

namespace tessera::dist {
namespace {

constexpr std::size_t read_at_once = 8;  // more of them gain nothing

}  // namespace

Wire encode_scattered(const IdSet& set, i64 n) {
  const i64 radix = set.last() - set.first();
  Wire wire;
  if (radix <= 4096 || n < radix / 12 || n > radix - radix / 12) return wire;
  const double part = static_cast<double>(n) / static_cast<double>(radix);
  if (static_cast<double>(set.runs()) < 0.75 * static_cast<double>(n) * (1 - part)) return wire;
  const int number = ByteCode::suited(n, radix);
  const ByteCode& code = ByteCode::of(number);
  const std::span<const std::uint8_t> bytes = set.bytes();
  wire.bytes.resize(to_index(ByteCode::room(static_cast<i64>(bytes.size()))));
  const i64 bits = code.encode(bytes, wire.bytes.data());
  if (bits >= radix || bits > most_gaps) return {};
  wire.form = {WireKind::coded, number, n, bits};
  wire.bytes.resize(to_index(wire.form.bytes(radix)));
  return wire;
}

void Scattered::add(const WireForm& form, std::span<const std::byte> bytes) {
  parts_.push_back({form, IdSet(set_.first(), set_.last()), BitReader(bytes)});
  if (parts_.size() == read_at_once) merge();
}

void Scattered::merge() {
  std::vector<ByteCode::Stream> streams;
  streams.reserve(parts_.size());
  for (Part& p : parts_)
    streams.push_back({&ByteCode::of(p.form.low), p.bits.bytes(), p.form.high, p.came.bytes()});
  if (!ByteCode::decode(streams)) refuse_wire();
  const i64 rest = (set_.last() - set_.first()) & 63;
  for (const Part& p : parts_) {
    const bool beyond = rest != 0 && p.came.words().back() >> rest != 0;
    if (p.came.size() != p.form.listed || beyond) refuse_wire();
    set_.merge(p.came);
  }
  parts_.clear();
}

}  // namespace tessera::dist
