// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tessera/base/error.hpp"
#include "tessera/distributed/wire/huffman.hpp"
#include "tessera/distributed/wire/id_gaps.hpp"
#include "tessera/distributed/wire/id_huffman.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

static_assert(std::endian::native == std::endian::little);

i64 runs_of(std::span<const i64> sorted) {
  i64 runs = 1;
  for (std::size_t k = 1; k < sorted.size(); ++k) runs += sorted[k] != sorted[k - 1] + 1;
  return runs;
}

std::vector<i64> numbers_of(std::span<const std::byte> bytes, i64 radix) {
  const i64 width = bytes_of_number(radix);
  std::vector<i64> numbers(bytes.size() / to_index(width));
  take_numbers(bytes.data(), width, numbers);
  return numbers;
}

std::vector<i64> runs_from(std::span<const std::byte> bytes, i64 base, i64 radix) {
  const std::vector<i64> numbers = numbers_of(bytes, radix);
  std::vector<i64> ids;
  i64 next = 0;
  for (std::size_t k = 0; k + 1 < numbers.size(); k += 2) {
    const i64 first = numbers[k], more = numbers[k + 1];
    if (first < next || first >= radix || more < 0 || more >= radix - first) refuse_ids();
    for (i64 id = 0; id <= more; ++id) ids.push_back(base + first + id);
    next = first + more + 1;
  }
  return ids;
}

std::vector<i64> bits_from(std::span<const std::byte> bytes, i64 base, i64 radix) {
  IdSet set(base, base + radix);
  copy_bytes(set.words().data(), bytes.data(), bytes.size());
  std::vector<i64> ids = set.ids();
  if (!ids.empty() && ids.back() >= base + radix) refuse_ids();
  return ids;
}

i64 simple_bytes(Encoding kind, i64 listed, i64 radix) {
  return IdFormat{kind, 0, listed, 0}.bytes(radix);
}

std::vector<i64> gaps_from(const IdFormat& format, std::span<const std::byte> bytes, i64 base,
                           i64 radix) {
  std::vector<i64> ids(to_index(format.listed));
  i64* to = ids.data();
  decode_gaps(format, bytes, base, radix, [&](i64 id) { *to++ = id; });
  return ids;
}

// Combined with what is in the set: every format but those that are read together.
void decode_one(IdSet& set, const IdFormat& format, std::span<const std::byte> bytes) {
  const i64 radix = set.last() - set.first();
  if (format.kind == Encoding::gaps) {
    const IdSet::Ascending ids(set);
    decode_gaps(format, bytes, set.first(), radix, [ids](i64 id) { ids.add(id); });
    return;
  }
  if (format.kind != Encoding::bitmap) {
    for (const i64 id : decode(format, bytes, set.first(), radix)) set.add(id);
    return;
  }
  IdSet other(set.first(), set.last());
  copy_bytes(other.words().data(), bytes.data(), bytes.size());
  if (const i64 rest = radix & 63; rest != 0 && other.words().back() >> rest != 0) refuse_ids();
  set.merge(other);
}

void put_runs(std::span<const i64> sorted, i64 base, i64 radix, std::byte* out) {
  const i64 width = bytes_of_number(radix);
  for (std::size_t k = 0; k < sorted.size(); out += 2 * width) {
    std::size_t end = k + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    // A length is stored less one: it may be the radix itself.
    put_numbers(std::array{sorted[k] - base, static_cast<i64>(end - k) - 1}, width, out);
    k = end;
  }
}

// The shortest of all encodings but Huffman's.
EncodedIds encode_list(std::span<const i64> sorted, i64 base, i64 radix) {
  EncodedIds encoded = encode_gaps(sorted, base, radix);
  i64 least =
      encoded.format.empty() ? std::numeric_limits<i64>::max() : encoded.format.bytes(radix);
  const auto consider = [&](Encoding kind, i64 listed) {
    const IdFormat format{kind, 0, listed, 0};
    if (format.bytes(radix) > least) return;
    encoded.format = format;
    least = format.bytes(radix);
  };
  consider(Encoding::bitmap, 1);
  consider(Encoding::runs, runs_of(sorted));
  consider(Encoding::numbers, static_cast<i64>(sorted.size()));
  if (encoded.format.kind == Encoding::gaps) return encoded;
  encoded.bytes.assign(to_index(least), std::byte{0});
  if (encoded.format.kind == Encoding::bitmap) {
    for (const i64 id : sorted)
      encoded.bytes[to_index((id - base) >> 3)] |= std::byte{1} << ((id - base) & 7);
  } else if (encoded.format.kind == Encoding::runs) {
    put_runs(sorted, base, radix, encoded.bytes.data());
  } else {
    std::vector<i64> numbers(sorted.begin(), sorted.end());
    for (i64& n : numbers) n -= base;
    put_numbers(numbers, bytes_of_number(radix), encoded.bytes.data());
  }
  return encoded;
}

}  // namespace

void refuse_ids() {
  throw CommError("the positions that another rank sent are damaged: they cannot be read");
}

i64 bytes_of_number(i64 radix) {
  if (radix <= (i64{1} << 8)) return 1;
  if (radix <= (i64{1} << 16)) return 2;
  return radix <= (i64{1} << 32) ? 4 : 8;
}

i64 most_encoded_bytes(i64 ids, i64 radix) {
  return std::min(simple_bytes(Encoding::numbers, ids, radix),
                  simple_bytes(Encoding::bitmap, ids, radix));
}

i64 longest_encoding(i64 radix) { return (radix + 7) / 8; }  // a bit for each

i64 IdFormat::bytes(i64 radix) const {
  const bool possible = kind == Encoding::huffman ? low < HuffmanCode::count && high <= radix
                                                  : low <= most_low && high <= radix >> low;
  if ((listed < 0 || listed > radix || !possible) && kind != Encoding::positions) refuse_ids();
  switch (kind) {
    case Encoding::numbers: return listed * bytes_of_number(radix);
    case Encoding::runs: return listed * 2 * bytes_of_number(radix);
    case Encoding::bitmap: return longest_encoding(radix);
    case Encoding::gaps: return (listed * (1 + low) + high + 7) / 8;
    case Encoding::huffman: return (high + 7) / 8;
    default: return 0;
  }
}

void put_numbers(std::span<const i64> numbers, i64 width, std::byte* out) {
  for (const i64 n : numbers) {
    std::memcpy(out, &n, to_index(width));  // lowest bytes first on our machines
    out += width;
  }
}

void take_numbers(const std::byte* in, i64 width, std::span<i64> numbers) {
  for (i64& n : numbers) {
    n = 0;
    std::memcpy(&n, in, to_index(width));
    in += width;
  }
}

EncodedIds encode(std::span<const i64> sorted, i64 base, i64 radix) {
  const auto n = static_cast<i64>(sorted.size());
  if (n == 0) return {};
  if (may_be_huffman(n, radix)) {
    IdSet set(base, base + radix);
    set.add(sorted);
    if (huffman_pays(set, n)) return encode_huffman(set, n);
  }
  return encode_list(sorted, base, radix);
}

EncodedIds encode(const IdSet& set) {
  const i64 n = set.size();
  if (n == 0) return {};
  return huffman_pays(set, n) ? encode_huffman(set, n)
                              : encode_list(set.ids(), set.first(), set.last() - set.first());
}

std::vector<i64> decode(const IdFormat& format, std::span<const std::byte> bytes, i64 base,
                        i64 radix) {
  if (static_cast<i64>(bytes.size()) != format.bytes(radix)) refuse_ids();
  switch (format.kind) {
    case Encoding::bitmap: return bits_from(bytes, base, radix);
    case Encoding::runs: return runs_from(bytes, base, radix);
    case Encoding::gaps: return gaps_from(format, bytes, base, radix);
    case Encoding::huffman: {
      IdSet set(base, base + radix);
      decode_huffman(set, {&format, 1}, std::array{std::vector(bytes.begin(), bytes.end())});
      return set.ids();
    }
    case Encoding::numbers: break;
    default: refuse_ids();
  }
  std::vector<i64> numbers = numbers_of(bytes, radix);
  i64 before = -1;
  for (i64& n : numbers) {
    if (n <= before || n >= radix) refuse_ids();
    before = n;
    n += base;
  }
  return numbers;
}

void decode_into(IdSet& set, std::span<const IdFormat> formats,
                 std::span<const std::vector<std::byte>> bytes) {
  for (std::size_t q = 0; q < formats.size(); ++q) {
    if (formats[q].empty()) continue;
    if (static_cast<i64>(bytes[q].size()) != formats[q].bytes(set.last() - set.first()))
      refuse_ids();
    if (formats[q].kind != Encoding::huffman) decode_one(set, formats[q], bytes[q]);
  }
  decode_huffman(set, formats, bytes);
}

// Problem 1 bit, kind 3; then either the number of what is listed, or low 6, listed 27, high 27.
Header Header::of(const IdFormat& format, bool problem) {
  const auto listed = static_cast<std::uint64_t>(format.listed);
  std::uint64_t size = listed;
  if (format.detailed())
    size = static_cast<std::uint64_t>(format.low) | listed << 6 |
           static_cast<std::uint64_t>(format.high) << 33;
  return {size << 4 | static_cast<std::uint64_t>(format.kind) << 1 |
          static_cast<std::uint64_t>(problem)};
}

IdFormat Header::format() const {
  const std::uint64_t kind = word >> 1 & 7, size = word >> 4;
  if (kind > static_cast<std::uint64_t>(Encoding::positions)) refuse_ids();
  IdFormat format{static_cast<Encoding>(kind)};
  if (format.detailed()) {
    format.low = static_cast<int>(size & 63);
    format.listed = static_cast<i64>(size >> 6) & most_gaps;
    format.high = static_cast<i64>(size >> 33);
  } else {
    format.listed = static_cast<i64>(size);
  }
  return format;
}

}  // namespace tessera::dist
