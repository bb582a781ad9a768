// SPDX-License-Identifier: Apache-2.0
// Keys as text: Index::str and its inverse, parse_index. Lists are small arrays written out; an
// array that is long or not readable by the host is only described.
#include <charconv>

#include "tessera/array/index.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

constexpr i64 longest_written = 1000;
constexpr int deepest_list = 32;

// A nested list before it becomes an array: its numbers in row-major order and its shape.
struct List {
  std::vector<i64> values;
  Shape shape;
  bool all_bool = true;
  int leaf = -1;  // depth of the lists that hold numbers; -1: none seen
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Index run() {
    skip_space();
    const bool enclosed = take('(');
    Index index;
    skip_space();
    while (!at_end() && peek() != ')') {
      item(index);
      skip_space();
      if (!take(',')) break;
      skip_space();
    }
    if (enclosed) expect(')');
    skip_space();
    if (!at_end()) fail("a comma or the end");
    return index;
  }

 private:
  void item(Index& index) {
    if (take("...") || take_word("Ellipsis")) return index.add(ellipsis);
    if (take_word("None") || take_word("newaxis")) return index.add(new_axis);
    if (take_word("True")) return index.add(true);
    if (take_word("False")) return index.add(false);
    if (!at_end() && peek() == '[') return index.add(array());
    const std::optional<i64> first = integer();
    skip_space();
    if (!take(':')) {
      if (!first && (at_end() || peek() == ',' || peek() == ')')) fail("an item");
      if (!first) throw_not_a_key();
      return index.add(*first);
    }
    index.add(slice(first));
  }

  Slice slice(std::optional<i64> start) {
    Slice s{start};
    s.stop = bound();
    if (take(':')) s.step = bound();
    return s;
  }

  std::optional<i64> bound() {
    skip_space();
    const std::optional<i64> v = take_word("None") ? std::nullopt : integer();
    skip_space();
    return v;
  }

  std::optional<i64> integer() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size(), *digits = begin;
    if (digits != end && *digits == '+') ++begin, ++digits;
    if (digits != end && *digits == '-') ++digits;
    if (digits == end || *digits < '0' || *digits > '9') {
      if (digits != text_.data() + at_) fail("digits after the sign");
      return std::nullopt;
    }
    i64 v = 0;
    const auto [stop, error] = std::from_chars(begin, end, v);
    if (error != std::errc()) fail("an integer of 64 bits");
    at_ = static_cast<std::size_t>(stop - text_.data());
    // A fraction, an exponent or a name glued to the digits is some other number: not a key.
    if (!at_end() && (peek() == '.' || is_letter(peek()))) throw_not_a_key();
    return v;
  }

  Array array() {
    List list;
    read_list(list, 0);
    if (list.shape.size() > 0 && count_of(list.shape) != static_cast<i64>(list.values.size()))
      ragged();
    const bool mask = list.all_bool && !list.values.empty();
    const i64 n = static_cast<i64>(list.values.size());
    const DType dtype = mask ? DType::b1 : DType::i64;
    // Dense on purpose: these arrays are written here, element after element.
    Array a(Storage::allocate(cpu, n * size_of(dtype)), Layout::contiguous(list.shape), dtype);
    for (i64 i = 0; i < n; ++i) {
      const i64 v = list.values[static_cast<std::size_t>(i)];
      if (mask)
        a.host<bool>()[i] = v != 0;
      else
        a.host<i64>()[i] = v;
    }
    return a;
  }

  void read_list(List& list, int depth) {
    if (depth >= deepest_list) fail("a list nested less deeply");
    expect('[');
    i64 n = 0;
    skip_space();
    while (!at_end() && peek() != ']') {
      read_entry(list, depth);
      ++n;
      skip_space();
      if (!take(',')) break;
      skip_space();
    }
    expect(']');
    // Inner lists close first: the first one of a level fixes its size, the others must agree.
    while (list.shape.size() <= depth) list.shape.push_back(-1);
    if (list.shape[depth] < 0) list.shape[depth] = n;
    if (list.shape[depth] != n) ragged();
  }

  void read_entry(List& list, int depth) {
    if (peek() == '[') {
      if (list.leaf == depth) ragged();
      return read_list(list, depth + 1);
    }
    if (list.shape.size() > depth + 1 || (list.leaf >= 0 && list.leaf != depth)) ragged();
    list.leaf = depth;
    const bool truth = take_word("True"), lie = !truth && take_word("False");
    if (truth || lie) return list.values.push_back(truth);
    const std::optional<i64> v = integer();
    if (!v) throw_not_a_key();
    list.all_bool = false;
    list.values.push_back(*v);
  }

  [[noreturn]] void ragged() const {
    throw ArgumentError(
        cat("setting an array element with a sequence. The requested array has an inhomogeneous "
            "shape: '",
            text_, "'"));
  }
  [[noreturn]] void fail(std::string_view expected) const {
    throw ArgumentError(
        cat("'", text_, "' is no index: expected ", expected, " at character ", at_));
  }

  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\n')) ++at_;
  }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool take_word(std::string_view word) {
    const std::size_t end = at_ + word.size();
    if (text_.substr(at_, word.size()) != word || (end < text_.size() && is_letter(text_[end])))
      return false;
    at_ = end;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(cat("'", c, "'"));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void write_nested(std::string& to, const Array& a, const Layout& l, i64 axis, i64 offset) {
  if (axis == l.ndim()) {
    dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
             std::uint16_t, std::uint32_t, std::uint64_t>(a.dtype(), "index", [&]<class T>() {
      const T v = a.host<T>()[offset];
      if constexpr (std::is_same_v<T, bool>)
        to += v ? "True" : "False";
      else
        to += to_text(v);
    });
    return;
  }
  to += '[';
  for (i64 i = 0; i < l.shape[axis]; ++i) {
    if (i > 0) to += ", ";
    write_nested(to, a, l, axis + 1, offset + i * l.strides[axis]);
  }
  to += ']';
}

std::string array_text(const Array& a) {
  if (a.size() > longest_written || !compute_device(a.device().kind).host_memory())
    return cat("<", name(a.dtype()), " array of shape ", a.shape(), " on ", a.device(), ">");
  std::string s;
  write_nested(s, a, a.layout(), 0, 0);
  return s;
}

std::string slice_text(const Slice& s) {
  std::string t;
  if (s.start) t += to_text(*s.start);
  t += ':';
  if (s.stop) t += to_text(*s.stop);
  if (s.step) t += ':' + to_text(*s.step);
  return t;
}

}  // namespace

Index parse_index(std::string_view text) { return Parser(text).run(); }

std::string Index::str() const {
  std::string s;
  for (const Item& item : items()) {
    if (!s.empty()) s += ", ";
    switch (item.kind) {
      case Kind::integer: s += to_text(item.value); break;
      case Kind::slice: s += slice_text(item.slice); break;
      case Kind::new_axis: s += "None"; break;
      case Kind::ellipsis: s += "..."; break;
      case Kind::boolean: s += item.value != 0 ? "True" : "False"; break;
      default: s += array_text(arrays_[static_cast<std::size_t>(item.value)]); break;
    }
  }
  return s;
}

}  // namespace tessera
