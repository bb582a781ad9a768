// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/byte_code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "tessera/dist/at.hpp"
#include "tessera/dist/bit_writer.hpp"

namespace tessera::dist {
namespace {

using Weights = std::array<std::uint64_t, 256>;

// How often a byte comes up where d of 64 bits are set, in parts of 2^48.
Weights weights_of(int d) {
  Weights weights{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    weights[byte] = 1;
    for (unsigned bit = 0; bit < 8; ++bit)
      weights[byte] *= static_cast<std::uint64_t>((byte >> bit & 1) != 0 ? d : 64 - d);
  }
  return weights;
}

// The lengths of the best code with none above `longest` (package-merge): `longest` times, pairs of
// the lightest become packages among the symbols; each of the lightest 510 of the last round makes
// the codes of its symbols one longer.
std::array<std::uint8_t, 256> lengths_of(const Weights& weights, int longest) {
  struct Package {
    std::uint64_t weight;
    std::vector<std::uint8_t> symbols;
  };
  std::vector<Package> singles;
  for (unsigned s = 0; s < 256; ++s)
    singles.push_back({weights[s], {static_cast<std::uint8_t>(s)}});
  const auto lighter = [](const Package& a, const Package& b) { return a.weight < b.weight; };
  std::stable_sort(singles.begin(), singles.end(), lighter);
  std::vector<Package> round = singles;
  for (int k = 1; k < longest; ++k) {
    std::vector<Package> pairs, next;
    for (std::size_t i = 0; i + 1 < round.size(); i += 2) {
      pairs.push_back({round[i].weight + round[i + 1].weight, round[i].symbols});
      pairs.back().symbols.insert(pairs.back().symbols.end(), round[i + 1].symbols.begin(),
                                  round[i + 1].symbols.end());
    }
    std::merge(singles.begin(), singles.end(), pairs.begin(), pairs.end(), std::back_inserter(next),
               lighter);
    round = std::move(next);
  }
  std::array<std::uint8_t, 256> lengths{};
  for (std::size_t i = 0; i < 510; ++i)
    for (const std::uint8_t s : round[i].symbols) ++lengths[s];
  return lengths;
}

unsigned reversed(unsigned word, int length) {
  unsigned turned = 0;
  for (int k = 0; k < length; ++k) turned |= (word >> k & 1) << (length - 1 - k);
  return turned;
}

}  // namespace

ByteCode::ByteCode(int number) {
  const auto lengths = lengths_of(weights_of(number), longest);
  std::array<std::uint8_t, 256> order{};
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return lengths[a] < lengths[b]; });
  unsigned next = 0;
  int before = 0;
  for (const std::uint8_t byte : order) {
    const int length = lengths[byte];
    next <<= length - before;
    before = length;
    const unsigned word = reversed(next++, length);
    codes_[byte] = {static_cast<std::uint16_t>(word), lengths[byte]};
    for (unsigned more = word; more < symbols_.size(); more += 1U << length)
      symbols_[more] = {{byte, 0}, lengths[byte], static_cast<std::uint8_t>(1 << 4 | length)};
  }
  for (unsigned window = 0; window < symbols_.size(); ++window) {
    Symbols& s = symbols_[window];
    const Symbols& next_one = symbols_[window >> s.first_length];
    const int both = s.first_length + next_one.first_length;
    if (both > longest) continue;
    s.bytes[1] = next_one.bytes[0];
    s.count_and_length = static_cast<std::uint8_t>(2 << 4 | both);
  }
}

int ByteCode::suited(i64 set, i64 bits) {
  const i64 all = std::max<i64>(1, bits);
  return static_cast<int>(std::clamp<i64>((set * 64 + all / 2) / all, 1, count - 1));
}

const ByteCode& ByteCode::of(int number) {
  static std::array<std::once_flag, count> made;
  static std::array<std::unique_ptr<const ByteCode>, count> codes;
  std::call_once(made[at(number)],
                 [&] { codes[at(number)].reset(new ByteCode(std::clamp(number, 1, count - 1))); });
  return *codes[at(number)];
}

i64 ByteCode::bits(std::span<const std::uint8_t> bytes) const {
  i64 sum = 0;
  for (const std::uint8_t b : bytes) sum += codes_[b].length;
  return sum;
}

void ByteCode::encode(std::span<const std::uint8_t> bytes, std::span<std::uint64_t> words) const {
  BitWriter out(words.data(), 0);
  std::size_t k = 0;
  for (; k + 4 <= bytes.size(); k += 4) {  // at most 48 bits
    std::uint64_t four = 0;
    int length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const Code code = codes_[bytes[k + i]];
      four |= std::uint64_t{code.word} << length;
      length += code.length;
    }
    out.put(four, length);
  }
  for (; k < bytes.size(); ++k) out.put(codes_[bytes[k]].word, codes_[bytes[k]].length);
  out.flush();
}

bool ByteCode::decode(std::span<std::uint8_t> bytes, const std::byte* stream, i64 bits) const {
  constexpr std::uint64_t mask = (std::uint64_t{1} << longest) - 1;
  const Symbols* const symbols = symbols_.data();
  const auto n = static_cast<i64>(bytes.size());
  std::uint8_t* const out = bytes.data();
  i64 bit = 0, k = 0;
  const auto at_bit = [&] {
    std::uint64_t next = 0;
    std::memcpy(&next, stream + (bit >> 3), sizeof next);
    return next >> (bit & 7);
  };
  while (k + 8 <= n && bit <= bits) {  // four looks at 12 bits lie in eight bytes
    std::uint64_t next = at_bit();
    for (int look = 0; look < 4; ++look) {
      const Symbols s = symbols[next & mask];
      std::memcpy(out + k, s.bytes, 2);  // the second is written over where there is none
      k += s.count_and_length >> 4;
      next >>= s.count_and_length & 15;
      bit += s.count_and_length & 15;
    }
  }
  for (; k < n && bit <= bits; ++k) {
    const Symbols s = symbols[at_bit() & mask];
    out[k] = s.bytes[0];
    bit += s.first_length;
  }
  return k == n && bit == bits;
}

}  // namespace tessera::dist
