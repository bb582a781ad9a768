// SPDX-License-Identifier: Apache-2.0
#pragma once
// A vector whose first N elements live inside it, for shapes, strides and operand lists: no heap up
// to rank
// 6. Only trivially copyable elements; not a general container (no insert in the middle of large
// data in mind, no allocator).
//   SmallVec<i64, 6> s{3, 4};  s.push_back(5);

#include <algorithm>
#include <cassert>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>

#include "tessera/base/api.hpp"

namespace tessera {

template <class T, int N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVec() = default;
  SmallVec(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  explicit SmallVec(i64 n, T value = T{}) { resize(n, value); }
  explicit SmallVec(std::span<const T> s) { assign(s.data(), s.data() + s.size()); }
  template <std::forward_iterator It>
  SmallVec(It first, It last) {
    assign(first, last);
  }
  SmallVec(const SmallVec& o) { assign(o.begin(), o.end()); }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      release();
      steal(o);
    }
    return *this;
  }
  ~SmallVec() { release(); }

  i64 size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : inline_; }
  const T* data() const { return heap_ ? heap_ : inline_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](i64 i) {
    assert(i >= 0 && i < size_);
    return data()[i];
  }
  const T& operator[](i64 i) const {
    assert(i >= 0 && i < size_);
    return data()[i];
  }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(T v) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = v;
  }
  void pop_back() { --size_; }
  void resize(i64 n, T value = T{}) {
    if (n > capacity_) grow(n);
    for (i64 i = size_; i < n; ++i) data()[i] = value;
    size_ = static_cast<std::int32_t>(n);
  }
  void insert(i64 at, T v) {
    push_back(v);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(i64 at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  template <std::forward_iterator It>
  void assign(It first, It last) {
    const i64 n = std::distance(first, last);
    if (n > capacity_) grow(n);
    std::copy(first, last, data());
    size_ = static_cast<std::int32_t>(n);
  }
  void append(const SmallVec& o) {
    for (const T& v : o) push_back(v);
  }

  operator std::span<const T>() const { return {data(), static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return *this; }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // Out of line: seldom needed, and otherwise part of every function that fills a shape.
  [[gnu::noinline, gnu::cold]] void grow(i64 n) {
    const i64 capacity = std::max<i64>(n, 2 * static_cast<i64>(capacity_));
    T* p = new T[static_cast<std::size_t>(capacity)];
    std::copy(begin(), end(), p);
    delete[] heap_;
    heap_ = p;
    capacity_ = static_cast<std::int32_t>(capacity);
  }
  void release() {
    delete[] heap_;
    heap_ = nullptr;
    capacity_ = N;
    size_ = 0;
  }
  void steal(SmallVec& o) noexcept {
    if (o.heap_) {
      heap_ = o.heap_;
      capacity_ = o.capacity_;
      o.heap_ = nullptr;
      o.capacity_ = N;
    } else {
      std::copy(o.inline_, o.inline_ + o.size_, inline_);
    }
    size_ = o.size_;
    o.size_ = 0;
  }

  T* heap_ = nullptr;
  std::int32_t size_ = 0;
  std::int32_t capacity_ = N;
  T inline_[N];
};

}  // namespace tessera
