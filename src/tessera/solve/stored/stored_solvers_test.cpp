// SPDX-License-Identifier: Apache-2.0
// Solvers with vectors on disk beside the same ones in memory: problems, proximal maps and budgets
// drawn at random.
#include "tessera/solve/stored/stored_solvers.hpp"

#include "support/distances.hpp"
#include "support/rng.hpp"
#include "support/text.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

using streaming::StoredArray;

class HostBudget {
 public:
  explicit HostBudget(i64 more) { set_memory_budget(cpu, memory_stats(cpu).in_use + more); }
  ~HostBudget() { set_memory_budget(cpu, config_decides); }
  HostBudget(const HostBudget&) = delete;
  HostBudget& operator=(const HostBudget&) = delete;
};

constexpr i64 mib = 1 << 20;
constexpr i64 budgets[] = {2 * mib, 4 * mib, 32 * mib};
constexpr DType dtypes_on_disk[] = {DType::f32, DType::f64, DType::c64, DType::c128};

double share(Rng& rng) { return 0.1 + 0.1 * static_cast<double>(below(rng, 10)); }

Axes some_axes(Rng& rng, i64 rank) {
  Axes axes;
  for (i64 a = 0; a < rank; ++a)
    if (below(rng, 2) == 0) axes.push_back(below(rng, 3) == 0 ? a - rank : a);
  return axes;
}

i64 along(const Shape& shape, const Axes& axes) {
  i64 n = 1;
  for (const i64 a : axes) n *= shape[a < 0 ? a + shape.size() : a];
  return n;
}

constexpr i64 plain_maps = 9;
Prox drawn_map(Rng& rng, i64 which, const Shape& shape, DType t);

Prox drawn_blocks(Rng& rng, const Shape& shape, DType t) {
  const i64 axis = below(rng, shape.size());
  std::vector<prox::Block> blocks;
  for (i64 left = shape[axis]; left > 0 || blocks.empty();) {
    const i64 size = blocks.size() == 3 ? left : below(rng, left + 1);
    Shape part = shape;
    part[axis] = size;
    blocks.push_back({size, drawn_map(rng, below(rng, plain_maps + 1), part, t)});
    left -= size;
  }
  return prox::blocks(blocks, below(rng, 2) == 0 ? axis : axis - shape.size());
}

// Each map changes normal numbers by about their size.
Prox drawn_map(Rng& rng, i64 which, const Shape& shape, DType t) {
  const double lam = share(rng), n = static_cast<double>(std::max<i64>(count_of(shape), 1));
  const Axes axes = some_axes(rng, shape.size());
  const double length = static_cast<double>(std::max<i64>(along(shape, axes), 1));
  switch (which) {
    case 0: return prox::none();
    case 1: return prox::l1(lam);
    case 2: return prox::l2(lam * std::sqrt(n));
    case 3: return prox::l2_squared(lam);
    case 4: return prox::l2_squared(lam, random_on_host(shape, t, rng()));
    case 5: return prox::nonneg();
    case 6: return prox::group(lam * std::sqrt(length), axes);
    case 7: return is_complex(t) ? prox::l1(lam) : prox::box(-lam, 0.5 * lam);
    case 8:
      if (is_complex(t)) return prox::l2(lam * std::sqrt(n));
      return below(rng, 2) == 0 ? prox::simplex(lam * n / 5)
                                : prox::simplex(lam * length / 5, axes);
    default: return drawn_blocks(rng, shape, t);
  }
}

double tolerance(DType t) { return real_of(t) == DType::f32 ? 2e-4 : 1e-9; }

void expect_same(const StoredSolveResult& there, const SolveResult& here, const std::string& what) {
  EXPECT_EQ(there.iterations, here.iterations) << what;
  EXPECT_EQ(there.x.dtype(), here.x.dtype()) << what;
  const Array x = there.x.array();
  const double apart = distance(x, here.x) / (1 + size(here.x));
  EXPECT_TRUE(apart < tolerance(x.dtype())) << what << ": " << apart;
}

struct Drawn {
  NamedLinop A;
  Shape in;
  Array b;
  StoredArray stored;
};

// A batch of tall matrices, or a weight for each number; vectors of 100 KB to 1 MB.
Drawn drawn_problem(Rng& rng, DType t) {
  const i64 batch = 150 + below(rng, 300), n = 40 + below(rng, 60);
  const Array w = random_on_host({batch, n}, t, rng());
  if (below(rng, 2) == 0) {
    const Array b = random_on_host({batch, n}, t, rng());
    return {Diagonal(w, dims("TN")), {batch, n}, b, StoredArray::from(b)};
  }
  const i64 rows = n + 1 + below(rng, 9);
  const Array m = ops::multiply(random_on_host({rows, n}, t, rng()), Value(0.1));
  const Array b = random_on_host({batch, rows}, t, rng());
  return {Dense(m, dims("MN"), dims("TN"), dims("TM")), {batch, n}, b, StoredArray::from(b)};
}

// With a budget drawn at random.
template <class F>
StoredSolveResult within_budget(Rng& rng, const F& solve) {
  const HostBudget here(budgets[below(rng, std::size(budgets))]);
  return solve();
}

TEST(StoredSolvers, LeastSquaresAreThoseOfMemory) {
  Rng rng(1);
  const StoredSolveOptions o{{.rtol = 0, .maxiter = 4}};
  for (const DType t : dtypes_on_disk)
    for (int round = 0; round < 3; ++round) {
      const Drawn p = drawn_problem(rng, t);
      const LeastSquaresSettings settings{.damp = below(rng, 2) == 0 ? 0.0 : share(rng)};
      expect_same(within_budget(rng, [&] { return stored_lsqr(p.A, p.stored, o, settings); }),
                  lsqr(p.A, p.b, o, settings), cat("lsqr of ", t));
      expect_same(within_budget(rng, [&] { return stored_lsmr(p.A, p.stored, o, settings); }),
                  lsmr(p.A, p.b, o, settings), cat("lsmr of ", t));
    }
}

// Square matrices that are neither Hermitian nor singular, with and without a preconditioner, and
// restarts that end within the iterations.
TEST(StoredSolvers, KrylovSpacesAreThoseOfMemory) {
  Rng rng(5);
  for (const DType t : dtypes_on_disk)
    for (int round = 0; round < 4; ++round) {
      const i64 batch = 150 + below(rng, 300), n = 20 + below(rng, 40);
      Array m = ops::multiply(random_on_host({n, n}, t, rng()), Value(0.1));
      for (i64 i = 0; i < n; ++i)
        m.select(0, i).select(0, i).fill(Value(2.0 + static_cast<double>(i % 3)));
      const NamedLinop A = Dense(m, dims("MN"), dims("TN"), dims("TM"));
      const Array b = random_on_host({batch, n}, t, rng());
      GmresSettings settings{.restart = 1 + below(rng, 7)};
      if (below(rng, 2) == 0)
        settings.preconditioner = Diagonal(
            ops::add(ops::multiply(random_on_host({batch, n}, t, rng()), Value(0.1)), Value(0.4)),
            dims("TN"));
      StoredSolveOptions o{{.rtol = 0, .maxiter = 6}};
      SolveOptions here = o;
      if (below(rng, 2) == 0) {
        here.x0 = random_on_host({batch, n}, t, rng());
        o.first_guess = StoredArray::from(here.x0);
      }
      const StoredArray stored = StoredArray::from(b);
      expect_same(within_budget(rng, [&] { return stored_gmres(A, stored, o, settings); }),
                  gmres(A, b, here, settings), cat("gmres of ", t));
    }
}

TEST(StoredSolvers, ProximalMapsAreThoseOfMemory) {
  Rng rng(2);
  const StoredSolveOptions o{{.rtol = 0, .maxiter = 3}};
  const FistaSettings steps{.step = 0.05};
  const PdhgSettings both{.tau = 0.2, .sigma = 0.3};
  for (i64 which = 0; which <= plain_maps; ++which)
    for (const DType t : dtypes_on_disk) {
      const Drawn p = drawn_problem(rng, t);
      const Prox g = drawn_map(rng, which, p.in, t), f = drawn_map(rng, which, p.b.shape(), t);
      expect_same(within_budget(rng, [&] { return stored_fista(p.A, p.stored, g, o, steps); }),
                  fista(p.A, p.b, g, o, steps), cat("fista with ", g.name, " of ", t));
      const FistaSettings search{.step = below(rng, 2) == 0 ? 0.0 : 10.0, .search = true};
      expect_same(within_budget(rng, [&] { return stored_fista(p.A, p.stored, g, o, search); }),
                  fista(p.A, p.b, g, o, search), cat("searching fista with ", g.name, " of ", t));
      expect_same(within_budget(rng, [&] { return stored_pdhg(p.A, p.stored, f, g, o, both); }),
                  pdhg(p.A, p.b, f, g, o, both), cat("pdhg with ", f.name, ", ", g.name, t));
    }
}

TEST(StoredSolvers, AlternatingDirectionsAreThoseOfMemory) {
  Rng rng(4);
  for (i64 which = 0; which <= plain_maps; ++which)
    for (const DType t : dtypes_on_disk) {
      const Drawn p = drawn_problem(rng, t);
      const i64 rows = 1 + below(rng, 2 * p.in[1]);
      const NamedLinop weights = Diagonal(random_on_host(p.in, t, rng()), dims("TN")),
                       mixed = Dense(
                           ops::multiply(random_on_host({rows, p.in[1]}, t, rng()), Value(0.1)),
                           dims("QN"), dims("TN"), dims("TQ"));
      AdmmSettings settings{.rho = share(rng), .inner = 1 + below(rng, 4)};
      const i64 constrained = below(rng, 3);
      if (constrained > 0) settings.G = constrained == 1 ? weights : mixed;
      const Shape of_g = constrained == 2 ? Shape{p.in[0], rows} : p.in;
      const Prox g = drawn_map(rng, which, of_g, t);
      StoredSolveOptions o{{.rtol = 0, .maxiter = 3}};
      SolveOptions here = o;
      if (below(rng, 2) == 0) {
        here.x0 = random_on_host(p.in, t, rng());
        o.first_guess = StoredArray::from(here.x0);
      }
      expect_same(within_budget(rng, [&] { return stored_admm(p.A, p.stored, g, o, settings); }),
                  admm(p.A, p.b, g, here, settings),
                  cat("admm with ", g.name, " of ", t, ", G ", constrained));
    }
}

TEST(StoredSolvers, SeveralTermsOfPdhgAreThoseOfMemory) {
  Rng rng(3);
  for (const DType t : dtypes_on_disk) {
    const Drawn p = drawn_problem(rng, t);
    const NamedLinop W = Diagonal(random_on_host(p.in, t, rng()), dims("TN"));
    const Array c = random_on_host(p.in, t, rng()), x0 = random_on_host(p.in, t, rng());
    const Prox data = prox::l2_squared(1), f = drawn_map(rng, below(rng, 10), p.in, t),
               g = drawn_map(rng, below(rng, 10), p.in, t);
    PdhgSettings settings{.tau = 0.1, .sigma = 0.2};
    const StoredSolveOptions o{{.rtol = 0, .maxiter = 3}, StoredArray::from(x0)};
    const std::vector<StoredPdhgTerm> more{{W, f, StoredArray::from(c)}, {Identity(), f}};
    const StoredSolveResult there =
        within_budget(rng, [&] { return stored_pdhg(p.A, p.stored, data, g, o, settings, more); });
    settings.more = {{W, f, c}, {Identity(), f}};
    expect_same(there, pdhg(p.A, p.b, data, g, {.rtol = 0, .maxiter = 3, .x0 = x0}, settings),
                cat(f.name, ", ", g.name, " of ", t));
  }
}

TEST(StoredSolvers, RefuseWhatTheyCannotDo) {
  const Array b = random_on_host({4, 6}, DType::f64, 1);
  const StoredArray stored = StoredArray::from(b);
  const Prox mine = prox::function("mine", [](const Array& v, double) { return v; });
  const auto said = [](std::string_view what, const auto& f) {
    const std::string text = thrown_text<ArgumentError>(f);
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  for (const Prox& g : {mine, prox::blocks({{3, prox::l1(1)}, {1, mine}}),
                        prox::blocks({{4, prox::blocks({{6, mine}}, 1)}})})
    said("fista: the proximal map 'mine' is a function",
         [&] { (void)stored_fista(Identity(), stored, g, {}, {.step = 1}); });
  const PdhgSettings more{.more = {{Identity()}}};
  said("further terms are an argument of their own",
       [&] { (void)stored_pdhg(Identity(), stored, prox::l2_squared(1), prox::none(), {}, more); });
  for (const Prox& g : {prox::l2_squared(1, Array::of<double>({1, 2})),
                        prox::blocks({{3, prox::l1(1)}, {2, prox::l1(1)}})})
    EXPECT_THROW((void)stored_fista(Identity(), stored, g, {}, {.step = 1}), ShapeError);
}

}  // namespace
}  // namespace tessera
