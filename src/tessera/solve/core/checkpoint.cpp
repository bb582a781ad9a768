// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tessera/base/hash.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

constexpr std::string_view format = "tessera solver checkpoint 1";
constexpr i64 largest_status = 99;  // numbers_not_finite of the engine

Array bytes_of(std::string_view text) {
  const Array a = Array::empty({static_cast<i64>(text.size())}, DType::u8);
  auto* to = static_cast<std::byte*>(a.host_data());
  for (std::size_t i = 0; i < text.size(); ++i)
    to[static_cast<i64>(i) * a.layout().strides[0]] = static_cast<std::byte>(text[i]);
  return a;
}

// Text and numbers have one form each; an array of another shape or dtype was not written by us.
Array vector_in(const NpzFile& file, const std::string& what, DType dtype) {
  const Array a = file.read(what);
  require<IoError>(a.ndim() == 1 && a.dtype() == dtype, "the checkpoint is damaged: '", what,
                   "' is ", a.dtype(), " of ", a.shape(), "; expected a vector of ", dtype);
  return a.contiguous();
}

std::string text_in(const NpzFile& file, const std::string& what) {
  const Array a = vector_in(file, what, DType::u8);
  return {static_cast<const char*>(a.host_data()), static_cast<std::size_t>(a.size())};
}

Array numbers_of(const std::vector<double>& v) {
  const Array a(Storage::allocate(cpu, std::max<i64>(8, static_cast<i64>(v.size()) * 8)),
                Layout::contiguous({static_cast<i64>(v.size())}), DType::f64);
  if (!v.empty()) std::memcpy(a.host_data(), v.data(), v.size() * sizeof(double));
  return a;
}

std::vector<double> numbers_in(const NpzFile& file, const std::string& what) {
  const Array a = vector_in(file, what, DType::f64);
  const auto* p = a.host<double>();
  return {p, p + a.size()};
}

bool same(const Fact& a, const Fact& b) {
  if (a.text != b.text) return false;
  return a.tolerance == 0 ||
         std::hypot(a.number.re - b.number.re, a.number.im - b.number.im) <= a.tolerance;
}

}  // namespace

Fact fact_of(std::string what, std::string text) { return {std::move(what), std::move(text)}; }

Fact fact_of(std::string what, const Array& a) {
  const Array here = a.to(cpu).contiguous();
  const std::uint64_t h = hash_bytes(here.host_data(), static_cast<std::size_t>(here.bytes()));
  return {std::move(what), cat(a.dtype(), " ", a.shape(), " ", h)};
}

Fact fact_of(std::string what, const NamedLinop& a, const Shape& shape, DType dtype,
             Device device) {
  Fact f{std::move(what), cat(a.tree(), "\non ", shape, " ", dtype)};
  const Array y = a(Random(12345).normal(shape, dtype, device));
  const Array w = Random(54321).normal(y.shape(), y.dtype(), device);
  f.number = vdot(w, y).item().as<c128>();
  const double scale = norm(w).item().as<double>() * norm(y).item().as<double>();
  f.tolerance = scale * (real_of(y.dtype()) == DType::f64 ? 1e-10 : 1e-5);
  return f;
}

void write_checkpoint(const std::string& path, const Saved& s) {
  NamedArrays all;
  all.emplace_back("format", bytes_of(format));
  all.emplace_back("numbers", numbers_of({static_cast<double>(s.iterations),
                                          static_cast<double>(s.status), s.rtol, s.atol}));
  all.emplace_back("cells", numbers_of(s.cells));
  all.emplace_back("history", numbers_of(s.history));
  for (const Fact& f : s.facts) {
    all.emplace_back("about/" + f.what, bytes_of(f.text));
    all.emplace_back("probe/" + f.what, numbers_of({f.number.re, f.number.im}));
  }
  for (const auto& [name, array] : s.arrays) all.emplace_back("state/" + name, array);
  save_npz(path, all);
}

namespace {

void check_fact(std::string_view who, const std::string& path, const NpzFile& file,
                const Fact& expected) {
  const bool known = file.contains("about/" + expected.what);
  Fact found{expected.what, known ? text_in(file, "about/" + expected.what) : "nothing"};
  if (known) {
    const std::vector<double> n = numbers_in(file, "probe/" + expected.what);
    if (n.size() == 2) found.number = {n[0], n[1]};
  }
  require<ArgumentError>(
      known && same(expected, found), who, ": the checkpoint '", path,
      "' belongs to another problem: ", expected.what, " is not the same",
      known && found.text != expected.text && found.text.size() + expected.text.size() < 200
          ? cat(" (", found.text, " there, ", expected.text, " here)")
          : "",
      "; remove the file to start anew, or give another path");
}

// Iterations, status and history: what the loop itself goes by.
void read_progress(std::string_view who, const std::string& path, const NpzFile& file, Saved& s) {
  const std::vector<double> numbers = numbers_in(file, "numbers");
  s.history = numbers_in(file, "history");
  // A solve has a first measure, and one for each iteration.
  require<IoError>(numbers.size() == 4 && !s.history.empty() &&
                       numbers[0] == static_cast<double>(s.history.size() - 1) &&
                       is_count(numbers[1], largest_status),
                   who, ": the checkpoint '", path,
                   "' is damaged: its numbers of iterations and of measures do not go together, or "
                   "its status is none");
  s.iterations = static_cast<i64>(numbers[0]);
  s.status = static_cast<int>(numbers[1]);
  s.rtol = numbers[2];
  s.atol = numbers[3];
}

}  // namespace

bool is_count(double v, i64 most) {
  return v >= 0 && v <= static_cast<double>(most) && v == std::floor(v);
}

bool all_finite(const Array& host) {
  if (!is_inexact(host.dtype())) return true;
  const Array parts = host.contiguous();
  const i64 n = parts.size() * (is_complex(host.dtype()) ? 2 : 1);
  bool finite = true;
  dispatch<float, double>(real_of(host.dtype()), "checkpoint", [&]<class T>() {
    const T* p = static_cast<const T*>(parts.host_data());
    finite = std::all_of(p, p + n, [](T v) { return std::isfinite(v); });
  });
  return finite;
}

std::optional<Saved> read_checkpoint(std::string_view who, const std::string& path,
                                     const std::vector<Fact>& facts) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const NpzFile file(path);
  require<ArgumentError>(file.contains("format") && text_in(file, "format") == format, who, ": '",
                         path, "' is not a checkpoint of a solver; remove it, or give ",
                         "another path");
  std::vector<std::string> needed{"numbers", "cells", "history"};
  for (const Fact& f : facts)
    if (file.contains("about/" + f.what)) needed.push_back("probe/" + f.what);
  for (const std::string& entry : needed)
    require<IoError>(file.contains(entry), who, ": the checkpoint '", path,
                     "' is damaged: it has no entry '", entry,
                     "'; remove the file to start anew, or give another path");
  Saved s;
  for (const Fact& expected : facts) check_fact(who, path, file, expected);
  s.facts = facts;
  read_progress(who, path, file, s);
  s.cells = numbers_in(file, "cells");
  constexpr std::string_view prefix = "state/";
  for (const std::string& name : file.names())
    if (name.starts_with(prefix))
      s.arrays.emplace_back(name.substr(prefix.size()), file.read(name));
  return s;
}

}  // namespace tessera
