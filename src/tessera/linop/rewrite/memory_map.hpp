// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts operators onto a device with exactly the bytes that they need there. Views that are the same
// become one array; views that share elements (a matrix and its transpose, a slice and the whole,
// real and imaginary parts) share them on the device; a tile of a strided array takes the bytes of
// its elements, not those between. Tiles that were neighbours lie side by side again where nothing
// is between them. Arrays that are on the device already are left as they are.
//   MemoryMap map(gpu);  for (const NamedLinop& t : tiles) map.add(t);
//   NamedLinop placed = map.place(tiles[0]);   map.bytes();

#include <map>
#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

class TESSERA_API MemoryMap {
 public:
  explicit MemoryMap(Device device) : device_(device) {}
  // What is added before the next place() is laid out together.
  void add(const NamedLinop& a);
  NamedLinop place(const NamedLinop& a);  // adds it, if that was not done
  // What was allocated on the device.
  i64 bytes() const { return bytes_; }

 private:
  friend class NamedLinop;  // deep_copy(): everything anew where it is
  struct Key {
    std::uintptr_t data;
    DType dtype;
    Shape shape, strides;
    bool operator<(const Key& o) const;
  };
  struct Entry {
    Array from, to;
  };
  MemoryMap() = default;
  static Key key_of(const Array& a);
  Device target(const Array& a) const { return device_.value_or(a.device()); }
  void add(const Array& a);
  void lay_out();

  std::optional<Device> device_;
  std::map<Key, Entry> entries_;
  std::vector<Key> waiting_;  // added, not laid out
  i64 bytes_ = 0;
};

// It says itself which devices it runs on: a ToDevice, or what has one inside.
TESSERA_API bool crosses_devices(const NamedLinop& a);

// Bytes by device of the arrays that an operator holds; memory that several share counts once, and
// what a view skips does not count.
TESSERA_API std::vector<std::pair<Device, i64>> bytes_by_device(const NamedLinop& a);
TESSERA_API i64 bytes_together(const std::vector<Array>& arrays);  // the same for arrays
TESSERA_API std::string memory_report(const NamedLinop& a);  // "cpu: 2.00 KiB in 3 arrays", by line

}  // namespace tessera
