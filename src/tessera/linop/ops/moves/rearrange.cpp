// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/rearrange.hpp"

#include <algorithm>
#include <cctype>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

using Lengths = Rearrange::Lengths;
using Pattern = Rearrange::Pattern;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

[[noreturn]] void bad_pattern(std::string_view text, std::string_view why) {
  throw ArgumentError(cat("Rearrange: pattern '", text, "' ", why));
}

Pattern parse(std::string_view text) {
  Pattern p;
  bool open = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ') {
      ++i;
    } else if (c == '(' || c == ')') {
      if (open == (c == '(')) bad_pattern(text, "has unmatched or nested parentheses");
      open = c == '(';
      if (open) p.emplace_back();
      ++i;
    } else if (text.substr(i, 3) == "...") {
      if (open) bad_pattern(text, "has '...' inside parentheses");
      p.push_back({{}, true});
      i += 3;
    } else if (in_word(c)) {
      std::size_t end = i;
      while (end < text.size() && in_word(text[end])) ++end;
      std::string word(text.substr(i, end - i));
      i = end;
      if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word != "1")
        bad_pattern(text, "has a number; only 1 is an axis");
      if (!open) p.emplace_back();
      if (word != "1") p.back().words.push_back(std::move(word));
    } else {
      bad_pattern(text, cat("has '", c, "', which means nothing here"));
    }
  }
  if (open) bad_pattern(text, "has unmatched or nested parentheses");
  if (std::count_if(p.begin(), p.end(), [](const auto& a) { return a.rest; }) > 1)
    bad_pattern(text, "has more than one '...'");
  return p;
}

std::vector<std::string> words_of(const Pattern& p, std::string_view text) {
  std::vector<std::string> all;
  for (const auto& axis : p)
    for (const std::string& w : axis.words) {
      if (std::find(all.begin(), all.end(), w) != all.end())
        bad_pattern(text, cat("has '", w, "' twice"));
      all.push_back(w);
    }
  return all;
}

std::optional<i64> length_in(const Lengths& lengths, const std::string& word) {
  for (const auto& [w, n] : lengths)
    if (w == word) return n;
  return std::nullopt;
}

i64 axis_length(const Rearrange::Axis& axis, const Lengths& lengths) {
  i64 n = 1;
  for (const std::string& w : axis.words) n *= *length_in(lengths, w);
  return n;
}

void check_side(std::string_view who, const Dims& dims, const Pattern& p, std::string_view text) {
  check_distinct(who, dims);
  require<DimError>(dims.size() == static_cast<i64>(p.size()), who, ": pattern '", text, "' has ",
                    p.size(), " axes, the names ", to_text(dims), " are ", dims.size());
  for (i64 i = 0; i < dims.size(); ++i)
    require<DimError>(dims[i].is_ellipses() == p[static_cast<std::size_t>(i)].rest, who,
                      ": '...' is not at the same place in pattern '", text, "' and names ",
                      to_text(dims));
}

// The length of every word, from axes_lengths and an array's shape.
Lengths solve(const Rearrange& a, const Shape& input) {
  const std::string who = cat("Rearrange ", a.names.str(), " ", a.details());
  Lengths all = a.axes_lengths;
  const i64 rest = input.size() - (static_cast<i64>(a.in.size()) - has_ellipses(a.names.ishape));
  i64 at = 0;
  for (const auto& axis : a.in) {
    if (axis.rest) {
      at += rest;
      continue;
    }
    const i64 n = input[at++];
    const std::string* missing = nullptr;
    i64 known = 1;
    for (const std::string& w : axis.words) {
      const std::optional<i64> length = length_in(all, w);
      require<DimError>(length || !missing, who, ": of an axis of ", n, " the lengths of '",
                        missing ? *missing : w, "' and '", w,
                        "' cannot both be found; give one in axes_lengths");
      if (length)
        known *= *length;
      else
        missing = &w;
    }
    if (missing) {
      require<DimError>(known > 0 && n % known == 0, who, ": an axis of ", n,
                        " cannot be cut into parts of ", known, " for '", *missing, "'");
      all.emplace_back(*missing, n / known);
    } else {
      require<DimError>(known == n, who, ": an axis has ", n, " elements, its pattern ", known);
    }
  }
  return all;
}

// One axis per word, in the pattern's order; "..." keeps its axes and comes under the word "...".
struct Word {
  std::string word;
  i64 size, stride;
};
std::vector<Word> expand(const Layout& l, const Pattern& p, const Lengths& lengths) {
  std::vector<Word> all;
  const bool open = std::any_of(p.begin(), p.end(), [](const auto& a) { return a.rest; });
  const i64 rest = l.ndim() - (static_cast<i64>(p.size()) - open);
  i64 at = 0;
  for (const auto& axis : p) {
    if (axis.rest) {
      for (i64 k = 0; k < rest; ++k, ++at)
        all.push_back({cat("...", k), l.shape[at], l.strides[at]});
      continue;
    }
    i64 step = l.strides[at] * l.shape[at];
    ++at;
    for (const std::string& w : axis.words) {
      const i64 n = *length_in(lengths, w);
      step = n > 0 ? step / n : 0;
      all.push_back({w, n, step});
    }
  }
  return all;
}

}  // namespace

Rearrange::Rearrange(std::string ip, std::string op, Dims ishape, Dims oshape, Lengths lengths)
    : ipattern(std::move(ip)),
      opattern(std::move(op)),
      names(std::move(ishape), std::move(oshape)),
      axes_lengths(std::move(lengths)),
      in(parse(ipattern)),
      out(parse(opattern)) {
  const std::string who = cat("Rearrange ", names.str());
  check_side(who, names.ishape, in, ipattern);
  check_side(who, names.oshape, out, opattern);
  const auto iwords = words_of(in, ipattern), owords = words_of(out, opattern);
  for (const auto& [a, b] : {std::pair(&iwords, &owords), std::pair(&owords, &iwords)})
    for (const std::string& w : *a)
      require<ArgumentError>(std::find(b->begin(), b->end(), w) != b->end(), who, ": '", w,
                             "' is on one side of '", ipattern, "' -> '", opattern, "' only");
  require<ArgumentError>(has_ellipses(names.ishape) == has_ellipses(names.oshape), who,
                         ": '...' is on one side of '", ipattern, "' -> '", opattern, "' only");
  for (const auto& [w, n] : axes_lengths) {
    require<ArgumentError>(std::find(iwords.begin(), iwords.end(), w) != iwords.end(), who,
                           ": axes_lengths has '", w, "', which is in no pattern");
    require<ArgumentError>(n >= 0, who, ": length ", n, " of '", w, "' is negative");
  }
  for (i64 i = 0; i < names.ishape.size(); ++i)
    for (i64 j = 0; j < names.oshape.size(); ++j)
      require<DimError>(
          !(names.ishape[i] == names.oshape[j]) ||
              in[static_cast<std::size_t>(i)] == out[static_cast<std::size_t>(j)],
          who, ": dim '", names.ishape[i],
          "' is on both sides but the patterns change it; give the output a new name");
}

std::optional<i64> Rearrange::size(NamedDimension d) const {
  for (const auto& [dims, pattern] :
       {std::pair(&names.ishape, &in), std::pair(&names.oshape, &out)})
    for (i64 i = 0; i < dims->size(); ++i) {
      const Axis& axis = (*pattern)[static_cast<std::size_t>(i)];
      if (!((*dims)[i] == d) || axis.rest) continue;
      const bool known = std::all_of(axis.words.begin(), axis.words.end(), [&](const auto& w) {
        return length_in(axes_lengths, w).has_value();
      });
      if (known) return axis_length(axis, axes_lengths);
    }
  return std::nullopt;
}

Shape Rearrange::output_shape(const Shape& input) const {
  const std::string who = cat("Rearrange ", names.str());
  const Binding b = bind_dims(who, names.ishape, input);
  const Lengths lengths = solve(*this, input);
  Shape s;
  for (const Axis& axis : out)
    if (axis.rest)
      s.append(b.rest);
    else
      s.push_back(axis_length(axis, lengths));
  return s;
}

void Rearrange::apply(Recorder& r, const View& x, const View& y) const {
  // Both sides are cut to single words, which never needs a copy; then one is read in the order of
  // the other.
  const Lengths lengths = solve(*this, x.shape());
  const auto from = expand(x.layout, in, lengths), to = expand(y.layout, out, lengths);
  Layout source, target;
  source.offset = x.layout.offset;
  target.offset = y.layout.offset;
  for (const Word& t : to) {
    const auto f =
        std::find_if(from.begin(), from.end(), [&](const Word& c) { return c.word == t.word; });
    source.shape.push_back(f->size);
    source.strides.push_back(f->stride);
    target.shape.push_back(t.size);
    target.strides.push_back(t.stride);
  }
  record::copy(r, sub_view(x, source), sub_view(y, target));
}

Rearrange Rearrange::adjoint() const {
  return Rearrange(opattern, ipattern, names.oshape, names.ishape, axes_lengths);
}

NamedLinop Rearrange::normal() const { return Identity(names.ishape); }

Rearrange Rearrange::renamed(const Renames& r) const {
  Rearrange a = *this;
  a.names = names.renamed(r);
  return a;
}

NamedLinop Rearrange::split(const Tile& tile) const {
  Rearrange a = *this;
  for (const Cut& c : tile.cuts) {
    const auto at = axis_of(names.ishape, c.dim, names.ishape.size());
    const bool passes =
        at && contains(names.oshape, c.dim) && in[static_cast<std::size_t>(*at)].words.size() <= 1;
    require<SplitError>(passes, "Rearrange ", names.str(), " ", details(),
                        " cannot be cut along dim '", c.dim, "': it is cut or merged");
    for (auto& [w, n] : a.axes_lengths)
      if (in[static_cast<std::size_t>(*at)].words == std::vector{w}) n = c.size();
  }
  return a;
}

}  // namespace tessera
