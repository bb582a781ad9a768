// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/state.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using nlohmann::json;

constexpr const char* who = "description of an operator";

std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

bool same_array(const Array& a, const Array& b) {
  return a.storage() == b.storage() && a.layout() == b.layout() && a.dtype() == b.dtype();
}

}  // namespace

struct StateWriter::Impl {
  Foreign foreign;
  std::string text;  // of the operator that is being written
  bool comma = false;
  std::map<const void*, i64> seen;  // operators, by identity: one that is used twice is kept once
  std::vector<NamedLinop> held;     // so that no identity is given again
  std::vector<std::string> nodes;   // parts before what is made of them
  std::vector<Array> arrays;

  void add(const std::string& value) {
    if (comma) text += ',';
    text += value;
    comma = true;
  }
};

StateWriter::StateWriter(Foreign foreign) : impl_(std::make_unique<Impl>()) {
  impl_->foreign = std::move(foreign);
}
StateWriter::~StateWriter() = default;

void StateWriter::open() {
  impl_->add("[");
  impl_->comma = false;
}
void StateWriter::close() {
  impl_->text += ']';
  impl_->comma = true;
}

void StateWriter::put(bool v) { impl_->add(v ? "true" : "false"); }
void StateWriter::put(i64 v) { impl_->add(to_text(v)); }
void StateWriter::put(const std::string& v) { impl_->add(quoted(v)); }
void StateWriter::put(double v) {
  if (std::isfinite(v))
    impl_->add(json(v).dump());
  else
    put(std::string(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"));
}

void StateWriter::put(const Value& v) {
  open();
  put(v.kind());
  if (v.kind() == Value::Kind::complex) {
    put(v.as<c128>().re);
    put(v.as<c128>().im);
  } else if (v.kind() == Value::Kind::real) {
    put(v.as<double>());
  } else {
    put(v.as<i64>());
  }
  close();
}

void StateWriter::put(const Array& v) {
  if (!v) return put(i64{-1});
  std::vector<Array>& all = impl_->arrays;
  std::size_t at = 0;
  while (at < all.size() && !same_array(all[at], v)) ++at;
  if (at == all.size()) all.push_back(v);
  put(static_cast<i64>(at));
}

void StateWriter::put(const NamedLinop& a) {
  Impl& w = *impl_;
  if (const auto known = w.seen.find(a.id()); known != w.seen.end()) return put(known->second);
  std::string around = std::exchange(w.text, {});
  const bool comma = std::exchange(w.comma, false);
  const std::string name = a.name() == a.kind() ? std::string() : a.name();
  std::string node = cat("{\"kind\":", quoted(std::string(a.kind())), ",\"name\":", quoted(name));
  if (a.write_state(*this)) {
    node += ",\"state\":" + w.text;
  } else {
    require<DTypeError>(static_cast<bool>(w.foreign), a,
                        ": it holds functions, or a place in a group of ranks, that cannot be "
                        "written to a file");
    node += cat(",\"foreign\":", w.foreign(a));
  }
  w.nodes.push_back(node + "}");
  w.held.push_back(a);
  w.text = std::move(around);
  w.comma = comma;
  const i64 number = static_cast<i64>(w.nodes.size()) - 1;
  w.seen.emplace(a.id(), number);
  put(number);
}

LinopDescription StateWriter::finished() {
  std::string text = "{\"operator\":1,\"nodes\":[";
  for (std::size_t i = 0; i < impl_->nodes.size(); ++i)
    text += (i ? ",\n" : "\n") + impl_->nodes[i];
  text += "],\n\"devices\":[";
  for (std::size_t i = 0; i < impl_->arrays.size(); ++i)
    text += (i ? "," : "") + quoted(impl_->arrays[i].device().str());
  return {text + "]}", std::move(impl_->arrays)};
}

LinopDescription describe(const NamedLinop& a, StateWriter::Foreign foreign) {
  StateWriter w(std::move(foreign));
  w.put(a);
  return w.finished();
}

struct StateReader::Impl {
  const std::vector<Array>& arrays;
  std::vector<NamedLinop> nodes{};
  std::vector<std::pair<const json*, std::size_t>> open{};  // lists within lists, and how far
  const json* state = nullptr;                              // of the operator that is being read
  std::string kind{};

  [[noreturn]] void refuse(std::string_view expected, const json& found) const {
    std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 40) + "...";
    throw IoError(
        cat(who, ": ", kind, " number ", nodes.size(), ": expected ", expected, ", got ", text));
  }
  const json& next() {
    if (open.empty()) return *state;
    auto& [list, at] = open.back();
    if (at >= list->size()) refuse("more values", *list);
    return (*list)[at++];
  }
};

i64 StateReader::open(i64 least, i64 most) {
  const json& list = impl_.next();
  const bool fits = list.is_array() && static_cast<i64>(list.size()) >= least &&
                    (most < 0 || static_cast<i64>(list.size()) <= most);
  if (!fits) impl_.refuse(cat("a list of at least ", least), list);
  impl_.open.emplace_back(&list, 0);
  return static_cast<i64>(list.size());
}
void StateReader::close() { impl_.open.pop_back(); }

bool StateReader::read(const bool*) {
  const json& v = impl_.next();
  if (!v.is_boolean()) impl_.refuse("true or false", v);
  return v.get<bool>();
}
i64 StateReader::read(const i64*) {
  const json& v = impl_.next();
  if (!v.is_number_integer() || (v.is_number_unsigned() && v.get<std::uint64_t>() >> 63))
    impl_.refuse("an integer of 64 bits", v);
  return v.get<i64>();
}
i64 StateReader::limited(i64 last) {
  const i64 v = get<i64>();
  if (v < 0 || v > last) impl_.refuse(cat("a number from 0 to ", last), json(v));
  return v;
}
double StateReader::read(const double*) {
  const json& v = impl_.next();
  if (v.is_number()) return v.get<double>();
  if (v == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (v == "inf" || v == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return v == "inf" ? infinity : -infinity;
  }
  impl_.refuse("a number", v);
}
std::string StateReader::read(const std::string*) {
  const json& v = impl_.next();
  if (!v.is_string()) impl_.refuse("a text", v);
  return v.get<std::string>();
}
Value StateReader::read(const Value*) {
  open(2, 3);
  Value v;
  switch (static_cast<Value::Kind>(limited(static_cast<i64>(Value::Kind::complex)))) {
    case Value::Kind::boolean: v = Value(get<i64>() != 0); break;
    case Value::Kind::integer: v = Value(get<i64>()); break;
    case Value::Kind::natural: v = Value(static_cast<std::uint64_t>(get<i64>())); break;
    case Value::Kind::real: v = Value(get<double>()); break;
    case Value::Kind::complex: {
      const double re = get<double>();
      v = Value(c128(re, get<double>()));
    }
  }
  close();
  return v;
}
NamedDimension StateReader::read(const NamedDimension*) {
  return NamedDimension(get<std::string>());
}
Device StateReader::read(const Device*) { return Device::parse(get<std::string>()); }
DType StateReader::read(const DType*) {
  const std::string text = get<std::string>();
  const auto t = parse_dtype(text);
  if (!t) impl_.refuse("a dtype", json(text));
  return *t;
}
Array StateReader::read(const Array*) {
  const i64 at = get<i64>();
  if (at < -1 || at >= static_cast<i64>(impl_.arrays.size()))
    impl_.refuse(cat("one of ", impl_.arrays.size(), " arrays"), json(at));
  return at < 0 ? Array() : impl_.arrays[static_cast<std::size_t>(at)];
}
NamedLinop StateReader::read(const NamedLinop*) {
  const i64 at = get<i64>();
  if (at < 0 || at >= static_cast<i64>(impl_.nodes.size()))
    impl_.refuse("an operator that came before", json(at));
  return impl_.nodes[static_cast<std::size_t>(at)];
}
NamedShape StateReader::read(const NamedShape*) {
  open(2, 2);
  Dims in = get<Dims>();
  NamedShape s(std::move(in), get<Dims>());
  close();
  return s;
}

NamedLinop restore(const LinopDescription& d, const OperatorReaders& readers,
                   StateReader::Foreign foreign) {
  const json whole = json::parse(d.text, nullptr, /*allow_exceptions=*/false);
  const bool known = whole.is_object() && whole.value("operator", json()) == 1 &&
                     whole.contains("nodes") && whole["nodes"].is_array() &&
                     !whole["nodes"].empty();
  require<IoError>(known, who, ": the text is none that this version reads");
  StateReader::Impl impl{d.arrays};
  StateReader reader(impl);
  for (const json& node : whole["nodes"]) {
    const bool named = node.is_object() && node.contains("kind") && node["kind"].is_string() &&
                       node.contains("name") && node["name"].is_string();
    if (!named) impl.refuse("a kind and a name", node);
    impl.kind = node["kind"].get<std::string>();
    const auto made = [&]() -> NamedLinop {
      if (node.contains("foreign") && foreign && node["foreign"].is_number_integer())
        return foreign(node["foreign"].get<i64>());
      for (const auto& [kind, read] : readers)
        if (kind == impl.kind && node.contains("state")) {
          impl.state = &node["state"];
          return read(reader);
        }
      impl.refuse("a kind of operator that is known here", node["kind"]);
    }();
    const std::string name = node["name"].get<std::string>();
    impl.nodes.push_back(name.empty() ? made : made.named(name));
  }
  return impl.nodes.back();
}

}  // namespace tessera
