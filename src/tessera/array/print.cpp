// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/print.hpp"

#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

constexpr i64 most_elements = 1000;  // more than these are summarised
constexpr i64 edge = print_edge;     // elements kept at each end of a long axis
constexpr std::size_t line_width = 75;

// What is printed: the corners of a large array, or all of it, on the host.
struct Shown {
  Array array;
  bool summarised = false;
  Shape shape;  // of the whole array

  bool cut(i64 axis) const { return summarised && shape[axis] > 2 * edge; }
};

// Copies the corners one after the other: each cut axis has a low and a high end.
void copy_corners(const Array& from, const Array& to, i64 axis) {
  if (axis == from.ndim()) return to.copy_from(from);
  if (from.shape(axis) == to.shape(axis)) return copy_corners(from, to, axis + 1);
  const i64 n = from.shape(axis);
  copy_corners(from.slice(axis, 0, edge), to.slice(axis, 0, edge), axis + 1);
  copy_corners(from.slice(axis, n - edge, n), to.slice(axis, edge, 2 * edge), axis + 1);
}

Array on_host(const Array& x) {
  return compute_device(x.device().kind).host_memory() ? x : x.to(cpu);
}

Shown shown(const Array& x) {
  Shown s{x, x.size() > most_elements, x.shape()};
  if (s.summarised) {
    s.array = Array::empty(printed_shape(x.shape()), x.dtype(), x.device());
    copy_corners(x, s.array, 0);
  }
  s.array = on_host(s.array);
  return s;
}

class Writer {
 public:
  Writer(const Shown& shown, std::string_view separator, std::size_t indent, std::size_t width)
      : shown_(shown),
        words_(aligned_words(shown.array)),
        separator_(separator),
        indent_(indent),
        width_(width) {}

  std::string run() { return shown_.shape.empty() ? words_[0] : block(0, 0); }

 private:
  // A separator at the end of a line goes without its blank.
  std::string_view mark() const { return separator_ == " " ? "" : ","; }

  std::string block(i64 axis, std::size_t first) {
    std::string s = "[";
    if (axis + 1 == shown_.shape.size())
      line(s, first);
    else
      rows(s, axis, first);
    return s + "]";
  }

  void rows(std::string& s, i64 axis, std::size_t first) {
    const Shape& shape = shown_.array.shape();
    std::size_t step = 1;
    for (i64 a = axis + 1; a < shape.size(); ++a) step *= static_cast<std::size_t>(shape[a]);
    std::string next(mark());
    next.append(static_cast<std::size_t>(shape.size() - axis - 1), '\n');
    next.append(indent_ + static_cast<std::size_t>(axis) + 1, ' ');
    for (i64 i = 0; i < shape[axis]; ++i) {
      if (i > 0) s += next;
      if (i == edge && shown_.cut(axis)) s += "..." + next;
      s += block(axis + 1, first + static_cast<std::size_t>(i) * step);
    }
  }

  // One row of numbers, wrapped where the line would grow too long for the word and a bracket or
  // comma, and for the brackets that enclose the row.
  void line(std::string& s, std::size_t first) {
    const i64 depth = shown_.shape.size(), n = shown_.array.shape().back();
    const std::size_t hanging = indent_ + static_cast<std::size_t>(depth);
    const std::size_t limit = width_ - static_cast<std::size_t>(depth);
    std::size_t column = hanging;
    auto put = [&](std::string_view word, bool last) {
      if (column + word.size() > limit && column > hanging) {
        while (s.back() == ' ') s.pop_back();
        s += '\n';
        s.append(hanging, ' ');
        column = hanging;
      }
      s += word;
      column += word.size();
      if (last) return;
      s += separator_;
      column += separator_.size();
    };
    for (i64 i = 0; i < n; ++i) {
      if (i == edge && shown_.cut(depth - 1)) put("...", false);
      put(words_[first + static_cast<std::size_t>(i)], i + 1 == n);
    }
  }

  const Shown& shown_;
  std::vector<std::string> words_;
  std::string_view separator_;
  std::size_t indent_, width_;
};

bool implied(DType t) {
  return t == DType::b1 || t == DType::i64 || t == DType::f64 || t == DType::c128;
}

std::string text_of(const Shown& s) {
  if (s.array.size() == 0) return "[]";
  if (s.shape.empty()) return scalar_text(s.array);
  return Writer(s, " ", 0, line_width).run();
}

}  // namespace

Shape printed_shape(const Shape& whole) {
  Shape s = whole;
  if (count_of(whole) > most_elements)
    for (i64& n : s) n = std::min(n, 2 * edge);
  return s;
}

std::string to_text(const Array& x) { return text_of(shown(x)); }

std::string to_text(const Array& shown, const Shape& whole) {
  require<ShapeError>(shown.shape() == printed_shape(whole), "print: of an array of shape ", whole,
                      " entries of shape ", printed_shape(whole), " are printed, got ",
                      shown.shape());
  return text_of({on_host(shown), count_of(whole) > most_elements, whole});
}

std::string repr(const Array& x) {
  constexpr std::string_view prefix = "array(";
  std::string text(prefix);
  text += x.size() == 0 ? "[]" : Writer(shown(x), ", ", prefix.size(), line_width - 1).run();
  std::vector<std::string> extras;
  const bool empty_vector = x.ndim() == 1 && x.size() == 0;
  if ((x.size() == 0 && !empty_vector) || x.size() > most_elements)
    extras.push_back(cat("shape=", x.shape()));
  if (x.size() == 0 || !implied(x.dtype())) extras.push_back(cat("dtype=", name(x.dtype())));
  if (x.device() != cpu) extras.push_back(cat("device='", x.device(), "'"));
  if (extras.empty()) return text + ")";
  text += ',';
  const std::string extra = join(extras) + ")";
  const std::size_t newline = text.rfind('\n'),
                    last = text.size() - (newline == std::string::npos ? 0 : newline + 1);
  text += last + extra.size() + 1 > line_width ? "\n" + std::string(prefix.size(), ' ') : " ";
  return text + extra;
}

}  // namespace tessera
