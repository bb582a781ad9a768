// SPDX-License-Identifier: Apache-2.0
#pragma once
// A place in zeroed words where bits are appended, lowest first; what is not whole yet stays in a
// register until flush(). Two of them may meet in one word.
//   BitWriter out(words, 0);   out.put(5, 3);   out.one_after(70);   out.flush();

#include <cstdint>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

class BitWriter {
 public:
  BitWriter(std::uint64_t* words, i64 bit) : word_(words + (bit >> 6)), fill_(bit & 63) {}
  void one_after(i64 zeros) {
    for (fill_ += zeros; fill_ >= 64; fill_ -= 64) next();
    rest_ |= std::uint64_t{1} << fill_++;
  }
  void put(std::uint64_t value, int count) {  // of less than 64 bits
    rest_ |= value << fill_;
    fill_ += count;
    if (fill_ < 64) return;
    next();
    fill_ -= 64;
    rest_ = value >> (count - fill_);
  }
  void flush() { *word_ |= rest_; }

 private:
  void next() {
    *word_++ |= rest_;
    rest_ = 0;
  }
  std::uint64_t* word_;
  std::uint64_t rest_ = 0;
  i64 fill_;  // bits of the word at hand; 64 only behind a one
};

}  // namespace tessera::dist
