// SPDX-License-Identifier: Apache-2.0
// Random keys on random arrays, read and assigned, against an interpreter of NumPy's rules that is
// written here from scratch, element by element; and damaged keys for the parser.   usage:
// fuzz_index [SECONDS [SEED]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

#include "tessera/array/index.hpp"
#include "tessera/base/config.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

using Random = std::mt19937_64;
using List = std::vector<i64>;

i64 below(Random& r, i64 n) { return static_cast<i64>(r() % static_cast<std::uint64_t>(n)); }
i64 between(Random& r, i64 low, i64 high) { return low + below(r, high - low + 1); }
i64 product(const List& s) {
  i64 n = 1;
  for (const i64 v : s) n *= v;
  return n;
}

// The simplest possible array: row-major numbers.
struct Plain {
  List shape, data;
};

// One item of a key, as the interpreter and as the library see it.
struct Part {
  enum Kind { integer, slice, new_axis, ellipsis, truth, positions, mask } kind = integer;
  i64 value = 0;
  std::optional<i64> start, stop, step;
  Plain list;
};

// Visits the tuples of a shape in row-major order.
template <class F>
void each_tuple(const List& shape, F&& f) {
  List at(shape.size(), 0);
  for (i64 n = product(shape); n > 0; --n) {
    f(at);
    for (std::size_t a = shape.size(); a-- > 0 && ++at[a] == shape[a];) at[a] = 0;
  }
}

i64 number_of(const List& at, const List& shape) {
  i64 n = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) n = n * shape[a] + at[a];
  return n;
}

// What a result axis means: a list of positions on a source axis, a new axis, or one of the
// broadcast axes.
struct Meaning {
  enum Kind { source, fresh, lead } kind = fresh;
  std::size_t axis = 0;  // of the source, or of the broadcast shape
  List positions;
};

class Interpreter {
 public:
  // Nothing when NumPy refuses the key.
  static std::optional<Interpreter> make(const List& shape, const std::vector<Part>& key) {
    Interpreter k(shape);
    if (!k.read(key)) return std::nullopt;
    return k;
  }

  List result_shape() const {
    List s;
    for (const Meaning& m : result_)
      s.push_back(m.kind == Meaning::source ? static_cast<i64>(m.positions.size())
                  : m.kind == Meaning::lead ? lead_[m.axis]
                                            : 1);
    return s;
  }

  // The element of the source that a result tuple means.
  i64 source_of(const List& at) const {
    List where(shape_.size(), 0), lead_at(lead_.size(), 0);
    for (std::size_t a = 0; a < result_.size(); ++a) {
      const Meaning& m = result_[a];
      if (m.kind == Meaning::source) where[m.axis] = m.positions[static_cast<std::size_t>(at[a])];
      if (m.kind == Meaning::lead) lead_at[m.axis] = at[a];
    }
    for (const auto& [axis, fixed] : integers_) where[axis] = fixed;
    for (const auto& [axis, list] : picked_) {
      i64 v = list.data[static_cast<std::size_t>(broadcast_number(list.shape, lead_at))];
      where[axis] = v < 0 ? v + shape_[axis] : v;
    }
    return number_of(where, shape_);
  }

 private:
  explicit Interpreter(const List& shape) : shape_(shape) {}

  static i64 broadcast_number(const List& shape, const List& at) {
    List own;
    for (std::size_t i = 0; i < shape.size(); ++i)
      own.push_back(shape[i] == 1 ? 0 : at[at.size() - shape.size() + i]);
    return number_of(own, shape);
  }

  // Python's range, walked with 128 bits: no formula to get wrong.
  static bool walk(const Part& p, i64 size, List& positions) {
    const __int128 step = p.step.value_or(1);
    if (step == 0) return false;
    auto clip = [&](const std::optional<i64>& v, __int128 absent) -> __int128 {
      if (!v) return absent;
      __int128 x = *v;
      if (x < 0) x += size;
      if (step > 0) return x < 0 ? 0 : x > size ? size : x;
      return x < -1 ? -1 : x >= size ? size - 1 : x;
    };
    const __int128 stop = clip(p.stop, step > 0 ? size : -1);
    for (__int128 x = clip(p.start, step > 0 ? 0 : size - 1); step > 0 ? x < stop : x > stop;
         x += step)
      positions.push_back(static_cast<i64>(x));
    return true;
  }

  bool read(const std::vector<Part>& key) {
    std::size_t used = 0, ellipses = 0;
    bool advanced = false;
    for (const Part& p : key) {
      ellipses += p.kind == Part::ellipsis;
      used += p.kind == Part::mask ? p.list.shape.size()
              : p.kind == Part::integer || p.kind == Part::slice || p.kind == Part::positions ? 1
                                                                                              : 0;
      advanced =
          advanced || p.kind == Part::mask || p.kind == Part::truth || p.kind == Part::positions;
    }
    if (ellipses > 1 || used > shape_.size()) return false;
    const std::size_t skipped = shape_.size() - used;
    std::size_t axis = 0;
    i64 first = -1, groups = 0;  // result axis and number of the groups of adjacent advanced items
    bool inside = false;
    for (const Part& p : key) {
      const bool is_advanced = p.kind == Part::mask || p.kind == Part::truth ||
                               p.kind == Part::positions || (p.kind == Part::integer && advanced);
      if (is_advanced && !inside) {
        if (groups++ == 0) first = static_cast<i64>(result_.size());
      }
      if (is_advanced || p.kind != Part::integer) inside = is_advanced;
      if (!apply(p, axis, skipped)) return false;
    }
    keep(axis, shape_.size() - axis);
    if (!advanced) return true;
    if (!broadcast()) return false;
    const auto at = result_.begin() + (groups > 1 ? 0 : first);
    std::vector<Meaning> axes;
    for (std::size_t a = 0; a < lead_.size(); ++a) axes.push_back({Meaning::lead, a, {}});
    result_.insert(at, axes.begin(), axes.end());
    return in_bounds();
  }

  bool apply(const Part& p, std::size_t& axis, std::size_t skipped) {
    switch (p.kind) {
      case Part::integer:
        if (p.value < -shape_[axis] || p.value >= shape_[axis]) return false;
        integers_.emplace_back(axis, p.value < 0 ? p.value + shape_[axis] : p.value);
        ++axis;
        return true;
      case Part::slice: {
        List positions;
        if (!walk(p, shape_[axis], positions)) return false;
        result_.push_back({Meaning::source, axis++, positions});
        return true;
      }
      case Part::new_axis: result_.push_back({}); return true;
      case Part::ellipsis: keep(axis, skipped); return true;
      case Part::truth: broadcast_.push_back({p.value != 0 ? 1 : 0}); return true;
      case Part::positions:
        picked_.emplace_back(axis++, p.list);
        broadcast_.push_back(p.list.shape);
        return true;
      default: return apply_mask(p.list, axis);
    }
  }

  bool apply_mask(const Plain& mask, std::size_t& axis) {
    for (std::size_t a = 0; a < mask.shape.size(); ++a)
      if (mask.shape[a] != 0 && mask.shape[a] != shape_[axis + a]) return false;
    std::vector<Plain> lists(mask.shape.size());
    each_tuple(mask.shape, [&](const List& at) {
      if (mask.data[static_cast<std::size_t>(number_of(at, mask.shape))] == 0) return;
      for (std::size_t a = 0; a < lists.size(); ++a) lists[a].data.push_back(at[a]);
    });
    for (Plain& l : lists) {
      l.shape = {static_cast<i64>(l.data.size())};
      broadcast_.push_back(l.shape);
      picked_.emplace_back(axis++, std::move(l));
    }
    return true;
  }

  void keep(std::size_t& axis, std::size_t n) {
    for (; n > 0; --n) {
      List all;
      for (i64 i = 0; i < shape_[axis]; ++i) all.push_back(i);
      result_.push_back({Meaning::source, axis++, all});
    }
  }

  bool broadcast() {
    for (const List& s : broadcast_) {
      if (s.size() > lead_.size()) lead_.insert(lead_.begin(), s.size() - lead_.size(), 1);
      for (std::size_t i = 1; i <= s.size(); ++i) {
        i64& have = lead_[lead_.size() - i];
        const i64 want = s[s.size() - i];
        if (have != want && have != 1 && want != 1) return false;
        if (have == 1) have = want;
      }
    }
    return true;
  }

  bool in_bounds() const {
    if (product(lead_) == 0) return true;
    for (const auto& [axis, list] : picked_)
      for (const i64 v : list.data)
        if (v < -shape_[axis] || v >= shape_[axis]) return false;
    return true;
  }

  List shape_, lead_;
  std::vector<Meaning> result_;
  std::vector<std::pair<std::size_t, i64>> integers_;
  std::vector<std::pair<std::size_t, Plain>> picked_;
  std::vector<List> broadcast_;
};

// The library's side.
Shape shape_of(const List& s) { return Shape(s.begin(), s.end()); }

Array to_array(const Plain& p, DType dtype, Device device) {
  Array dense(Storage::allocate(cpu, static_cast<i64>(p.data.size()) * 8),
              Layout::contiguous(shape_of(p.shape)), DType::i64);
  std::copy(p.data.begin(), p.data.end(), dense.host<i64>());
  const Array a =
      Array::empty(shape_of(p.shape), dtype, device);  // padded when the configuration says so
  a.copy_from(dense.astype(dtype).to(device));
  return a;
}

Plain to_plain(const Array& x) {
  const Array here = x.to(cpu);
  Plain p;
  p.shape.assign(here.shape().begin(), here.shape().end());
  each_tuple(p.shape, [&](const List& at) {
    i64 offset = 0;
    for (std::size_t a = 0; a < at.size(); ++a)
      offset += at[a] * here.layout().strides[static_cast<i64>(a)];
    p.data.push_back(here.host<i64>()[offset]);
  });
  return p;
}

Index to_index(const std::vector<Part>& key, Device device) {
  Index k;
  for (const Part& p : key) {
    switch (p.kind) {
      case Part::integer: k.add(p.value); break;
      case Part::slice: k.add(Slice{p.start, p.stop, p.step}); break;
      case Part::new_axis: k.add(new_axis); break;
      case Part::ellipsis: k.add(ellipsis); break;
      case Part::truth: k.add(p.value != 0); break;
      case Part::positions: k.add(to_array(p.list, DType::i64, device)); break;
      case Part::mask: k.add(to_array(p.list, DType::b1, device)); break;
    }
  }
  return k;
}

std::optional<i64> maybe(Random& r, i64 size) {
  if (below(r, 3) == 0) return std::nullopt;
  if (below(r, 40) == 0) return below(r, 2) == 0 ? INT64_MIN : INT64_MAX;
  return between(r, -size - 2, size + 2);
}

Part random_part(Random& r, const List& shape, std::size_t& axis, const List& common) {
  Part p;
  const i64 size = axis < shape.size() ? shape[axis] : 2, wrong = below(r, 30) == 0 ? 1 : 0;
  auto position = [&] {
    return size + wrong == 0 ? 0 : between(r, -size - wrong, std::max<i64>(size - 1 + wrong, 0));
  };
  switch (below(r, 10)) {
    case 0:
    case 1:
      p.value = position();
      ++axis;
      return p;
    case 2:
    case 3:
    case 4:
      p.kind = Part::slice;
      p.start = maybe(r, size);
      p.stop = maybe(r, size);
      if (below(r, 2) == 0)
        p.step = below(r, 60) == 0   ? 0
                 : below(r, 30) == 0 ? INT64_MIN
                                     : between(r, 1, 3) * (below(r, 2) == 0 ? 1 : -1);
      ++axis;
      return p;
    case 5: p.kind = Part::new_axis; return p;
    case 6:
      p.kind = Part::ellipsis;
      axis = std::max(axis, shape.size() - std::min<std::size_t>(shape.size(), 1));
      return p;
    case 7:
      p.kind = below(r, 3) == 0 ? Part::truth : Part::new_axis;
      p.value = below(r, 2);
      return p;
    case 8:
      p.kind = Part::positions;
      p.list.shape = below(r, 4) == 0 ? List{1} : below(r, 12) == 0 ? List{below(r, 4)} : common;
      for (i64 n = product(p.list.shape); n > 0; --n) p.list.data.push_back(position());
      ++axis;
      return p;
    default:
      p.kind = Part::mask;
      for (i64 n = 1 + below(r, 2); n > 0; --n)
        p.list.shape.push_back(axis < shape.size() ? shape[axis++] + (below(r, 40) == 0 ? 1 : 0)
                                                   : 2);
      for (i64 n = product(p.list.shape); n > 0; --n) p.list.data.push_back(below(r, 2));
      return p;
  }
}

std::vector<Part> random_key(Random& r, const List& shape) {
  List common;
  for (i64 n = below(r, 3); n > 0; --n) common.push_back(below(r, 4));
  if (common.empty()) common = {1 + below(r, 3)};
  std::vector<Part> key;
  std::size_t axis = 0;
  for (i64 n = below(r, static_cast<i64>(shape.size()) + 3); n > 0; --n)
    key.push_back(random_part(r, shape, axis, common));
  return key;
}

[[noreturn]] void fail(const std::string& what, const List& shape, const Index& key) {
  std::fprintf(stderr, "shape %s, key [%s]: %s\n", to_text(shape_of(shape)).c_str(),
               key.str().c_str(), what.c_str());
  std::exit(1);
}

struct Counts {
  std::uint64_t read = 0, written = 0, refused = 0, parsed = 0;
};

// A value for x[key] = value: some leading axes dropped, some sizes 1.
Plain random_value(Random& r, List shape) {
  while (!shape.empty() && below(r, 4) == 0) shape.erase(shape.begin());
  for (i64& n : shape)
    if (below(r, 5) == 0) n = 1;
  Plain v{shape, {}};
  for (i64 n = product(shape); n > 0; --n) v.data.push_back(1000 + static_cast<i64>(v.data.size()));
  return v;
}

void check_assign(Random& r, const Plain& source, const std::vector<Part>& parts,
                  const Interpreter& means, Device device, Counts& counts) {
  const List result = means.result_shape();
  const Plain value = random_value(r, result);
  Plain expected = source;
  each_tuple(result, [&](const List& at) {
    List own;
    for (std::size_t i = 0; i < value.shape.size(); ++i)
      own.push_back(value.shape[i] == 1 ? 0 : at[at.size() - value.shape.size() + i]);
    expected.data[static_cast<std::size_t>(means.source_of(at))] =
        value.data[static_cast<std::size_t>(number_of(own, value.shape))];
  });
  const Array x = to_array(source, DType::i64, device);
  const Index key = to_index(parts, device);
  x.assign(key, to_array(value, DType::i64, device));
  if (to_plain(x).data != expected.data) fail("other elements were written", source.shape, key);
  ++counts.written;
}

void check_key(Random& r, Counts& counts) {
  Plain source;
  for (i64 n = below(r, 5); n > 0; --n)
    source.shape.push_back(below(r, 12) == 0 ? 0 : 1 + below(r, 4));
  for (i64 i = 0; i < product(source.shape); ++i) source.data.push_back(i);
  const std::vector<Part> parts = random_key(r, source.shape);
  const Using<bool> padded(config().noncontiguous, below(r, 2) == 0);
  const Device device = below(r, 16) == 0 ? Device::parse("sim:0") : cpu;
  const std::optional<Interpreter> means = Interpreter::make(source.shape, parts);
  const Index key = to_index(parts, device);
  try {
    const Plain got = to_plain(to_array(source, DType::i64, device)[key]);
    if (!means) fail("was accepted, and NumPy refuses it", source.shape, key);
    if (got.shape != means->result_shape()) fail("has another shape", source.shape, key);
    std::size_t i = 0;
    each_tuple(got.shape, [&](const List& at) {
      if (got.data[i++] != means->source_of(at)) fail("has other elements", source.shape, key);
    });
    ++counts.read;
    check_assign(r, source, parts, *means, device, counts);
  } catch (const IndexError& e) {
    if (means) fail(std::string("was refused: ") + e.what(), source.shape, key);
    ++counts.refused;
  } catch (const ArgumentError& e) {
    if (means) fail(std::string("was refused: ") + e.what(), source.shape, key);
    ++counts.refused;
  }
  if (device == cpu) {
    const std::string text = key.str();
    if (parse_index(text).str() != text) fail("its text does not come back", source.shape, key);
  }
}

void check_parser(Random& r, Counts& counts) {
  static constexpr std::string_view words[] = {
      "[",  "]", ",", ":",  "...", "None",     "True",    "False", "(",
      ")",  "-", "1", "23", " ",   "Ellipsis", "newaxis", "1.5",   "9223372036854775807",
      "[[", "+"};
  std::string text;
  for (i64 n = below(r, 14); n > 0; --n) text += words[below(r, std::size(words))];
  if (!text.empty() && below(r, 4) == 0)
    text[static_cast<std::size_t>(below(r, static_cast<i64>(text.size())))] =
        static_cast<char>(r());
  try {
    const Index k = parse_index(text);
    if (parse_index(k.str()).str() != k.str()) fail("its text does not come back", {}, k);
    ++counts.parsed;
  } catch (const Error&) {
    ++counts.refused;
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  tessera::Random random(seed);
  tessera::config().poison.set(true);
  tessera::Counts c;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
         seconds) {
    for (int i = 0; i < 64; ++i) tessera::check_key(random, c);
    for (int i = 0; i < 16; ++i) tessera::check_parser(random, c);
  }
  using Wide = unsigned long long;
  std::printf(
      "fuzz_index: %llu cases (%llu read, %llu assigned, %llu refused, %llu texts), seed %llu\n",
      static_cast<Wide>(c.read + c.written + c.refused + c.parsed), static_cast<Wide>(c.read),
      static_cast<Wide>(c.written), static_cast<Wide>(c.refused), static_cast<Wide>(c.parsed),
      static_cast<Wide>(seed));
  return 0;
}
