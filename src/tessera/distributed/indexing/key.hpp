// SPDX-License-Identifier: Apache-2.0
#pragma once
// A NumPy key whose arrays may be distributed. Arrays that are the same on every rank are plain
// Arrays; a DNDarray brings its distribution. Keys are values: what is changed after the call does
// not matter, and a key is never changed by being used.
//   DistIndex key{Slice{1, 5}, indices};   x[key];   explain(x, key).str();

#include "tessera/array/index.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

class TESSERA_API DistIndex {
 public:
  DistIndex() = default;  // x[()]
  DistIndex(const Index& index) : index_(index), distribution_(index.arrays().size()) {}
  template <class... Items>
  requires(sizeof...(Items) > 0 && !(std::same_as<std::remove_cvref_t<Items>, DistIndex> || ...) &&
           !(std::same_as<std::remove_cvref_t<Items>, Index> || ...))
      DistIndex(const Items&... items) {
    (add(items), ...);
  }
  template <class T>
  requires(!std::same_as<T, DNDarray> && !std::same_as<T, Array>) void add(const T& item) {
    index_.add(item);
    distribution_.resize(index_.arrays().size());
  }
  void add(const Array& a);  // the same on every rank
  // Of rank 0: the number (collective where one rank owns it). Without a split: the array. With
  // one, a stand-in of its shape takes its place in index().
  void add(const DNDarray& a);

  // The key as NumPy sees it; an array with a distribution is a stand-in (strides 0) here.
  const Index& index() const { return index_; }
  // Beside index().arrays(): the distributed array, or an empty handle.
  const std::vector<DNDarray>& distribution() const { return distribution_; }
  bool distributed() const;
  std::string str() const { return index_.str(); }

 private:
  Index index_;
  std::vector<DNDarray> distribution_;
};

// What is wrong with a key before its arrays are broadcast and looked into: NumPy says that before
// it converts a value. IndexError, ArgumentError; nothing is sent.
TESSERA_API void require_key(const DNDarray& x, const DistIndex& key);

}  // namespace tessera::dist
