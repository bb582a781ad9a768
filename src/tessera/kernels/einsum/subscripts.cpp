// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/einsum/subscripts.hpp"

#include <map>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// One comma-separated part: letters before and after at most one "...".
struct Term {
  Labels before, after;
  bool ellipsis = false;
  i64 letters() const { return before.size() + after.size(); }
};

Term read_term(std::string_view text) {
  Term t;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      require<ArgumentError>(
          text.substr(i, 3) == "..." && !t.ellipsis,
          "einstein sum subscripts string contains a '.' that is not part of an ",
          "ellipsis ('...'): '", text, "'");
      t.ellipsis = true;
      i += 2;
      continue;
    }
    require<ArgumentError>(is_letter(c), "invalid subscript '", c,
                           "' in einstein sum subscripts string, subscripts must be letters");
    (t.ellipsis ? t.after : t.before).push_back(c);
  }
  return t;
}

Labels join(const Term& t, i64 broadcast) {
  Labels all = t.before;
  for (i64 i = broadcast - 1; i >= 0; --i) all.push_back(ellipsis_label + static_cast<int>(i));
  all.append(t.after);
  return all;
}

Labels read_operand(std::string_view text, i64 operand, i64 rank, i64& broadcast) {
  const Term t = read_term(text);
  const i64 extra = rank - t.letters();
  require<ArgumentError>(extra >= 0, "einstein sum subscripts string contains too many subscripts ",
                         "for operand ", operand, ": '", text, "' for an array of rank ", rank);
  require<ArgumentError>(t.ellipsis || extra == 0,
                         "operand has more dimensions than subscripts given in einstein sum, but ",
                         "no '...' ellipsis provided to broadcast the extra dimensions: operand ",
                         operand, " of rank ", rank, ", subscripts '", text, "'");
  if (t.ellipsis) broadcast = std::max(broadcast, extra);
  return join(t, t.ellipsis ? extra : 0);
}

// Without "->": the broadcast axes, then every letter that occurs once, in alphabetical order.
Labels implicit_output(const std::vector<Labels>& inputs, i64 broadcast) {
  std::map<int, int> times;
  for (const Labels& labels : inputs)
    for (int l : labels) ++times[l];
  Labels out = join({}, broadcast);
  for (const auto& [label, n] : times)
    if (label < ellipsis_label && n == 1) out.push_back(label);
  return out;
}

Labels read_output(std::string_view text, const std::vector<Labels>& inputs, i64 broadcast) {
  const Term t = read_term(text);
  require<ArgumentError>(t.ellipsis || broadcast == 0,
                         "einsum: the operands have dimensions behind '...', so the output '", text,
                         "' must contain '...' too");
  const Labels out = join(t, t.ellipsis ? broadcast : 0);
  for (i64 i = 0; i < out.size(); ++i) {
    const bool again = std::find(out.begin(), out.begin() + i, out[i]) != out.begin() + i;
    require<ArgumentError>(!again, "einstein sum subscripts string includes output subscript ",
                           label_text(out[i]), " multiple times");
    bool known = false;
    for (const Labels& labels : inputs) known = known || contains(labels, out[i]);
    require<ArgumentError>(known, "einstein sum subscripts string included output subscript ",
                           label_text(out[i]), " which never appeared in an input");
  }
  return out;
}

}  // namespace

std::string label_text(int label) {
  if (label < ellipsis_label) return cat("'", static_cast<char>(label), "'");
  return cat("axis ", ellipsis_label - label - 1, " of '...'");
}

Subscripts parse_subscripts(std::string_view text, std::span<const i64> ranks) {
  const std::size_t arrow = text.find("->");
  const std::string_view left = text.substr(0, arrow);
  require<ArgumentError>(left.find_first_of("->") == std::string_view::npos,
                         "einstein sum subscript string does not contain proper '->' output ",
                         "specified: '", text, "'");
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= left.size();) {
    const std::size_t comma = std::min(left.find(',', at), left.size());
    parts.push_back(left.substr(at, comma - at));
    at = comma + 1;
  }
  require<ArgumentError>(parts.size() <= ranks.size(), "fewer operands provided to einstein sum ",
                         "function than specified in the subscripts string: ", ranks.size(),
                         " for '", text, "'");
  require<ArgumentError>(parts.size() >= ranks.size(), "more operands provided to einstein sum ",
                         "function than specified in the subscripts string: ", ranks.size(),
                         " for '", text, "'");
  Subscripts s;
  i64 broadcast = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    s.inputs.push_back(read_operand(parts[i], static_cast<i64>(i), ranks[i], broadcast));
  s.output = arrow == std::string_view::npos
                 ? implicit_output(s.inputs, broadcast)
                 : read_output(text.substr(arrow + 2), s.inputs, broadcast);
  return s;
}

}  // namespace tessera
