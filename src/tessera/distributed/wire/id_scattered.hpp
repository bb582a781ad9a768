// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many ids that lie anywhere, as the bytes of a set of bits in a code that suits how many are set
// (byte_code). What id_wire.cpp needs and nobody else.
//   Wire w = encode_scattered(set, set.size());   Scattered sets(set);   sets.add(w.form, w.bytes);

#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/id_wire.hpp"

namespace tessera::dist {

// Without a list of the n ids. Empty where they are few, or lie together.
Wire encode_scattered(const IdSet& set, i64 n);

// Coded sets, read together.
class Scattered {
 public:
  explicit Scattered(IdSet& set) : set_(set) {}
  void add(const WireForm& form, std::span<const std::byte> bytes);
  // Those that are left, with what is in the set.
  void merge();

 private:
  struct Part {
    WireForm form;
    IdSet came;
    BitReader bits;
  };
  IdSet& set_;
  std::vector<Part> parts_;
};

}  // namespace tessera::dist
