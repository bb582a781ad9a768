// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads .tessera files (snapshot_format.hpp), whole arrays or slices of them: only the pieces that
// a slice touches are read, and every piece that is read is checked against its checksum. The file
// stays open: what replaces it later is not seen. Safe for several threads at once. What a file
// says is believed only after it was checked: no array takes more memory than the file has bytes.
//   Snapshot s("x.tessera");   Array rows = s.read(0, {{10, 5, 2}});   s.description()

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/array/array.hpp"
#include "tessera/store/snapshot/snapshot_format.hpp"

namespace tessera {

// Elements begin, begin + step, ... `count` of them; the step is positive.
struct SnapshotRange {
  i64 begin = 0, count = 0, step = 1;
};

class TESSERA_API Snapshot {
 public:
  explicit Snapshot(const std::string& path);
  // Of memory, which has to stay as it is; `who` begins the texts of errors.
  Snapshot(std::span<const std::byte> bytes, std::string who);

  const std::vector<SnapshotEntry>& entries() const;
  const std::string& description() const;
  // IndexError for an unknown name lists what there is.
  i64 find(std::string_view name) const;
  // On the cpu, in C order. IoError where a checksum is wrong.
  Array read(i64 entry) const;
  // One range for each of the first axes, the others whole. IndexError where one leaves its axis.
  Array read(i64 entry, std::span<const SnapshotRange> ranges) const;
  // Reads everything, and keeps nothing.
  void check() const;

  const SnapshotSlot& slot() const;
  i64 slot_at() const;  // where the one that was believed stands
  i64 alignment() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera
