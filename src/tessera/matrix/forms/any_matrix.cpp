// SPDX-License-Identifier: Apache-2.0
// The handle: views, where the data are, copies.
#include "tessera/matrix/forms/any_matrix.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

// What every matrix of a form has, views or not (but for scales: no ones).
bool by_form(Form form, bool strict, bool transposed, Property p) {
  const bool half = form == Form::triangular || form == Form::triangular_bit;
  const bool no_off_diagonal = form == Form::diagonal || form == Form::identity;
  switch (p) {
    case Property::is_diagonal: return no_off_diagonal;
    case Property::is_upper_triangular: return no_off_diagonal || (half && !transposed);
    case Property::is_lower_triangular: return no_off_diagonal || (half && transposed);
    case Property::is_symmetric: return no_off_diagonal || form == Form::symmetric;
    case Property::is_anti_symmetric: return form == Form::antisymmetric;
    case Property::has_zero_diagonal: return strict;
    default: return false;
  }
}

bool of_ones(Property p) {
  return p == Property::is_identity || p == Property::has_unit_diagonal ||
         p == Property::is_permutation || p == Property::is_hermitian ||
         p == Property::is_unitary || p == Property::is_atomic;
}

}  // namespace

DType AnyMatrix::dtype() const {
  return is_integer_one(scale_) ? payload_->dtype : scaled_dtype(payload_->dtype, scale_);
}

Device AnyMatrix::device() const { return payload_->data.device(); }

std::vector<Device> AnyMatrix::held_at() const {
  const std::lock_guard lock(payload_->guard);
  std::vector<Device> devices{device()};
  for (const Array& a : payload_->mirrors) devices.push_back(a.device());
  return devices;
}

bool AnyMatrix::plain() const { return is_integer_one(scale_) && !transposed_ && !conjugated_; }

bool AnyMatrix::is(Property p) const {
  if (rows() == cols() || !needs_square(p)) {
    if (by_form(form(), payload_->strict, transposed_, p)) return true;
    if (form() == Form::identity && is_integer_one(scale_) && of_ones(p)) return true;
  }
  return properties_.is(p);
}

AnyMatrix AnyMatrix::transpose() const {
  AnyMatrix t = *this;
  t.transposed_ = !transposed_;
  t.properties_ = properties_.transposed(is_complex(dtype()));
  return t;
}

AnyMatrix AnyMatrix::conj() const {
  AnyMatrix c = *this;
  if (!is_complex(dtype())) return c;
  c.conjugated_ = is_complex(payload_->dtype) && !conjugated_;
  if (scale_.kind() == Value::Kind::complex) {
    const c128 z = scale_.as<c128>();
    c.scale_ = Value(c128(z.re, -z.im));
  }
  c.properties_ = properties_.conjugated(true);
  return c;
}

AnyMatrix AnyMatrix::adjoint() const {
  AnyMatrix a = conj().transpose();
  a.properties_ = properties_.adjoint(is_complex(dtype()));
  return a;
}

AnyMatrix AnyMatrix::scaled(const Value& by) const {
  const std::optional<Value> product = product_of(scale_, by);
  require<OverflowError>(product.has_value(), "a matrix times ", scale_.str(), " times ", by.str(),
                         ": the product of the factors does not fit 64 bits");
  // Elements that are not stored stay zero, whatever the factor: only finite ones are kept as one.
  // Integers that are scaled bits stay integers when their factors cancel.
  const bool bits_again =
      payload_->dtype == DType::b1 && dtype() != DType::b1 && is_integer_one(*product);
  const DType t = scaled_dtype(dtype(), by);
  const bool finite = is_finite_in(by, t);
  if ((finite && !is_finite_in(*product, t)) || bits_again) return copy().scaled(by);
  AnyMatrix s = *this;
  s.scale_ = *product;
  s.properties_ = properties_.scaled(by);
  // A product with such a factor, which multiplies the result, would make zeros of infinities.
  const bool lost = is_number(*product, 0) && is_inexact(payload_->dtype) &&
                    !reduce(ReduceOp::all, ops::isfinite(payload_->data)).item().as<bool>();
  if (finite && !lost) return s;
  s.properties_.set_derived({});
  return s.copy();
}

AnyMatrix AnyMatrix::complement() const {
  const bool of_words = form() == Form::bit || form() == Form::triangular_bit;
  require<DTypeError>(of_words || dtype() == DType::b1,
                      "complement: expected a matrix of bits, got ", name(form()), " of ",
                      name(dtype()));
  require<DTypeError>(is_integer_one(scale_),
                      "complement: expected a matrix of bits, got one times ", scale_.str());
  const Bits bits = of_words ? words(device()) : bit_pack(array());
  const Array ones = bit_pack(tessera::ones({1, bits.columns}, DType::b1, device())).words;
  return AnyMatrix::bits({ops::bitwise_xor(bits.words, ones), bits.columns});
}

Array AnyMatrix::data(Device where) const {
  const std::lock_guard lock(payload_->guard);
  if (where == device()) return payload_->data;
  for (const Array& a : payload_->mirrors)
    if (a.device() == where) return a;
  Array mirror = payload_->data.to(where);
  if (!payload_->shared) payload_->mirrors.push_back(mirror);
  return mirror;
}

Bits AnyMatrix::words(Device where) const {
  require<DTypeError>(payload_->dtype == DType::b1 && form() != Form::dense,
                      "words: expected a matrix of bits, got ", name(form()), " of ",
                      name(payload_->dtype));
  const Array data = this->data(where);
  const Bits bits{form() == Form::bit ? data : payload_->strips().unpack(data), payload_->cols};
  return transposed_ ? bit_transpose(bits) : bits;
}

Payload& AnyMatrix::own() {
  if (!is_integer_one(scale_) || conjugated_) {
    *this = copy();
  } else if (payload_.use_count() > 1 ||
             (!payload_->shared && payload_->data.storage().use_count() > 1)) {
    // Others may have the payload, or only its data: an operator, or a matrix made of it.
    const Payload& p = *payload_;
    payload_ = make_payload(p.form, p.rows, p.cols, p.dtype, p.data.copy(), p.strict);
  }
  payload_->mirrors.clear();
  return *payload_;
}

AnyMatrix AnyMatrix::copy() const {
  AnyMatrix m = materialised(dtype());
  m.properties_ = properties_;
  return m;
}

AnyMatrix AnyMatrix::astype(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  AnyMatrix m = materialised(dtype);
  if (is_inexact(dtype)) {  // rounding keeps what was declared, truncating may not
    Derived known = m.properties_.derived();
    m.properties_ = properties_;
    m.properties_.set_derived(std::move(known));
  }
  return m;
}

AnyMatrix AnyMatrix::to(Device device) const {
  if (device == this->device()) return *this;
  const Payload& p = *payload_;
  AnyMatrix m = *this;
  m.payload_ = make_payload(p.form, p.rows, p.cols, p.dtype, p.data.to(device), p.strict);
  return m;
}

AnyMatrix AnyMatrix::numbers() const {
  const Bits bits{payload_->strips().unpack(payload_->data), payload_->cols};
  AnyMatrix m = triangular(bit_unpack(bits), /*lower=*/false, /*strict=*/true, /*check=*/false);
  m.scale_ = scale_;
  m.transposed_ = transposed_;
  return m;
}

AnyMatrix AnyMatrix::materialised(DType dtype) const {
  const Payload& p = *payload_;
  const bool of_words = p.form == Form::bit || p.form == Form::triangular_bit;
  const bool bits_stay = of_words && dtype == DType::b1 && is_integer_one(scale_);
  const auto made = [&](Form form, const Array& data) {
    const Array dense = data.contiguous();
    const bool shares = may_share_memory(dense, p.data);
    return AnyMatrix(
        make_payload(form, rows(), cols(), dtype, shares ? dense.copy() : dense, p.strict));
  };
  const auto converted = [&](const Array& x) { return cast_checked(viewed(x), dtype); };
  switch (p.form) {
    case Form::dense: return made(p.form, array(dtype));
    case Form::bit:
      return bits_stay ? made(p.form, words(device()).words) : made(Form::dense, array(dtype));
    case Form::identity:
      if (is_integer_one(scale_)) return identity(rows(), cols(), dtype, device());
      return made(Form::diagonal, converted(ones({std::min(p.rows, p.cols)}, p.dtype, device())));
    case Form::diagonal:
    case Form::symmetric: return made(p.form, converted(p.data));
    case Form::antisymmetric: {
      require<DTypeError>(is_signed_int(dtype) || is_inexact(dtype), "astype: AntiSymmetric of ",
                          name(dtype), ", which has no negative numbers");
      const Array x = converted(p.data);
      return made(p.form, transposed_ ? ops::negative(x) : x);
    }
    case Form::triangular_bit:
      if (!bits_stay) return numbers().materialised(dtype);
      [[fallthrough]];
    default: {
      AnyMatrix m = made(p.form, bits_stay ? p.data : converted(p.data));
      m.transposed_ = transposed_;
      return m;
    }
  }
}

}  // namespace tessera
