// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/basis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

using Number = StoredRows::Number;
using streaming::StorePtr;

constexpr i64 stretch = 2048;  // real numbers of each vector that stay in the cache

// The sum of conj(a) b over n real numbers, which are pairs where numbers are complex.
template <class T>
Number inner(const T* a, const T* b, i64 n, bool pairs) {
  std::array<double, 8> real{}, imag{};
  const auto at = [](const T* p, i64 i) { return static_cast<double>(p[i]); };
  const i64 whole = n / 8 * 8;
  for (i64 i = 0; i < whole; i += 8)
    for (i64 k = 0; k < 8; ++k) real[static_cast<std::size_t>(k)] += at(a, i + k) * at(b, i + k);
  for (i64 i = whole; i < n; ++i) real[0] += at(a, i) * at(b, i);
  if (pairs) {
    for (i64 i = 0; i < whole; i += 8)
      for (i64 k = 0; k < 8; k += 2)
        imag[static_cast<std::size_t>(k)] +=
            at(a, i + k) * at(b, i + k + 1) - at(a, i + k + 1) * at(b, i + k);
    for (i64 i = whole; i < n; i += 2) imag[0] += at(a, i) * at(b, i + 1) - at(a, i + 1) * at(b, i);
  }
  double re = 0, im = 0;
  for (std::size_t k = 0; k < 8; ++k) re += real[k], im += imag[k];
  return {re, im};
}

// y += f a.
template <class T>
void add_times(const T* a, Number f, T* y, i64 n, bool pairs) {
  const T re = static_cast<T>(f.real()), im = static_cast<T>(f.imag());
  if (!pairs) {
    for (i64 i = 0; i < n; ++i) y[i] += re * a[i];
    return;
  }
  for (i64 i = 0; i < n; i += 2) {
    y[i] += re * a[i] - im * a[i + 1];
    y[i + 1] += re * a[i + 1] + im * a[i];
  }
}

// The passes that make the last of some vectors orthogonal to those before it. In each box it first
// loses what `remove` says; then its products with the others and its square are summed.
struct Orthogonal {
  std::vector<StorePtr> vectors;
  bool pairs;
  i64 budget;
  std::vector<Number> remove{}, products{};
  double square = 0;

  template <class T>
  void work(const Swept<T>& box, bool removes, bool sums) {
    const std::size_t last = box.vectors.size() - 1;
    for (i64 from = 0; from < box.count; from += stretch) {
      const i64 n = std::min(stretch, box.count - from);
      T* const v = box.vectors[last] + from;
      for (std::size_t i = 0; i < last && removes; ++i)
        add_times<T>(box.vectors[i] + from, -remove[i], v, n, pairs);
      for (std::size_t i = 0; i < last && sums; ++i)
        products[i] += inner<T>(box.vectors[i] + from, v, n, pairs);
      square += inner<T>(v, v, n, false).real();
    }
  }
  void pass(bool removes, bool sums) {
    products.assign(vectors.size() - 1, 0);
    square = 0;
    std::vector<SweptVector> over;
    for (const StorePtr& v : vectors) over.push_back({v});
    over.back().changed = removes;
    plan_sweep("rows of a basis on disk", over,
               sweep_work([&](const auto& box, const store::Box&) { work(box, removes, sums); }),
               budget)
        .run();
  }
  void scale(double factor) {
    plan_sweep("rows of a basis on disk", {{vectors.back(), true}},
               sweep_work([&](const auto& box, const store::Box&) {
                 using T = std::remove_cvref_t<decltype(box.vectors[0][0])>;
                 for (i64 i = 0; i < box.count; ++i) box.vectors[0][i] *= static_cast<T>(factor);
               }),
               budget)
        .run();
  }
  void operator()(StoredRows::Found& found) {
    pass(false, true);
    found.before2 = square;
    found.coefficients = remove = products;
    for (const bool sums : {true, false}) {
      pass(true, sums);
      if (!sums) break;
      remove = products;
      for (std::size_t i = 0; i < remove.size(); ++i) found.coefficients[i] += remove[i];
    }
    found.after2 = square;
    scale(square > 0 ? 1 / std::sqrt(square) : 0.0);
  }
};

// `to` = the sum of numbers times rows.
void combine(const std::vector<StorePtr>& rows, const std::vector<Number>& numbers,
             const StorePtr& to, bool pairs, i64 budget) {
  std::vector<SweptVector> over;
  std::vector<Number> factors;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (numbers[i] != Number(0)) {
      over.push_back({rows[i]});
      factors.push_back(numbers[i]);
    }
  over.push_back({to, true, false});
  const auto work = [&](const auto& box, const store::Box&) {
    auto* const y = box.vectors.back();
    for (i64 from = 0; from < box.count; from += stretch) {
      const i64 n = std::min(stretch, box.count - from);
      std::fill_n(y + from, n, 0);
      for (std::size_t i = 0; i < factors.size(); ++i)
        add_times(box.vectors[i] + from, factors[i], y + from, n, pairs);
    }
  };
  plan_sweep("rows of a basis on disk", over, sweep_work(work), budget).run();
}

}  // namespace

StoredRows::StoredRows(Engine& e, const std::string& name, i64 rows, const VectorSpace& side,
                       DType dtype) {
  for (i64 j = 0; j < rows; ++j) rows_.push_back(e.keep(cat(name, j), side, dtype));
}

void StoredRows::record(Recorder& r, i64 j) const {
  const DType dtype = rows_.front().dtype();
  const auto passes =
      std::make_shared<Orthogonal>(Orthogonal{{}, is_complex(dtype), solve().budget});
  for (i64 i = 0; i <= j; ++i)
    passes->vectors.push_back(rows_[static_cast<std::size_t>(i)].stored->store);
  solve().passes(r, cat("row ", j, " of a basis"), [passes, found = found_] { (*passes)(*found); });
}

void StoredRows::record_combination(Recorder& r, const Array& y, const vec::Vector& to) const {
  std::vector<StorePtr> rows;
  for (const vec::Vector& row : rows_) rows.push_back(row.stored->store);
  const auto run = [=, most = solve().budget, store = to.stored->store] {
    combine(rows, load_numbers(y), store, is_complex(y.dtype()), most);
  };
  solve().passes(r, "rows of a basis", run);
}

}  // namespace tessera
