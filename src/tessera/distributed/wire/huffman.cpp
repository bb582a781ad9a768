// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/huffman.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

using Weights = std::array<std::uint64_t, 256>;
using Lengths = std::array<std::uint8_t, 256>;

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

// Huffman's code lengths: the two lightest nodes get a parent until one is left.
Lengths huffman(const Weights& weights) {
  using Node = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> lightest;
  for (std::size_t s = 0; s < 256; ++s) lightest.emplace(weights[s], s);
  std::array<std::size_t, 511> parent{};
  for (std::size_t made = 256; made < parent.size(); ++made) {
    std::uint64_t sum = 0;
    for (int k = 0; k < 2; ++k, lightest.pop()) {
      sum += lightest.top().first;
      parent[lightest.top().second] = made;
    }
    lightest.emplace(sum, made);
  }
  Lengths lengths{};
  for (std::size_t s = 0; s < 256; ++s)
    for (std::size_t node = s; node != parent.size() - 1; node = parent[node]) ++lengths[s];
  return lengths;
}

// The same with no length above `longest`: rare bytes count for more until that holds.
Lengths lengths_of(const Weights& weights, int longest) {
  for (std::uint64_t least = std::uint64_t{1} << 36;; least += least / 8) {
    Weights raised = weights;
    for (std::uint64_t& w : raised) w = std::max(w, least);
    const Lengths lengths = huffman(raised);
    if (*std::max_element(lengths.begin(), lengths.end()) <= longest) return lengths;
  }
}

unsigned reversed(unsigned word, int length) {
  unsigned turned = 0;
  for (int k = 0; k < length; ++k) turned |= (word >> k & 1) << (length - 1 - k);
  return turned;
}

}  // namespace

HuffmanCode::HuffmanCode(int number) {
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
      symbols_[more] = {{byte, 0}, static_cast<std::uint8_t>(1 << 4 | length), lengths[byte]};
  }
  for (unsigned window = 0; window < symbols_.size(); ++window) {
    Symbols& s = symbols_[window];
    const int first = s.count_and_first & 15;
    const Symbols& next_one = symbols_[window >> first];
    const int both = first + (next_one.count_and_first & 15);
    if (both > longest) continue;
    s = {{s.bytes[0], next_one.bytes[0]},
         static_cast<std::uint8_t>(2 << 4 | first),
         static_cast<std::uint8_t>(both)};
  }
}

int HuffmanCode::suited(i64 set, i64 bits) {
  const i64 all = std::max<i64>(1, bits);
  return static_cast<int>(std::clamp<i64>((set * 64 + all / 2) / all, 1, count - 1));
}

const HuffmanCode& HuffmanCode::of(int number) {
  static std::array<std::once_flag, count> made;
  static std::array<std::unique_ptr<const HuffmanCode>, count> codes;
  std::call_once(made[to_index(number)], [&] {
    codes[to_index(number)].reset(new HuffmanCode(std::clamp(number, 1, count - 1)));
  });
  return *codes[to_index(number)];
}

i64 HuffmanCode::encode(std::span<const std::uint8_t> bytes, std::byte* out) const {
  static_assert(std::endian::native == std::endian::little);
  // Bits that are not a whole byte yet; each time all are written, and what is behind them is
  // written over by the next: no branch on where a word ends.
  std::uint64_t rest = 0;
  int fill = 0;
  std::byte* to = out;
  const auto put = [&](std::uint64_t word, int length) {  // with those before, at most 55
    rest |= word << fill;
    std::memcpy(to, &rest, sizeof rest);
    fill += length;
    to += fill >> 3;
    rest >>= fill & ~7;
    fill &= 7;
  };
  std::size_t k = 0;
  for (; k + 4 <= bytes.size(); k += 4) {
    const Code a = codes_[bytes[k]], b = codes_[bytes[k + 1]], c = codes_[bytes[k + 2]],
               d = codes_[bytes[k + 3]];
    const int first = a.length + b.length, second = c.length + d.length;
    const std::uint64_t ab = a.word | std::uint64_t{b.word} << a.length,
                        cd = c.word | std::uint64_t{d.word} << c.length;
    put(ab | cd << first, first + second);
  }
  for (; k < bytes.size(); ++k) put(codes_[bytes[k]].word, codes_[bytes[k]].length);
  return (to - out) * 8 + fill;
}

// A stream and how far it has been read.
class HuffmanCode::Reading {
 public:
  explicit Reading(const Stream& s)
      : symbols_(s.code->symbols_.data()),
        from_(s.from),
        bits_(s.bits),
        out_(s.bytes.data()),
        n_(static_cast<i64>(s.bytes.size())) {}

  // How often four looks are sure to stay within the stream and the bytes.
  i64 sure() const { return std::min((n_ - k_) / 8, (bits_ - bit_) / (4 * longest)); }
  void look_four_times() {
    const Symbols* const symbols = symbols_;  // in registers: bytes may be anybody's
    std::uint8_t* const out = out_;
    i64 bit = bit_, k = k_;
    std::uint64_t next = at_bit(bit);  // four looks at 12 bits lie in eight bytes
    for (int look = 0; look < 4; ++look) {
      const Symbols s = symbols[next & mask];
      std::memcpy(out + k, s.bytes, 2);  // the second is written over where there is none
      k += s.count_and_first >> 4;
      next >>= s.length;
      bit += s.length;
    }
    bit_ = bit;
    k_ = k;
  }
  // What is left, one by one; whether that was all.
  bool ends() {
    for (; k_ < n_ && bit_ <= bits_; ++k_) {
      const Symbols s = symbols_[at_bit(bit_) & mask];
      out_[k_] = s.bytes[0];
      bit_ += s.count_and_first & 15;
    }
    return k_ == n_ && bit_ == bits_;
  }

 private:
  static constexpr std::uint64_t mask = (std::uint64_t{1} << longest) - 1;
  std::uint64_t at_bit(i64 bit) const {
    std::uint64_t next = 0;
    std::memcpy(&next, from_ + (bit >> 3), sizeof next);
    return next >> (bit & 7);
  }
  const Symbols* symbols_;
  const std::byte* from_;
  i64 bits_;
  std::uint8_t* out_;
  i64 n_, bit_ = 0, k_ = 0;
};

bool HuffmanCode::decode(std::span<const Stream> streams) {
  std::vector<Reading> open(streams.begin(), streams.end());
  while (!open.empty()) {
    const auto shortest =
        std::min_element(open.begin(), open.end(),
                         [](const Reading& a, const Reading& b) { return a.sure() < b.sure(); });
    const i64 rounds = shortest->sure();
    if (rounds <= 0) {
      if (!shortest->ends()) return false;
      *shortest = open.back();
      open.pop_back();
      continue;
    }
    for (i64 round = 0; round < rounds; ++round)
      for (Reading& r : open) r.look_four_times();
  }
  return true;
}

}  // namespace tessera::dist
