// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: magic, version, length, and a Python dictionary literal of three known
// keys.
#include <charconv>
#include <optional>

#include "tessera/array/npy.hpp"

namespace tessera {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr i64 longest_header = i64{1} << 20;  // a shape of 64 axes needs under 2 KiB

class DictParser {
 public:
  DictParser(std::string_view text, const std::string& who, NpyHeader& header)
      : text_(text), who_(who), header_(header) {}

  void run() {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = string("a key");
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        read_descr();
      } else if (key == "fortran_order" && !order) {
        order = true;
        header_.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        read_shape();
      } else {
        fail(cat("key '", key,
                 "' found; 'descr', 'fortran_order' and 'shape' were expected, once each"));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("bytes follow the closing brace of the header");
    if (!descr || !order || !shape) fail("'descr', 'fortran_order' and 'shape' must all be there");
  }

 private:
  void read_descr() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      fail("it holds records (a structured dtype); only plain numbers can be read");
    set_dtype(string("a dtype"));
  }

  void set_dtype(const std::string& descr) {
    std::string_view code = descr;
    char order = '|';
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
      order = code[0];
      code.remove_prefix(1);
    }
    const std::optional<DType> t = dtype_of_code(code);
    if (!t)
      fail(cat("dtype '", descr, "' (", kind_text(code),
               ") cannot be read; bool, integers, floats of 2, 4 "
               "and 8 bytes and complex numbers of 8 and 16 can"));
    header_.dtype = *t;
    header_.swapped = order == '>' && size_of(*t) > 1;
  }

  static std::optional<DType> dtype_of_code(std::string_view code) {
    struct Entry {
      std::string_view code;
      DType dtype;
    };
    static constexpr Entry known[] = {
        {"b1", DType::b1},  {"?", DType::b1},   {"i1", DType::i8},  {"i2", DType::i16},
        {"i4", DType::i32}, {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::u16},
        {"u4", DType::u32}, {"u8", DType::u64}, {"f2", DType::f16}, {"V2", DType::bf16},
        {"f4", DType::f32}, {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}};
    for (const Entry& e : known)
      if (e.code == code) return e.dtype;
    return std::nullopt;
  }

  static std::string_view kind_text(std::string_view code) {
    switch (code.empty() ? ' ' : code[0]) {
      case 'O': return "Python objects, which would have to be unpickled";
      case 'U': return "text";
      case 'S':
      case 'a': return "byte strings";
      case 'M': return "dates";
      case 'm': return "time differences";
      case 'V': return "raw records";
      case 'f':
      case 'c': return "a float of another size";
      default: return "unknown";
    }
  }

  void read_shape() {
    expect('(');
    while (!take(')')) {
      header_.shape.push_back(integer());
      if (header_.shape.size() > max_rank) fail(cat("the shape has more than ", max_rank, " axes"));
      if (!take(',')) {
        expect(')');
        if (header_.shape.size() == 1) fail("the shape is a number; a tuple was expected");
        break;
      }
    }
  }

  i64 integer() {
    skip_space();
    i64 v = 0;
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, end, v);
    if (error != std::errc() || v < 0)
      fail(cat("a size of the shape is not an integer from 0 to 2^63 - 1, at byte ", at_,
               " of the header"));
    at_ += static_cast<std::size_t>(stop - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return v;
  }

  bool boolean() {
    skip_space();
    for (const bool v : {true, false}) {
      const std::string_view word = v ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return v;
    }
    fail("fortran_order is neither True nor False");
  }

  std::string string(std::string_view what) {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"')
      fail(cat("expected ", what, " in quotes at byte ", at_, " of the header"));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string of the header does not end");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos || inside.size() > 64)
      fail(cat("expected ", what, ", found a string that is none"));
    at_ = end + 1;
    return std::string(inside);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(cat("expected '", c, "' at byte ", at_, " of the header"));
  }
  [[noreturn]] void fail(std::string_view what) const { throw IoError(cat(who_, ": ", what)); }

  std::string_view text_;
  const std::string& who_;
  NpyHeader& header_;
  std::size_t at_ = 0;
};

int byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<int>(bytes[i]);
}

}  // namespace

i64 npy_header_size(std::span<const std::byte> start, const std::string& who) {
  require<IoError>(start.size() >= 10, who, ": ", start.size(),
                   " bytes; a .npy file has at least 10");
  require<IoError>(std::memcmp(start.data(), magic.data(), magic.size()) == 0, who,
                   ": not a .npy file: it does not begin with \\x93NUMPY");
  const int major = byte_at(start, 6), minor = byte_at(start, 7);
  require<IoError>(major >= 1 && major <= 3 && minor == 0, who, ": version ", major, ".", minor,
                   " of the .npy format; versions 1.0, 2.0 and 3.0 are known");
  const std::size_t digits = major == 1 ? 2 : 4;
  require<IoError>(start.size() >= 8 + digits, who, ": ends within the length of its header");
  i64 length = 0;
  for (std::size_t i = 0; i < digits; ++i)
    length |= static_cast<i64>(byte_at(start, 8 + i)) << (8 * i);
  require<IoError>(length <= longest_header, who, ": a header of ", length, " bytes; at most ",
                   longest_header, " are sensible");
  return 8 + static_cast<i64>(digits) + length;
}

NpyHeader parse_npy_header(std::span<const std::byte> head, const std::string& who) {
  const i64 size =
      npy_header_size(head.first(std::min<std::size_t>(head.size(), npy_preamble)), who);
  require<IoError>(size <= static_cast<i64>(head.size()), who, ": a header of ", size,
                   " bytes, and only ", head.size(), " are there");
  NpyHeader header;
  header.data = size;
  const i64 start = byte_at(head, 6) == 1 ? 10 : 12;
  const std::string_view text(reinterpret_cast<const char*>(head.data()) + start,
                              static_cast<std::size_t>(size - start));
  DictParser(text, who, header).run();
  header.bytes = size_of(header.dtype);
  bool fits = true, empty = false;
  for (const i64 n : header.shape) {  // strides of empty arrays must be countable too
    fits = fits && !__builtin_mul_overflow(header.bytes, std::max<i64>(n, 1), &header.bytes);
    empty = empty || n == 0;
  }
  require<IoError>(fits, who, ": shape ", header.shape, " of ", name(header.dtype),
                   " has more bytes than 63 bits can count");
  if (empty) header.bytes = 0;
  return header;
}

}  // namespace tessera
