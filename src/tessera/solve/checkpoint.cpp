// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/checkpoint.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

constexpr std::string_view format = "tessera solver checkpoint 1";

Array bytes_of(std::string_view text) {
  const Array a = Array::empty({static_cast<i64>(text.size())}, DType::u8);
  auto* to = static_cast<std::byte*>(a.host_data());
  for (std::size_t i = 0; i < text.size(); ++i)
    to[static_cast<i64>(i) * a.layout().strides[0]] = static_cast<std::byte>(text[i]);
  return a;
}

std::string text_of(const Array& a) {
  const Array dense = a.contiguous();
  return {static_cast<const char*>(dense.host_data()), static_cast<std::size_t>(dense.size())};
}

Array numbers_of(const std::vector<double>& v) {
  const Array a(Storage::allocate(cpu, std::max<i64>(8, static_cast<i64>(v.size()) * 8)),
                Layout::contiguous({static_cast<i64>(v.size())}), DType::f64);
  if (!v.empty()) std::memcpy(a.host_data(), v.data(), v.size() * sizeof(double));
  return a;
}

std::vector<double> vector_of(const Array& a) {
  const Array dense = a.astype(DType::f64).contiguous();
  const auto* p = dense.host<double>();
  return {p, p + dense.size()};
}

std::uint64_t hash_of(const void* data, std::size_t bytes) {
  std::uint64_t h = 0xcbf29ce484222325u ^ bytes;
  const auto* p = static_cast<const unsigned char*>(data);
  for (; bytes > 0;) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(8, bytes);
    std::memcpy(&word, p, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    p += n;
    bytes -= n;
  }
  return h;
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
  const std::uint64_t h = hash_of(here.host_data(), static_cast<std::size_t>(here.bytes()));
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

std::optional<Saved> read_checkpoint(std::string_view who, const std::string& path,
                                     const std::vector<Fact>& facts) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const NpzFile file(path);
  require<ArgumentError>(file.contains("format") && text_of(file.read("format")) == format, who,
                         ": '", path, "' is not a checkpoint of a solver; remove it, or give ",
                         "another path");
  Saved s;
  for (const Fact& expected : facts) {
    const bool known = file.contains("about/" + expected.what);
    Fact found{expected.what, known ? text_of(file.read("about/" + expected.what)) : "nothing"};
    if (known) {
      const std::vector<double> n = vector_of(file.read("probe/" + expected.what));
      if (n.size() == 2) found.number = {n[0], n[1]};
    }
    require<ArgumentError>(
        known && same(expected, found), who, ": the checkpoint '", path,
        "' belongs to another problem: ", expected.what, " is not the same",
        known && found.text != expected.text && found.text.size() + expected.text.size() < 200
            ? cat(" (", found.text, " there, ", expected.text, " here)")
            : "",
        "; remove the file to start anew, or give another path");
    s.facts.push_back(std::move(found));
  }
  const std::vector<double> numbers = vector_of(file.read("numbers"));
  require<IoError>(numbers.size() == 4, who, ": the checkpoint '", path, "' is damaged");
  s.iterations = static_cast<i64>(numbers[0]);
  s.status = static_cast<int>(numbers[1]);
  s.rtol = numbers[2];
  s.atol = numbers[3];
  s.cells = vector_of(file.read("cells"));
  s.history = vector_of(file.read("history"));
  constexpr std::string_view prefix = "state/";
  for (const std::string& name : file.names())
    if (name.starts_with(prefix))
      s.arrays.emplace_back(name.substr(prefix.size()), file.read(name));
  return s;
}

}  // namespace tessera
