// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/repr_html.hpp"

#include "tessera/base/report/html.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"

namespace tessera {
namespace {

using html::element;
using html::escaped;
using html::folded;

std::string arrow(const NamedShape& s) {
  return escaped(cat(to_text(s.ishape), " → ", to_text(s.oshape)));
}

std::string heading(const NamedLinop& a) {
  std::string text = element("b", escaped(a.name()));
  if (a.name() != a.kind()) text += cat(" ", escaped(a.kind()));
  return cat(text, " ", element("code", arrow(a.shape())));
}

std::string_view side_of(const NamedShape& s, NamedDimension d) {
  const bool in = contains(s.ishape, d), out = contains(s.oshape, d);
  return in && out ? "in and out" : in ? "in" : out ? "out" : "inside";
}

// Transparent, in the colours of the page: right on a light and on a dark one.
std::string dims_table(const NamedLinop& a) {
  constexpr std::string_view cell = "padding:0 1em 0 0;text-align:left";
  const NamedShape s = a.shape();
  std::string rows = element("tr", cat(element("th", "dim", cell), element("th", "size", cell),
                                       element("th", "where", cell)));
  for (const NamedDimension d : a.dims()) {
    const std::optional<i64> n = d.is_wildcard() ? std::nullopt : a.size(d);
    rows += element("tr", cat(element("td", escaped(d.str()), cell),
                              element("td", n ? to_text(*n) : "any", cell),
                              element("td", side_of(s, d), cell)));
  }
  return element("table", rows, "border-collapse:collapse;margin:.3em 0");
}

std::string weight(const NamedLinop& a) {
  const auto by_device = bytes_by_device(a);
  if (by_device.size() > 1) {
    std::string lines;
    for (const auto& [device, bytes] : by_device)
      lines += element("div", cat("on ", device, ", ", bytes_text(bytes)));
    return lines;
  }
  const std::optional<Device> device = a.device();
  const std::size_t count = a.arrays().size();
  const std::string held =
      count == 0 ? std::string("no arrays")
                 : cat(bytes_text(a.bytes()), " in ", count, count == 1 ? " array" : " arrays");
  return element("div", cat(device ? cat("on ", *device) : "on any device", ", ", held));
}

std::string branch(const NamedLinop& a) {
  const std::string details = a.details();
  std::string text = heading(a);
  if (!details.empty()) text += cat(" ", escaped(details));
  std::string parts;
  for (const NamedLinop& part : a.parts()) parts += branch(part);
  if (!parts.empty()) text += element("ul", parts, "margin:0;padding-left:1.5em");
  return element("li", text);
}

}  // namespace

std::string repr_html(const NamedLinop& a) {
  std::string text = cat(element("div", heading(a)), dims_table(a), weight(a));
  if (!a.parts().empty() || !a.details().empty())
    text += folded("tree", element("ul", branch(a), "margin:0;padding-left:1.5em"), true);
  if (!a.notes().empty()) {
    std::string lines;
    for (const std::string& n : a.notes()) lines += element("li", escaped(n));
    text += folded(cat("rewritten (", a.notes().size(), ")"), element("ul", lines), false);
  }
  return html::framed("tessera-linop", text);
}

std::string explain(const NamedLinop& a) {
  std::string text = cat(a.tree(), a.notes().empty() ? "\nnothing was rewritten" : "\nrewritten:");
  for (const std::string& n : a.notes()) text += cat("\n  ", n);
  return text + "\n";
}

}  // namespace tessera
