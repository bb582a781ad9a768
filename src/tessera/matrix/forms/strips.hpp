// SPDX-License-Identifier: Apache-2.0
#pragma once
// Half of a square matrix without the other half: the upper triangle cut into strips of rows, each
// strip a plain rectangle that begins at its own first column. So every kernel that takes strided
// arrays works on packed data as it is, on every device, and the memory is half of n² and a little.
// The corner of a strip below the diagonal (and the diagonal, where there is none) is kept zero.
// Strips of bits are words (bitmatmul.hpp) and begin at multiples of 512 columns, so that rows stay
// whole 64 bytes.
//   Strips s(5000, /*bits=*/false);   for (const Strip& t : s.list()) use(s.part(data, t));

#include <cstdint>
#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

struct Strip {
  i64 begin = 0, end = 0;  // rows; its columns are [begin, n)
  i64 offset = 0;          // of its first element (bits: word) in the packed data
  i64 width = 0;           // elements (bits: words) of a row
};

// What lies below the diagonal of a full matrix, given the upper half.
enum class Below : std::uint8_t { zero, same, negative };

class TESSERA_API Strips {
 public:
  // Strips of `height` rows (the last one may be lower); bits in multiples of 512.
  Strips(i64 n, bool bits, i64 height = 0);  // 0: chosen from n
  i64 n() const { return n_; }
  i64 elements() const { return elements_; }  // of the packed data: a vector of so many
  const std::vector<Strip>& list() const { return list_; }
  // The rectangle of a strip, a view: (end - begin, width).
  Array part(const Array& data, const Strip& strip) const;
  // Where element (i, j), i <= j, lies; bits: its word, of which it is bit j % 64.
  i64 place(i64 i, i64 j) const;

  // Packs the upper triangle of a full matrix (without its diagonal where `strict`); bits: of full
  // words (bitmatmul.hpp). What lies below is not read.
  Array pack(const Array& full, bool strict) const;
  // Writes the zeros of the corners (and of the diagonal where `strict`) again: after an operation
  // that makes something else of zeros, as a product with infinity does. Not of bits.
  void clear_corners(const Array& data, bool strict) const;
  // The full matrix, in new memory on the device of the data; bits have zeros below.
  Array unpack(const Array& data, Below below = Below::zero) const;

 private:
  i64 n_, height_, elements_ = 0;
  bool bits_;
  std::vector<Strip> list_;
};

}  // namespace tessera
