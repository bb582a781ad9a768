// SPDX-License-Identifier: Apache-2.0
// Numbers as words of one width: the shortest digits that give the number back, at most eight after
// the point, in positional or scientific form for the whole array together, as NumPy chooses.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tessera/array/print.hpp"

namespace tessera {
namespace {

constexpr int most_digits = 8;

// A finite number in parts: sign, significant digits without trailing zeros, power of ten of the
// first one.
struct Decimal {
  bool negative = false;
  std::string digits = "0";
  int exponent = 0;
};

Decimal split(std::string_view scientific) {
  Decimal d;
  d.negative = scientific.front() == '-';
  if (d.negative) scientific.remove_prefix(1);
  const std::size_t e = scientific.find('e');
  d.digits.clear();
  for (const char c : scientific.substr(0, e))
    if (c != '.') d.digits += c;
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  std::string_view power = scientific.substr(e + 1);
  if (power.front() == '+') power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), d.exponent);
  return d;
}

Decimal scientific_with(double v, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*e", digits, v);
  return split(buffer);
}

// The fewest digits that give v back in the type T.
template <class T>
Decimal shortest(T v) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
    return split({buffer, static_cast<std::size_t>(end - buffer)});
  } else {
    for (int digits = 0;; ++digits) {
      Decimal d = scientific_with(static_cast<float>(v), digits);
      const std::string text = cat(d.negative ? "-" : "", d.digits, "e",
                                   d.exponent - static_cast<int>(d.digits.size()) + 1);
      if (digits == 9 || T(std::strtof(text.c_str(), nullptr)).bits == v.bits) return d;
    }
  }
}

// A number that is still to be aligned: what it is, and its digits.
struct Number {
  double value = 0;
  Decimal decimal;  // finite values only
};

template <class T>
Number number(T v) {
  Number n{static_cast<double>(v), {}};
  if (std::isfinite(n.value)) n.decimal = shortest(v);
  return n;
}

// Numbers of this power of ten and more are written in scientific form: beyond the digits that a
// type is sure of, and beyond eight of them within arrays.
template <class T>
constexpr int first_scientific_power(int most) {
  if constexpr (sizeof(T) == 2) return 3;
  return sizeof(T) == 4 ? 6 : most;
}

// Sign and digits before the point, and digits after it.
struct Halves {
  std::string left, right;
};

Halves positional(const Number& n, int limit) {
  const Decimal& d = n.decimal;
  const int after = std::max(0, static_cast<int>(d.digits.size()) - 1 - d.exponent);
  Halves h;
  if (after > limit) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, "%.*f", limit, n.value);
    const std::string_view text(buffer);
    h = {std::string(text.substr(0, text.find('.'))), std::string(text.substr(text.find('.') + 1))};
    while (!h.right.empty() && h.right.back() == '0') h.right.pop_back();
    return h;
  }
  std::string digits = d.digits;
  if (d.exponent < 0) digits.insert(0, static_cast<std::size_t>(-d.exponent), '0');
  const std::size_t before = digits.size() - static_cast<std::size_t>(after);
  const auto whole = static_cast<std::size_t>(std::max(d.exponent, 0) + 1);
  h.left = (d.negative ? "-" : "") + digits.substr(0, before);
  if (whole > before) h.left.append(whole - before, '0');
  h.right = digits.substr(before);
  return h;
}

// Formats a column of real numbers, all in one way.
class Column {
 public:
  Column(std::vector<Number> numbers, int power, bool plus)
      : numbers_(std::move(numbers)), plus_(plus) {
    double most = 0, least = 0;
    for (const Number& n : numbers_) {
      const double a = std::abs(n.value);
      if (!std::isfinite(a) || a == 0) continue;
      most = std::max(most, a);
      least = least == 0 ? a : std::min(least, a);
    }
    scientific_ =
        most > 0 && (most >= std::pow(10.0, power) || least < 1e-4 || most / least > 1000);
    for (const Number& n : numbers_) measure(n);
    for (const Number& n : numbers_) {
      if (std::isfinite(n.value)) continue;
      const std::size_t length = special(n).size(), behind = right_ + 1;
      left_ = std::max(left_, length > behind ? length - behind : 0);
    }
  }

  std::string word(std::size_t i) const {
    const Number& n = numbers_[i];
    if (!std::isfinite(n.value)) return padded(special(n), left_ + 1 + right_);
    if (scientific_) return scientific(n);
    Halves h = positional(n, most_digits);
    return padded(sign(n) + h.left, left_) + "." + h.right +
           std::string(right_ - h.right.size(), ' ');
  }

 private:
  static std::string padded(const std::string& s, std::size_t width) {
    return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
  }
  std::string sign(const Number& n) const { return plus_ && !std::signbit(n.value) ? "+" : ""; }
  std::string special(const Number& n) const {
    if (std::isnan(n.value)) return plus_ ? "+nan" : "nan";
    return std::signbit(n.value) ? "-inf" : plus_ ? "+inf" : "inf";
  }

  Decimal rounded(const Number& n) const {
    const bool longer = n.decimal.digits.size() > most_digits + 1;
    return longer ? scientific_with(n.value, most_digits) : n.decimal;
  }
  static std::string power(int exponent, std::size_t digits) {
    std::string s = to_text(std::abs(exponent));
    if (s.size() < digits) s.insert(0, digits - s.size(), '0');
    return (exponent < 0 ? "-" : "+") + s;
  }

  void measure(const Number& n) {
    if (!std::isfinite(n.value)) return;
    if (!scientific_) {
      const Halves h = positional(n, most_digits);
      left_ = std::max(left_, sign(n).size() + h.left.size());
      right_ = std::max(right_, h.right.size());
      return;
    }
    const Decimal d = rounded(n);
    left_ = std::max(left_, sign(n).size() + (d.negative ? 2u : 1u));
    fraction_ = std::max(fraction_, d.digits.size() - 1);
    power_ = std::max(power_, power(d.exponent, 2).size() - 1);
    right_ = fraction_ + power_ + 2;
  }

  // Digits beyond the shortest ones are those of the exact value, not zeros, as NumPy has them.
  std::string scientific(const Number& n) const {
    Decimal d = rounded(n);
    if (d.digits.size() - 1 < fraction_) d = scientific_with(n.value, static_cast<int>(fraction_));
    std::string s = sign(n) + (d.negative ? "-" : "") + d.digits.substr(0, 1);
    s = padded(s, left_) + "." + d.digits.substr(1);
    s.append(fraction_ - (d.digits.size() - 1), '0');
    return s + "e" + power(d.exponent, power_);
  }

  std::vector<Number> numbers_;
  bool plus_, scientific_ = false;
  std::size_t left_ = 0, right_ = 0;  // characters before and after the point
  std::size_t fraction_ = 0,
              power_ = 2;  // scientific: digits after the point, digits of the exponent
};

template <class T>
std::vector<T> row_major(const Array& x) {
  std::vector<T> values;
  const Layout& l = x.layout();
  const T* data = x.host<T>();
  Shape at(l.ndim(), 0);
  for (i64 n = x.size(); n > 0; --n) {
    i64 offset = 0;
    for (i64 a = 0; a < l.ndim(); ++a) offset += at[a] * l.strides[a];
    values.push_back(data[offset]);
    for (i64 a = l.ndim() - 1; a >= 0 && ++at[a] == l.shape[a]; --a) at[a] = 0;
  }
  return values;
}

void align_right(std::vector<std::string>& words) {
  std::size_t width = 0;
  for (const std::string& w : words) width = std::max(width, w.size());
  for (std::string& w : words) w.insert(0, width - w.size(), ' ');
}

template <class T>
std::vector<std::string> words_of(const Array& x) {
  std::vector<std::string> words;
  const auto values = row_major<T>(x);
  if constexpr (std::is_same_v<T, bool>) {
    for (const bool v : values) words.push_back(v ? "True" : "False");
    if (x.ndim() > 0)  // NumPy's columns of bools are five wide, whatever is in them
      for (std::string& w : words) w.insert(0, 5 - w.size(), ' ');
  } else if constexpr (std::is_integral_v<T>) {
    for (const T v : values) words.push_back(to_text(v));
    align_right(words);
  } else if constexpr (is_complex_v<T>) {
    std::vector<Number> re, im;
    for (const T& v : values) {
      re.push_back(number(v.re));
      im.push_back(number(v.im));
    }
    constexpr int power = first_scientific_power<decltype(T::re)>(8);
    const Column real(std::move(re), power, false), imaginary(std::move(im), power, true);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string w = imaginary.word(i);
      const std::size_t end = w.find_last_not_of(' ') + 1;  // the j follows the last digit
      words.push_back(real.word(i) + w.insert(end, "j"));
    }
  } else {
    std::vector<Number> numbers;
    for (const T& v : values) numbers.push_back(number(v));
    const Column column(std::move(numbers), first_scientific_power<T>(8), false);
    for (std::size_t i = 0; i < values.size(); ++i) words.push_back(column.word(i));
  }
  return words;
}

// As str() of a NumPy scalar: positional from 1e-4 to a power that depends on the type.
template <class T>
std::string float_text(T v, bool bare) {
  const Number n = number(v);
  if (std::isnan(n.value)) return "nan";
  if (std::isinf(n.value)) return n.value < 0 ? "-inf" : "inf";
  const Decimal& d = n.decimal;
  if (d.exponent >= -4 && d.exponent < first_scientific_power<T>(16)) {
    const Halves h = positional(n, 1 << 10);
    if (h.right.empty()) return h.left + (bare ? "" : ".0");
    return h.left + "." + h.right;
  }
  const std::string power = (std::abs(d.exponent) < 10 ? "0" : "") + to_text(std::abs(d.exponent));
  return cat(d.negative ? "-" : "", d.digits.substr(0, 1), d.digits.size() > 1 ? "." : "",
             d.digits.substr(1), "e", d.exponent < 0 ? "-" : "+", power);
}

}  // namespace

std::vector<std::string> aligned_words(const Array& x) {
  std::vector<std::string> words;
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "print", [&]<class T>() { words = words_of<T>(x); });
  return words;
}

std::string scalar_text(const Array& x) {
  std::string s;
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "print", [&]<class T>() {
    const T v = row_major<T>(x)[0];
    if constexpr (std::is_same_v<T, bool>) {
      s = v ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
      s = to_text(v);
    } else if constexpr (is_complex_v<T>) {
      const std::string im = float_text(v.im, true);
      const bool alone = v.re == 0 && !std::signbit(v.re);
      s = alone ? im + "j" : cat("(", float_text(v.re, true), im[0] == '-' ? "" : "+", im, "j)");
    } else {
      s = float_text(v, false);
    }
  });
  return s;
}

}  // namespace tessera
