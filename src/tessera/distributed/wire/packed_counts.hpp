// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small numbers as they travel: no larger than a known one, in as few bits as that takes.
//   Packing packing(8);   packing.bytes(1562) == 625;   told_to_all(mine, 8, comm)[rank]

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

// Numbers of 0 ... most as digits of larger ones, as many in each as waste the fewest bits.
class Packing {
 public:
  explicit Packing(i64 most) : radix_(static_cast<std::uint64_t>(most) + 1) {
    for (int k = 1; k <= 32 && fits(k); ++k)
      if (bits(k) * digits_ < bits(digits_) * k) digits_ = k;
  }
  i64 bytes(i64 count) const {
    const int left = static_cast<int>(count % digits_);
    return (count / digits_ * bits(digits_) + (left > 0 ? bits(left) : 0) + 7) / 8;
  }
  std::vector<std::byte> pack(std::span<const i64> numbers) const {
    std::vector<std::uint64_t> words(to_index(bytes(static_cast<i64>(numbers.size())) / 8 + 2));
    std::size_t bit = 0;
    each_word(static_cast<i64>(numbers.size()), [&](i64 first, int digits) {
      std::uint64_t word = 0;
      for (int k = digits; k-- > 0;)
        word = word * radix_ + static_cast<std::uint64_t>(numbers[to_index(first + k)]);
      words[bit >> 6] |= word << (bit & 63);
      if ((bit & 63) != 0) words[(bit >> 6) + 1] |= word >> (64 - (bit & 63));
      bit += to_index(bits(digits));
    });
    std::vector<std::byte> out(to_index(bytes(static_cast<i64>(numbers.size()))));
    copy_bytes(out.data(), words.data(), out.size());
    return out;
  }
  std::vector<i64> unpack(const std::byte* in, i64 count) const {
    std::vector<i64> numbers(to_index(count));
    std::vector<std::uint64_t> words(to_index(bytes(count) / 8 + 2));
    copy_bytes(words.data(), in, to_index(bytes(count)));
    std::size_t bit = 0;
    each_word(count, [&](i64 first, int digits) {
      const int n = bits(digits);
      std::uint64_t word = words[bit >> 6] >> (bit & 63);
      if ((bit & 63) != 0) word |= words[(bit >> 6) + 1] << (64 - (bit & 63));
      if (n < 64) word &= (std::uint64_t{1} << n) - 1;
      for (int k = 0; k < digits; ++k, word /= radix_)
        numbers[to_index(first + k)] = static_cast<i64>(word % radix_);
      bit += to_index(n);
    });
    return numbers;
  }

 private:
  bool fits(int digits) const {  // into 63 bits
    std::uint64_t left = std::uint64_t{1} << 63;
    for (int k = 0; k < digits; ++k) left /= radix_;
    return left > 0;
  }
  int bits(int digits) const {
    std::uint64_t most = 1;
    for (int k = 0; k < digits; ++k) most *= radix_;
    return std::bit_width(most - 1);
  }
  template <class F>
  void each_word(i64 count, F&& f) const {
    for (i64 first = 0; first < count; first += digits_)
      f(first, static_cast<int>(std::min<i64>(digits_, count - first)));
  }
  std::uint64_t radix_;
  int digits_ = 1;
};

// What all ranks say, by rank: as many numbers each, none above `most` (collective).
std::vector<std::vector<i64>> told_to_all(std::span<const i64> mine, i64 most,
                                          const Communicator& comm);

}  // namespace tessera::dist
