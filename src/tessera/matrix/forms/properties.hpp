// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of a matrix without looking at its elements: properties that somebody declared
// (true, false or unknown; trusted, never verified on the way) and values that were derived once
// (trace, determinant, ...). They follow transposes, conjugates and scales, and are forgotten when
// an element is set. Checking a declaration against the elements is check() in
// properties_check.hpp.
//   p.declare(Property::is_diagonal, true);   p.is(Property::is_upper_triangular)

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/array/array.hpp"

namespace tessera {

enum class Property : std::uint8_t {
  is_zero,
  is_identity,
  is_permutation,
  is_diagonal,
  is_upper_triangular,
  is_lower_triangular,
  has_unit_diagonal,
  has_zero_diagonal,
  is_symmetric,
  is_anti_symmetric,
  is_hermitian,
  is_skew_hermitian,
  is_unitary,
  is_atomic,
  is_sorted,
  is_strictly_sorted,
  is_unit_norm
};
inline constexpr int property_count = 17;
TESSERA_API std::string_view name(Property p);
TESSERA_API bool needs_square(Property p);                   // only square matrices can have it
TESSERA_API bool needs_vector(Property p);                   // only those of one row or column
TESSERA_API Property parse_property(std::string_view text);  // ArgumentError with the list

struct Derived {
  std::optional<Value> trace, determinant, sum, diagonal_value;
  std::optional<double> norm;  // Frobenius
  Array eigenvalues;           // no array: not known
};

// Derived values that handles share until one of them derives more. They are exchanged as a whole:
// threads that only read a matrix, and so derive the same values, may do so at once.
class DerivedCell {
 public:
  DerivedCell() = default;
  DerivedCell(const DerivedCell& other) : values_(other.values_.load()) {}
  DerivedCell& operator=(const DerivedCell& other) {
    values_.store(other.values_.load());
    return *this;
  }
  ~DerivedCell() = default;
  bool empty() const { return !values_.load(); }
  Derived get() const {
    const auto values = values_.load();
    return values ? *values : Derived{};
  }
  void set(Derived values) { values_.store(std::make_shared<const Derived>(std::move(values))); }

 private:
  std::atomic<std::shared_ptr<const Derived>> values_;  // nothing: no value is known
};

class TESSERA_API Properties {
 public:
  Properties(i64 rows, i64 cols) : rows_(rows), cols_(cols) {}
  // No value forgets it. ArgumentError where the shape or another declaration contradicts it (a
  // 2 x 3 unitary, two sorted rows, an identity that is zero, a diagonal that is not triangular).
  void declare(Property p, std::optional<bool> value);
  std::optional<bool> declared(Property p) const {
    const std::uint32_t bit = std::uint32_t{1} << static_cast<int>(p);
    return known_ & bit ? std::optional((true_ & bit) != 0) : std::nullopt;
  }
  bool none() const { return true_ == 0; }  // of them is declared true
  // Declared, or following from what is declared (identity: diagonal, symmetric, unitary ...).
  bool is(Property p) const;
  Derived derived() const { return derived_.get(); }
  void set_derived(Derived values) { derived_.set(std::move(values)); }
  template <class Member, class V>
  void keep(Member Derived::*what, V&& value) {
    Derived values = derived();
    values.*what = std::forward<V>(value);
    set_derived(std::move(values));
  }

  // `complex`: whether the matrix holds complex numbers. A transpose of such a one is not known to
  // be Hermitian or unitary any more, an adjoint is.
  Properties transposed(bool complex) const;
  Properties conjugated(bool complex) const;
  Properties adjoint(bool complex) const;
  Properties scaled(const Value& by) const;
  // After element (i, j) was set to v: what a single element can contradict becomes false, what it
  // can make unknown is forgotten, derived values go.
  void element_set(i64 i, i64 j, const Value& v);

 private:
  void set(Property p, std::optional<bool> value);
  std::uint32_t following() const;  // bit p: is(p)
  i64 rows_, cols_;
  std::uint32_t known_ = 0, true_ = 0;  // bit p: declared(p) is a value, is true
  DerivedCell derived_;
};

}  // namespace tessera
