// SPDX-License-Identifier: Apache-2.0
#pragma once
// A list of numbers of the host in pooled memory, whose pages were touched before: what a vector
// gets anew from the system for every call. Not cleared when it is made; copies share it.
//   NumberList list(3);   list[0] = 7;   std::span<const i64> all = list;

#include <algorithm>
#include <cstdint>
#include <span>

#include "tessera/base/shape.hpp"
#include "tessera/device/storage.hpp"

namespace tessera::dist {

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

// Numbers that are kept for long, none of them negative: in four bytes each where the largest
// allows. Read a piece at a time.
//   NarrowList list(numbers, 1000);   NumberList some = list.piece(20, 10);
class NarrowList {
 public:
  NarrowList() = default;
  // None of the `n` numbers next() is above `most`.
  template <class Next>
  NarrowList(std::size_t n, i64 most, Next&& next)
      : storage_(Storage::allocate(cpu, static_cast<i64>(n) * width(most))),
        size_(n),
        narrow_(width(most) == sizeof(std::uint32_t)) {
    if (narrow_)
      std::generate_n(static_cast<std::uint32_t*>(storage_.data()), n,
                      [&] { return static_cast<std::uint32_t>(next()); });
    else
      std::generate_n(static_cast<i64*>(storage_.data()), n, next);
  }
  NarrowList(std::span<const i64> numbers, i64 most)
      : NarrowList(numbers.size(), most, [at = numbers.data()]() mutable { return *at++; }) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  i64 operator[](std::size_t i) const {
    return narrow_ ? static_cast<const std::uint32_t*>(storage_.data())[i]
                   : static_cast<const i64*>(storage_.data())[i];
  }
  NumberList piece(i64 first, i64 count) const {
    NumberList list(static_cast<std::size_t>(count));
    if (count == 0) return list;
    if (narrow_)
      std::copy_n(static_cast<const std::uint32_t*>(storage_.data()) + first, count, list.data());
    else
      std::copy_n(static_cast<const i64*>(storage_.data()) + first, count, list.data());
    return list;
  }
  NumberList all() const { return piece(0, static_cast<i64>(size_)); }

 private:
  static i64 width(i64 most) { return most >> 32 == 0 ? sizeof(std::uint32_t) : sizeof(i64); }
  Storage storage_;
  std::size_t size_ = 0;
  bool narrow_ = false;
};

}  // namespace tessera::dist
