// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/functions.hpp"

#include <array>
#include <cmath>

#include "tessera/base/by_squaring.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

// What a function makes of -x: of halves that mirror each other with a sign.
enum class Sign : std::uint8_t { even, odd, neither };

struct Function {
  std::string_view name;
  DType dtype;  // of the results
  bool keeps_zero = true;
  Sign sign = Sign::odd;
};

// f over the elements that are stored, where zeros and signs allow it; else over all of them.
template <class F>
AnyMatrix over_elements(const AnyMatrix& m, const Function& f, Device where, const F& of) {
  const DType t = m.dtype();
  const Form form = m.form();
  const bool anti = form == Form::antisymmetric;
  if (!f.keeps_zero || form == Form::dense || form == Form::bit ||
      (anti && f.sign == Sign::neither))
    return AnyMatrix::dense(of(m.array(t, where)));
  if (form == Form::triangular_bit)  // as numbers, bool where there is no scale
    return over_elements(AnyMatrix::triangular(m.array({}, where), m.transposed(), /*strict=*/true,
                                               /*check=*/false),
                         f, where, of);
  if (form == Form::diagonal || form == Form::identity)
    return AnyMatrix::diagonal(of(diagonal_of(m, t, where)), m.rows(), m.cols());
  const Array data = of(stored(m, t, where));
  if (anti && f.sign == Sign::even) return packed_matrix(Form::symmetric, m.rows(), data);
  return packed_matrix(form, m.rows(), anti && m.transposed() ? ops::negative(data) : data,
                       m.payload().strict, m.lower());
}

// Declarations that hold for the results: of zeros, and of halves that are alike.
void keep_declared(const AnyMatrix& m, const Function& f, AnyMatrix& out) {
  constexpr Property zeros[] = {Property::is_zero, Property::is_diagonal,
                                Property::is_upper_triangular, Property::is_lower_triangular,
                                Property::has_zero_diagonal};
  const auto keep = [&](Property p) {
    if (m.properties().declared(p) == true) out.properties().declare(p, true);
  };
  if (f.keeps_zero)
    for (const Property p : zeros) keep(p);
  keep(Property::is_symmetric);
  if (f.keeps_zero && f.sign == Sign::odd) keep(Property::is_anti_symmetric);
}

template <class F>
AnyMatrix placed_function(const AnyMatrix& m, const Function& f, const F& of) {
  std::optional<AnyMatrix> out;
  const i64 elements = m.rows() * m.cols();
  placed({Operation::elementwise, f.dtype, elements}, {&m}, elements * size_of(f.dtype),
         [&](Device where) {
           tag(where, f.name, TagDetail::plain, f.dtype);
           out = over_elements(m, f, where, of);
         });
  keep_declared(m, f, *out);
  return *std::move(out);
}

// The least of the signed integers has no counterpart.
Array magnitudes(const Array& x) {
  if (is_signed_int(x.dtype())) {
    const std::uint64_t most = (std::uint64_t{1} << (8 * size_of(x.dtype()) - 1)) - 1;
    require<OverflowError>(magnitude(x) <= most, "absolute: the magnitude of -", most + 1,
                           " does not fit ", name(x.dtype()),
                           "; convert the matrix to a longer integer or a float with astype()");
  }
  return ops::absolute(x);
}

AnyMatrix all_ones(const AnyMatrix& m) {
  return AnyMatrix::bit(ones({m.rows(), m.cols()}, DType::b1, m.device()));
}

Array integer_power(const Array& x, std::uint64_t exponent) {
  if (exponent == 0) return ones(x.shape(), x.dtype(), x.device());
  try {
    return by_squaring(x, exponent, [](const Array& a, const Array& b) {
      return checked_elementwise(MatrixOp::multiply, a, b, a.dtype());
    });
  } catch (const OverflowError&) {
    throw OverflowError(cat("power: an element to the power ", exponent, " does not fit ",
                            name(x.dtype()),
                            "; convert the matrix to a longer integer or a float with astype()"));
  }
}

Sign sign_of(const Value& exponent) {
  if (exponent.kind() == Value::Kind::complex) return Sign::neither;
  const double half = exponent.as<double>() / 2;
  if (std::floor(half) == half) return Sign::even;
  return std::floor(2 * half) == 2 * half ? Sign::odd : Sign::neither;
}

bool is_positive(const Value& v) {
  return v.kind() != Value::Kind::complex &&
         (v.kind() == Value::Kind::natural || v.as<double>() > 0);
}

// Ones where two matrices of bits differ.
AnyMatrix differing_bits(const AnyMatrix& a, const AnyMatrix& b, Device where) {
  const Array differ = ops::bitwise_xor(bits_of(a, where).words, bits_of(b, where).words);
  return AnyMatrix::bits({differ.contiguous(), a.cols()});
}

void require_comparison(ElementOp op) {
  require<ArgumentError>(family(op) == ElementFamily::compare, "compare: ", name(op),
                         "; expected one of the six comparisons");
}

bool any_word(const AnyMatrix& m, Device where) {
  return reduce(ReduceOp::any, bits_of(m, where).words).item().as<bool>();
}

// Scaled bits are numbers.
Form form_of_zeros(const AnyMatrix& m) {
  if (m.form() == Form::identity) return Form::diagonal;
  if (!has_words(m) || m.dtype() == DType::b1) return m.form();
  return m.form() == Form::bit ? Form::dense : Form::triangular;
}

Workload reading_all(const AnyMatrix& m) {
  return {Operation::reduce, is_inexact(m.dtype()) ? m.dtype() : DType::f64, m.rows() * m.cols()};
}

}  // namespace

AnyMatrix absolute(const AnyMatrix& m) {
  const DType t = m.dtype();
  if (t == DType::b1 || is_unsigned_int(t)) return m;
  return placed_function(m, {"absolute", real_of(t), true, Sign::even}, magnitudes);
}

AnyMatrix real_part(const AnyMatrix& m) {
  if (!is_complex(m.dtype())) return m;
  return placed_function(m, {"real", real_of(m.dtype())},
                         [](const Array& x) { return ops::real(x); });
}

AnyMatrix imag_part(const AnyMatrix& m) {
  const DType t = m.dtype();
  if (is_complex(t))
    return placed_function(m, {"imag", real_of(t)}, [](const Array& x) { return ops::imag(x); });
  const TagScope scope = tagged("imag", m, t);
  const AnyMatrix none = AnyMatrix::zeros(form_of_zeros(m), m.rows(), m.cols(), t, m.device());
  return m.lower() ? none.transpose() : none;
}

AnyMatrix power(const AnyMatrix& m, const Value& exponent) {
  const DType t = m.dtype();
  const bool whole = exponent.is_integer() && !is_inexact(t);
  require<ArgumentError>(
      !whole || exponent.kind() == Value::Kind::natural || exponent.as<i64>() >= 0,
      "power: ", described(m), " of ", name(t), " to the power ", exponent.str(),
      ": Integers to negative integer powers are not allowed; convert the "
      "matrix to a float with astype()");
  if (exponent.is_integer() && is_number(exponent, 1)) return m;
  if (whole && t == DType::b1) return is_number(exponent, 0) ? all_ones(m) : m;
  const DType dtype = scaled_dtype(t, exponent);
  const Function f{"power", dtype, is_positive(exponent), sign_of(exponent)};
  if (whole)
    return placed_function(
        m, f, [&](const Array& x) { return integer_power(x, exponent.as<std::uint64_t>()); });
  return placed_function(m, f, [&](const Array& x) {
    const Array y = x.astype(dtype);
    return is_number(exponent, 2) ? ops::square(y) : ops::power(y, exponent);
  });
}

AnyMatrix compare(ElementOp op, const AnyMatrix& a, const AnyMatrix& b) {
  require_comparison(op);
  const i64 elements = broadcast_elements(name(op), a, b);
  const bool words = a.dtype() == DType::b1 && b.dtype() == DType::b1 && a.rows() == b.rows() &&
                     a.cols() == b.cols() && (op == ElementOp::equal || op == ElementOp::not_equal);
  const DType dtype = promote(a.dtype(), b.dtype());
  std::optional<AnyMatrix> out;
  placed({Operation::elementwise, dtype, elements}, {&a, &b}, elements / 8, [&](Device where) {
    tag(where, name(op), TagDetail::plain, dtype);
    if (!words) {
      const Array both[] = {a.array({}, where), b.array({}, where)};
      out = AnyMatrix::bit(elementwise(op, std::array<ArrayOrValue, 2>{both[0], both[1]}));
      return;
    }
    const AnyMatrix differ = differing_bits(a, b, where);
    out = op == ElementOp::equal ? differ.complement() : differ;
  });
  return *std::move(out);
}

AnyMatrix compare(ElementOp op, const AnyMatrix& a, const Value& v) {
  require_comparison(op);
  const i64 elements = a.rows() * a.cols();
  std::optional<AnyMatrix> out;
  placed({Operation::elementwise, a.dtype(), elements}, {&a}, elements / 8, [&](Device where) {
    tag(where, name(op), TagDetail::plain, a.dtype());
    out = AnyMatrix::bit(elementwise(op, std::array<ArrayOrValue, 2>{a.array({}, where), v}));
  });
  return *std::move(out);
}

bool any(const AnyMatrix& m) {
  bool found = false;
  placed(reading_all(m), {&m}, 8, [&](Device where) {
    tag(where, "any", TagDetail::plain, m.dtype());
    found = any_word(m, where);
  });
  return found;
}

bool all(const AnyMatrix& m) {
  bool missing = false;
  placed(reading_all(m), {&m}, 8, [&](Device where) {
    tag(where, "all", TagDetail::plain, m.dtype());
    missing = any_word(AnyMatrix::bits(bits_of(m, where)).complement(), where);
  });
  return !missing;
}

}  // namespace tessera
