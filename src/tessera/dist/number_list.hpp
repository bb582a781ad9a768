// SPDX-License-Identifier: Apache-2.0
#pragma once
// A list of numbers of the host in pooled memory, whose pages were touched before: what a vector
// gets anew from the system for every call. Not cleared when it is made; copies share it.
//   NumberList list(3);   list[0] = 7;   std::span<const i64> all = list;

#include "tessera/base/shape.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {

class NumberList {
 public:
  NumberList() = default;
  explicit NumberList(std::size_t n)
      : storage_(Storage::allocate(cpu, static_cast<i64>(n * sizeof(i64)))),
        data_(static_cast<i64*>(storage_.data())),
        size_(n) {}
  void shorten(std::size_t n) { size_ = n; }  // to its first n
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  i64* data() { return data_; }
  const i64* data() const { return data_; }
  i64* begin() { return data_; }
  i64* end() { return data_ + size_; }
  const i64* begin() const { return data_; }
  const i64* end() const { return data_ + size_; }
  i64& operator[](std::size_t i) { return data_[i]; }
  i64 operator[](std::size_t i) const { return data_[i]; }

 private:
  Storage storage_;
  i64* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tessera
