// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes what an operator holds (its state(), see state.hpp) as text and arrays.
//   w.put_all(op.state());

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/base/value.hpp"
#include "tessera/names/named_shape.hpp"

namespace tessera {

class NamedLinop;

struct LinopDescription {
  std::string text;  // JSON
  std::vector<Array> arrays;
};

class TESSERA_API StateWriter {
 public:
  using Foreign = std::function<i64(const NamedLinop&)>;
  explicit StateWriter(Foreign foreign);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;

  void put(bool v);
  void put(i64 v);
  void put(double v);
  void put(const std::string& v);
  void put(const Value& v);
  void put(NamedDimension v) { put(v.str()); }
  void put(Device v) { put(v.str()); }
  void put(DType v) { put(std::string(name(v))); }
  void put(const Array& v);  // also one without memory
  void put(const NamedLinop& v);
  void put(const NamedShape& v) { put_all(std::tuple(v.ishape, v.oshape)); }
  template <class T>
  requires std::is_enum_v<T>
  void put(T v) { put(static_cast<i64>(v)); }
  template <class T>
  void put(const std::optional<T>& v) {
    open();
    if (v) put(*v);
    close();
  }
  template <class A, class B>
  void put(const std::pair<A, B>& v) {
    put_all(std::tuple(v.first, v.second));
  }
  template <class T>
  void put(const std::vector<T>& v) {
    put_list(v);
  }
  template <class T, int n>
  void put(const SmallVec<T, n>& v) {
    put_list(v);
  }
  template <class T>
  requires requires(const T& v) { v.state(); }
  void put(const T& v) { put_all(v.state()); }

  template <class... T>
  void put_all(const std::tuple<T...>& values) {
    open();
    std::apply([this](const auto&... v) { (put(v), ...); }, values);
    close();
  }
  LinopDescription finished();  // of the one operator that was put

 private:
  void open();
  void close();
  template <class List>
  void put_list(const List& v) {
    open();
    for (const auto& e : v) put(e);
    close();
  }
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
