// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of ids (ids.hpp) of one range, one bit for each: sorted and without repeats as soon as
// it is filled, where the range is not much longer than the list. Host memory; nothing is checked.
//   IdSet set(0, 100);   set.add(7);   set.ids() == {7}

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

class IdSet {
 public:
  IdSet() = default;
  IdSet(i64 first, i64 last)
      : first_(first), last_(last), words_(static_cast<std::size_t>((last - first + 63) / 64)) {}
  // A set of bits costs a pass over the whole range: worth it while that is not much longer than
  // the list.
  static bool pays(i64 range, i64 entries) { return range <= 64 * entries + 1024; }

  i64 first() const { return first_; }
  i64 last() const { return last_; }
  void add(i64 id) {
    const i64 at = id - first_;
    words_[static_cast<std::size_t>(at >> 6)] |= std::uint64_t{1} << (at & 63);
  }
  void add(std::span<const i64> ids) {  // four at a time, as the loop itself costs as much as one
    std::size_t k = 0;
    for (; k + 4 <= ids.size(); k += 4) {
      add(ids[k]);
      add(ids[k + 1]);
      add(ids[k + 2]);
      add(ids[k + 3]);
    }
    for (; k < ids.size(); ++k) add(ids[k]);
  }
  i64 size() const {
    return set_bits([this](std::size_t w) { return words_[w]; });
  }
  i64 runs() const {  // of ids without a gap
    i64 sum = set_bits([this](std::size_t w) { return words_[w] & ~(words_[w] << 1); });
    for (std::size_t w = 1; w < words_.size(); ++w)  // those that begin in the word before
      sum -= static_cast<i64>(words_[w - 1] >> 63 & words_[w]);
    return sum;
  }
  // f(id), ascending.
  template <class F>
  void each(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(first_ + static_cast<i64>(w) * 64 + std::countr_zero(rest));
  }
  std::vector<i64> ids() const {
    // Eight at a time, those beyond the last of a word written over by the next: where a word ends
    // is hard to foresee.
    constexpr int batch = 8;
    const auto n = static_cast<std::size_t>(size());
    std::vector<i64> all(n + batch);
    i64 *to = all.data(), base = first_;
    for (const std::uint64_t word : words_) {
      const int count = std::popcount(word);
      std::uint64_t rest = word;
      for (int done = 0; done < count; done += batch)
        for (int k = 0; k < batch; ++k, rest &= rest - 1)
          to[done + k] = base + std::countr_zero(rest);
      to += count;
      base += 64;
    }
    all.resize(n);
    return all;
  }
  // The part of it that lies in [first, last), which is inside of its own range.
  IdSet within(i64 first, i64 last) const {
    IdSet part(first, last);
    const auto from = static_cast<std::size_t>((first - first_) >> 6);
    const auto shift = static_cast<unsigned>((first - first_) & 63);
    for (std::size_t w = 0; w < part.words_.size(); ++w) {
      part.words_[w] = words_[from + w] >> shift;
      if (shift != 0 && from + w + 1 < words_.size())
        part.words_[w] |= words_[from + w + 1] << (64 - shift);
    }
    if (const i64 rest = (last - first) & 63; rest != 0)
      part.words_.back() &= (std::uint64_t{1} << rest) - 1;
    return part;
  }
  void merge(const IdSet& other) {  // of the same range
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  // add() for ids that ascend: by bytes, since a word would have to wait for the id before.
  class Ascending {
   public:
    explicit Ascending(IdSet& set) : first_(set.first_), bytes_(set.bytes().data()) {}
    void add(i64 id) const {
      const i64 at = id - first_;
      bytes_[at >> 3] = static_cast<std::uint8_t>(bytes_[at >> 3] | 1U << (at & 7));
    }

   private:
    i64 first_;
    std::uint8_t* bytes_;
  };
  // The bits, eight in a byte: as many as its range needs.
  std::span<std::uint8_t> bytes() {
    static_assert(std::endian::native == std::endian::little);
    return {reinterpret_cast<std::uint8_t*>(words_.data()),
            static_cast<std::size_t>((last_ - first_ + 7) / 8)};
  }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(words_.data()),
            static_cast<std::size_t>((last_ - first_ + 7) / 8)};
  }
  std::span<std::uint64_t> words() { return words_; }
  std::span<const std::uint64_t> words() const { return words_; }

 private:
  // In the numbers word(0), word(1), ... that belong to the words. In vector units, which not all
  // count bits: in each byte for some words together, then all bytes.
  template <class F>
  i64 set_bits(const F& word) const {
    constexpr std::uint64_t odd = 0x5555555555555555, pairs = 0x3333333333333333,
                            fours = 0x0f0f0f0f0f0f0f0f, low = 0x00ff00ff00ff00ff;
    constexpr std::size_t together = 31;  // times 8 in each byte
    i64 sum = 0;
    for (std::size_t w = 0; w < words_.size(); w += together) {
      const std::size_t end = std::min(w + together, words_.size());
      std::uint64_t bytes = 0;
      for (std::size_t k = w; k < end; ++k) {
        std::uint64_t bits = word(k);
        bits -= bits >> 1 & odd;
        bits = (bits & pairs) + (bits >> 2 & pairs);
        bytes += (bits + (bits >> 4)) & fours;
      }
      sum += static_cast<i64>(((bytes & low) + (bytes >> 8 & low)) * 0x0001000100010001U >> 48);
    }
    return sum;
  }

  i64 first_ = 0, last_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace tessera::dist
