// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of every solver, mutated and resumed: each is refused with a sentence or gives a
// result; nothing else may come of it. Cases are numbered, and each is a function of its number.
// For fuzz_checkpoint and, a few of each solver, for the tests of the layer.
//   Checkpoints all(folder);   all.run(solver, 17);

#include <filesystem>
#include <fstream>
#include <random>

#include "tessera/array/npz.hpp"
#include "tessera/tessera.hpp"

namespace tessera::fuzz {

using Generator = std::mt19937_64;

inline i64 below(Generator& r, i64 n) {
  return static_cast<i64>(r() % static_cast<std::uint64_t>(n));
}

struct Solver {
  const char* name;
  std::function<SolveResult(const SolveOptions&)> solve;
};

// On small matrices, in all dtypes that solvers work in.
inline std::vector<Solver> solvers(Device device) {
  const auto matrix = [=](i64 rows, i64 columns, DType t) {
    return NamedLinop(
        Dense(Random(3).normal({rows, columns}, t, device), dims("MN"), dims("N"), dims("M")));
  };
  const auto vector = [=](i64 n, DType t) { return Random(4).normal({n}, t, device); };
  const NamedLinop square = matrix(13, 13, DType::c128), wide = matrix(7, 13, DType::f32),
                   positive = NamedLinop(matrix(15, 13, DType::f64).N()) + NamedLinop(Scalar(0.1));
  const Array b = vector(13, DType::f64), z = vector(13, DType::c128), c = vector(7, DType::f32);
  const Space s{.shape = {13}, .dtype = DType::f64, .device = device};
  using O = const SolveOptions&;
  return {
      {"cg", [=](O o) { return cg(positive, b, o); }},
      {"lsqr", [=](O o) { return lsqr(wide, c, o); }},
      {"lsmr", [=](O o) { return lsmr(wide, c, o); }},
      {"minres", [=](O o) { return minres(positive, b, o, {.shift = 1}); }},
      {"gmres", [=](O o) { return gmres(square, z, o, {.restart = 4}); }},
      {"fista", [=](O o) { return fista(wide, c, prox::l1(0.01), o); }},
      {"pdhg", [=](O o) { return pdhg(wide, c, prox::l1(1), prox::none(), o); }},
      {"admm", [=](O o) { return admm(wide, c, prox::l1(0.1), o); }},
      {"power_method", [=](O o) { return power_method(positive, s, {}, o); }},
      {"lanczos", [=](O o) { return lanczos(positive, s, {.k = 2, .ncv = 5}, o); }},
      {"lanczos of all", [=](O o) { return lanczos(positive, s, {.k = 3, .ncv = 13}, o); }},
      {"eigs", [=](O o) { return eigs(square, s, {.k = 2, .ncv = 6}, o); }},
      {"eigs in blocks", [=](O o) { return eigs(square, s, {.k = 2, .ncv = 8, .block = 3}, o); }},
      {"svd", [=](O o) { return svd(wide, s, {.k = 2, .ncv = 4}, o); }},
      {"randomized_svd",
       [=](O o) { return randomized_svd(square, s, {.k = 2, .oversample = 2}, o); }},
  };
}

// Numbers that are no counts, no places, not finite, or just beyond what there is.
inline double strange(Generator& r) {
  static constexpr double all[] = {0,    -1,    1,     2,    3,    4,     5,      6,
                                   7,    8,     13,    14,   15,   16,    17,     32,
                                   33,   99,    100,   255,  256,  -16,   -17,    0.5,
                                   1e-9, 1e9,   -1e9,  1e18, -0.0, 1e300, -1e300, 2147483648.0,
                                   1e19, -1e19, 4e-320};
  const i64 at = below(r, std::size(all) + 3);
  if (at < i64{std::size(all)}) return all[at];
  return at % 3 == 0   ? std::numeric_limits<double>::quiet_NaN()
         : at % 3 == 1 ? std::numeric_limits<double>::infinity()
                       : -std::numeric_limits<double>::infinity();
}

inline Array mutated(Array a, Generator& r) {
  static constexpr DType dtypes[] = {DType::f64, DType::f32,  DType::i64, DType::u8,
                                     DType::b1,  DType::c128, DType::f16};
  a = a.copy();
  switch (below(r, 8)) {
    case 0: return a.astype(dtypes[below(r, std::size(dtypes))]);
    case 1: return a.size() > 0 ? a.reshape({1, a.size()}) : a;
    case 2: return a.ndim() > 0 && a.shape()[0] > 0 ? a.slice(0, 0, below(r, a.shape()[0])) : a;
    case 3: return a.ndim() > 0 && a.shape()[0] > 0 ? concatenate(std::vector{a, a}, 0) : a;
    case 4: return full({}, Value(strange(r)), DType::f64);
    default: break;
  }
  if (a.size() == 0 || a.dtype() == DType::b1) return a;
  const Array flat = a.reshape({a.size()});
  // The first numbers decide the most.
  for (i64 times = 1 + below(r, 3); times > 0; --times) {
    const i64 at = below(r, below(r, 2) == 0 ? std::min<i64>(a.size(), 4) : a.size());
    const double v = strange(r);
    const Array one = flat.slice(0, at, at + 1);
    if (is_inexact(a.dtype()))
      one.fill(Value(v));
    else
      one.fill(Value(static_cast<i64>(below(r, 256))));
  }
  return a;
}

inline void mutate(NamedArrays& file, Generator& r) {
  for (i64 times = 1 + below(r, 3); times > 0 && !file.empty(); --times) {
    // Facts are compared as texts: half of the mutations go to what is used.
    std::vector<std::size_t> places;
    const bool used = below(r, 4) != 0;
    for (std::size_t i = 0; i < file.size(); ++i)
      if (!used || !(file[i].first.starts_with("about/") || file[i].first.starts_with("probe/")))
        places.push_back(i);
    if (places.empty()) return;
    const std::size_t
        at = places[static_cast<std::size_t>(below(r, static_cast<i64>(places.size())))],
        other = static_cast<std::size_t>(below(r, static_cast<i64>(file.size())));
    switch (below(r, 8)) {
      case 0: file.erase(file.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: std::swap(file[at].second, file[other].second); break;
      default: file[at].second = mutated(file[at].second, r);
    }
  }
}

class Checkpoints {
 public:
  explicit Checkpoints(std::string folder, Device device) : folder_(std::move(folder)) {
    for (const Solver& s : solvers(device)) {
      Kept& k = kept_.emplace_back();
      k.solver = s;
      for (const i64 iterations : {1, 3, 7}) {
        const std::string path = cat(folder_, "/made.npz");
        std::filesystem::remove(path);
        (void)s.solve({.rtol = 1e-13, .maxiter = iterations, .checkpoint = {.path = path}});
        if (std::filesystem::exists(path)) k.files.push_back(load_npz(path));
      }
      require<Error>(!k.files.empty(), s.name, " wrote no checkpoint");
    }
  }

  i64 count() const { return static_cast<i64>(kept_.size()); }
  const char* name(i64 solver) const { return kept_[static_cast<std::size_t>(solver)].solver.name; }

  // True: accepted. An Error is a refusal; whatever else comes is the caller's to report.
  bool run(i64 solver, std::uint64_t number) const {
    const Kept& k = kept_[static_cast<std::size_t>(solver)];
    Generator r(number * 1000003 + static_cast<std::uint64_t>(solver));
    NamedArrays file =
        k.files[static_cast<std::size_t>(below(r, static_cast<i64>(k.files.size())))];
    mutate(file, r);
    const std::string path = cat(folder_, "/case.npz");
    save_npz(path, file, below(r, 2) == 0);
    if (below(r, 8) == 0) damage(path, r);
    const SolveOptions o{.rtol = below(r, 4) == 0 ? 1e-3 : 1e-13,
                         .maxiter = below(r, 3) == 0 ? below(r, 9) : 12,
                         .checkpoint = {.path = path}};
    try {
      const SolveResult result = k.solver.solve(o);
      if (static_cast<i64>(result.history.size()) != result.iterations + 1)
        throw std::logic_error(cat(k.solver.name, ": ", result.iterations, " iterations and ",
                                   result.history.size(), " measures"));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  struct Kept {
    Solver solver;
    std::vector<NamedArrays> files;
  };
  static void damage(const std::string& path, Generator& r) {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<i64>(std::filesystem::file_size(path));
    for (i64 times = 1 + below(r, 3); times > 0; --times) {
      f.seekp(below(r, size));
      f.put(static_cast<char>(r()));
    }
  }

  std::string folder_;
  std::vector<Kept> kept_;
};

}  // namespace tessera::fuzz
