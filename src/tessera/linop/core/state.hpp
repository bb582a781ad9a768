// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator is made of as text and arrays, so that it can be pickled, saved and sent to
// another process. An operator takes part by two members: state(), a tuple of what it holds, and a
// static from_state(...) with one parameter for each, which checks them as a constructor does:
// descriptions come from files, and files can hold anything. Structs inside a state take part in
// the same way. Streams, events, plans and other caches are no state.
//   auto state() const { return std::tuple(weight, names, conjugated); }
//   static Dense from_state(Array weight, const NamedShape& names, bool conjugated);

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

class TESSERA_API StateReader {
 public:
  using Foreign = std::function<NamedLinop(i64)>;
  struct Impl;
  explicit StateReader(Impl& impl) : impl_(impl) {}

  template <class T>
  T get() {
    return read(static_cast<T*>(nullptr));
  }
  // Struct::from_state(...) of the values that follow.
  template <class T>
  auto from_state() {
    return called(&T::from_state);
  }

 private:
  bool read(const bool*);
  i64 read(const i64*);
  double read(const double*);
  std::string read(const std::string*);
  Value read(const Value*);
  NamedDimension read(const NamedDimension*);
  Device read(const Device*);
  DType read(const DType*);
  Array read(const Array*);
  NamedLinop read(const NamedLinop*);
  NamedShape read(const NamedShape*);
  template <class T>
  requires std::is_enum_v<T> T read(const T*) {
    return static_cast<T>(limited(static_cast<i64>(last_of(T{}))));
  }
  template <class T>
  std::optional<T> read(const std::optional<T>*) {
    std::optional<T> v;
    if (open(0, 1) == 1) v = get<T>();
    close();
    return v;
  }
  template <class A, class B>
  std::pair<A, B> read(const std::pair<A, B>*) {
    open(2, 2);
    A first = get<A>();
    std::pair<A, B> v(std::move(first), get<B>());
    close();
    return v;
  }
  template <class T>
  std::vector<T> read(const std::vector<T>*) {
    return list<std::vector<T>, T>();
  }
  template <class T, int n>
  SmallVec<T, n> read(const SmallVec<T, n>*) {
    return list<SmallVec<T, n>, T>();
  }
  template <class T>
  requires requires { &T::from_state; }
  T read(const T*) { return from_state<T>(); }

  template <class List, class T>
  List list() {
    List v;
    for (i64 n = open(0, -1); n > 0; --n) v.push_back(get<T>());
    close();
    return v;
  }
  template <class R, class... Args>
  R called(R (*make)(Args...)) {
    open(sizeof...(Args), sizeof...(Args));
    std::tuple<std::decay_t<Args>...> values{get<std::decay_t<Args>>()...};  // in this order
    close();
    return std::apply(make, std::move(values));
  }
  i64 open(i64 least, i64 most);  // a list; its length
  void close();
  i64 limited(i64 last);  // a number from 0 to last

  Impl& impl_;
};

// Which kinds can be restored, and how. Each layer lists its own; what is unknown is an IoError.
using OperatorReaders =
    std::vector<std::pair<std::string_view, NamedLinop (*)(StateReader& reader)>>;
template <class T>
std::pair<std::string_view, NamedLinop (*)(StateReader&)> reader_of() {
  return {T::kind, [](StateReader& r) { return NamedLinop(r.from_state<T>()); }};
}
TESSERA_API OperatorReaders linop_readers();

// Operators without a state (functions of the caller's) are numbered by `foreign`, which restore()
// asks for them by number; where there is none they are a DTypeError.
TESSERA_API LinopDescription describe(const NamedLinop& a, StateWriter::Foreign foreign = {});
// IoError for what is no description; what an operator's constructor refuses is refused here.
TESSERA_API NamedLinop restore(const LinopDescription& d, const OperatorReaders& readers,
                               StateReader::Foreign foreign = {});

}  // namespace tessera
