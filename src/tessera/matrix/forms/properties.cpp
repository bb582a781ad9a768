// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/properties.hpp"

#include <cmath>

#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

using enum Property;
using Set = std::uint32_t;  // of properties

constexpr Set bit_of(Property p) { return Set{1} << static_cast<int>(p); }
template <class... P>
constexpr Set set_of(P... p) {
  return (bit_of(p) | ...);
}
constexpr int index_of(Property p) { return static_cast<int>(p); }

constexpr std::string_view names[property_count] = {"is_zero",
                                                    "is_identity",
                                                    "is_permutation",
                                                    "is_diagonal",
                                                    "is_upper_triangular",
                                                    "is_lower_triangular",
                                                    "has_unit_diagonal",
                                                    "has_zero_diagonal",
                                                    "is_symmetric",
                                                    "is_anti_symmetric",
                                                    "is_hermitian",
                                                    "is_skew_hermitian",
                                                    "is_unitary",
                                                    "is_atomic",
                                                    "is_sorted",
                                                    "is_strictly_sorted",
                                                    "is_unit_norm"};

// Only square matrices can have these.
constexpr Set of_squares =
    set_of(is_permutation, is_upper_triangular, is_lower_triangular, is_symmetric,
           is_anti_symmetric, is_hermitian, is_skew_hermitian, is_unitary, is_atomic);

// Only matrices of one row or one column can have these.
constexpr Set of_vectors = set_of(is_sorted, is_strictly_sorted, is_unit_norm);

// Whoever has the first has the others.
constexpr struct {
  Property p;
  Set follows;
} implications[] = {
    {is_zero, set_of(is_diagonal, has_zero_diagonal, is_upper_triangular, is_lower_triangular,
                     is_symmetric, is_anti_symmetric, is_hermitian, is_skew_hermitian)},
    {is_identity,
     set_of(is_diagonal, has_unit_diagonal, is_permutation, is_symmetric, is_hermitian, is_atomic)},
    {is_permutation, set_of(is_unitary)},
    {is_diagonal, set_of(is_upper_triangular, is_lower_triangular, is_symmetric)},
    {is_anti_symmetric, set_of(has_zero_diagonal)},
    {is_atomic, set_of(has_unit_diagonal)},
    {is_strictly_sorted, set_of(is_sorted)},
};

// No matrix with elements has both.
constexpr Set exclusive[] = {
    set_of(has_unit_diagonal, has_zero_diagonal),
    set_of(is_zero, is_unitary),
    set_of(is_zero, has_unit_diagonal),
    set_of(is_zero, is_unit_norm),
};

Set closed(Set known, bool square) {
  for (Set before = 0; before != known;) {
    before = known;
    for (const auto& i : implications)
      if (known & bit_of(i.p)) known |= square ? i.follows : i.follows & ~of_squares;
    if (square && (known & bit_of(is_upper_triangular)) && (known & bit_of(is_lower_triangular)))
      known |= bit_of(is_diagonal);
  }
  return known;
}

std::optional<Value> power(const Value& v, i64 n) {
  std::optional<Value> result = Value(1), square = v;
  for (; n > 0 && result; n /= 2) {
    if (n % 2) result = square ? product_of(*result, *square) : std::nullopt;
    if (n > 1 && square) square = product_of(*square, *square);
  }
  return result;
}

Value conj_of(const Value& v) {
  if (v.kind() != Value::Kind::complex) return v;
  const c128 z = v.as<c128>();
  return Value(c128(z.re, -z.im));
}

std::optional<Value> scaled_value(const std::optional<Value>& v, const std::optional<Value>& by) {
  return v && by ? product_of(*v, *by) : std::nullopt;
}

enum class Effect : std::uint8_t { none, contradicts, agrees, unknown };

// What setting element (i, j) to v does to a property. Agreeing, it may have been the only one that
// contradicted it before.
Effect effect_of(Property p, i64 i, i64 j, const Value& v) {
  const bool zero = is_number(v, 0), one = is_number(v, 1), diagonal = i == j;
  const c128 z = v.as<c128>();
  const auto where = [](bool matters, bool agrees) {
    return !matters ? Effect::none : agrees ? Effect::agrees : Effect::contradicts;
  };
  switch (p) {
    case is_zero: return where(true, zero);
    case is_identity: return where(true, diagonal ? one : zero);
    case is_diagonal: return where(!diagonal, zero);
    case is_upper_triangular: return where(i > j, zero);
    case is_lower_triangular: return where(i < j, zero);
    case has_unit_diagonal: return where(diagonal, one);
    case has_zero_diagonal: return where(diagonal, zero);
    case is_permutation: return zero || one ? Effect::unknown : Effect::contradicts;
    case is_symmetric: return diagonal ? Effect::none : Effect::unknown;
    case is_anti_symmetric: return diagonal ? where(true, zero) : Effect::unknown;
    case is_hermitian: return diagonal ? where(true, z.im == 0) : Effect::unknown;
    case is_skew_hermitian: return diagonal ? where(true, z.re == 0) : Effect::unknown;
    default: return Effect::unknown;
  }
}

}  // namespace

std::string_view name(Property p) { return names[index_of(p)]; }

bool needs_square(Property p) { return (bit_of(p) & of_squares) != 0; }
bool needs_vector(Property p) { return (bit_of(p) & of_vectors) != 0; }

Property parse_property(std::string_view text) {
  std::string known;
  for (int i = 0; i < property_count; ++i) {
    if (names[i] == text) return static_cast<Property>(i);
    known += cat(i > 0 ? ", " : "", names[i]);
  }
  throw ArgumentError(cat("no property is called \"", text, "\"; there are ", known));
}

std::uint32_t Properties::following() const { return none() ? 0 : closed(true_, rows_ == cols_); }

void Properties::set(Property p, std::optional<bool> value) {
  const Set bit = bit_of(p);
  known_ = value ? known_ | bit : known_ & ~bit;
  true_ = value == true ? true_ | bit : true_ & ~bit;
}

bool Properties::is(Property p) const { return (following() & bit_of(p)) != 0; }

void Properties::declare(Property p, std::optional<bool> value) {
  require<ArgumentError>(value != true || rows_ == cols_ || !needs_square(p), name(p),
                         ": a matrix of shape (", rows_, ", ", cols_, ") is not square");
  require<ArgumentError>(value != true || rows_ == 1 || cols_ == 1 || !needs_vector(p), name(p),
                         ": a matrix of shape (", rows_, ", ", cols_,
                         ") is not one row or one column");
  Properties next = *this;
  next.set(p, value);
  const Set known = next.following();
  const std::string_view is_or_not = value == true ? " = True" : " = False";
  for (int i = 0; value && i < property_count; ++i)
    require<ArgumentError>(!(known >> i & 1) || next.declared(static_cast<Property>(i)) != false,
                           name(p), is_or_not, " contradicts what was declared: ", names[i],
                           " follows from one and is refused by the other");
  if (value && rows_ > 0 && cols_ > 0)
    for (const Set both : exclusive)
      require<ArgumentError>((known & both) != both, name(p), is_or_not,
                             " contradicts what was declared: no matrix has both");
  *this = std::move(next);
}

Properties Properties::transposed(bool complex) const {
  Properties t = *this;
  std::swap(t.rows_, t.cols_);
  t.set(is_upper_triangular, declared(is_lower_triangular));
  t.set(is_lower_triangular, declared(is_upper_triangular));
  if (complex)
    for (const Property p : {is_unitary, is_hermitian, is_skew_hermitian}) t.set(p, {});
  return t;
}

Properties Properties::conjugated(bool complex) const {
  Properties c = *this;
  if (!complex || derived_.empty()) return c;
  Derived d = derived();
  for (std::optional<Value>* v : {&d.trace, &d.determinant, &d.sum, &d.diagonal_value})
    if (*v) *v = conj_of(**v);
  if (d.eigenvalues) d.eigenvalues = ops::conj(d.eigenvalues);
  c.set_derived(std::move(d));
  return c;
}

Properties Properties::adjoint(bool complex) const { return conjugated(complex).transposed(false); }

Properties Properties::scaled(const Value& by) const {
  if (is_number(by, 1)) return *this;
  const c128 z = by.as<c128>();
  const bool zero = is_number(by, 0), unit = std::hypot(z.re, z.im) == 1;
  const Set known = following();
  Properties s(rows_, cols_);
  const auto keep = [&](Property from, Property to) {
    if (known & bit_of(from))
      s.set(to, true);
    else if (!zero && declared(from) == false)
      s.set(to, false);
  };
  for (const Property p : {is_zero, is_diagonal, is_upper_triangular, is_lower_triangular,
                           has_zero_diagonal, is_symmetric, is_anti_symmetric})
    keep(p, p);
  if (z.im == 0 || z.re == 0) {  // an imaginary factor exchanges the two
    keep(is_hermitian, z.im == 0 ? is_hermitian : is_skew_hermitian);
    keep(is_skew_hermitian, z.im == 0 ? is_skew_hermitian : is_hermitian);
  }
  if (unit)
    for (const Property p : {is_unitary, is_unit_norm}) keep(p, p);
  if (z.im == 0 && z.re > 0)
    for (const Property p : {is_sorted, is_strictly_sorted}) keep(p, p);
  if (rows_ > 0 && cols_ > 0) {
    for (const Property p : {is_identity, is_permutation, has_unit_diagonal})
      if (known & bit_of(p)) s.set(p, false);
    if (!unit && (known & bit_of(is_unitary))) s.set(is_unitary, false);
  }
  if (derived_.empty()) return s;
  Derived d = derived();
  d.trace = scaled_value(d.trace, by);
  d.sum = scaled_value(d.sum, by);
  d.diagonal_value = scaled_value(d.diagonal_value, by);
  d.determinant = scaled_value(d.determinant, power(by, rows_));
  if (d.norm) d.norm = *d.norm * std::hypot(z.re, z.im);
  if (d.eigenvalues) d.eigenvalues = ops::multiply(d.eigenvalues, by);
  s.set_derived(std::move(d));
  return s;
}

void Properties::element_set(i64 i, i64 j, const Value& v) {
  const Set known = following();
  for (int k = 0; k < property_count; ++k) {
    const Property p = static_cast<Property>(k);
    if (rows_ != cols_ && needs_square(p)) continue;
    const Effect e = effect_of(p, i, j, v);
    if (e == Effect::contradicts)
      set(p, false);
    else if (e != Effect::unknown && (known & bit_of(p)))
      set(p, true);
    else if (e != Effect::none)
      set(p, {});
  }
  derived_ = {};
}

}  // namespace tessera
