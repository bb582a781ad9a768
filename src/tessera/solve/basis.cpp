// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/basis.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

// A part of a dense matrix as a view of a recorder.
View block(Recorder& r, const Array& matrix, i64 first, i64 last) {
  View v = r.constant(matrix);
  v.layout = v.layout.slice(0, first, last - first);
  return v;
}
View turned(View v) {
  const i64 axes[] = {1, 0};
  v.layout = v.layout.permute(axes);
  return v;
}

double epsilon_of(DType t) { return real_of(t) == DType::f32 ? 0x1p-23 : 0x1p-52; }

}  // namespace

void store_numbers(const Array& host, const std::vector<std::complex<double>>& v) {
  dispatch<float, double, c64, c128>(host.dtype(), "solver", [&]<class T>() {
    T* p = host.host<T>();
    for (std::size_t i = 0; i < v.size(); ++i)
      if constexpr (is_complex_v<T>)
        p[i] = T(c128(v[i]));
      else
        p[i] = static_cast<T>(v[i].real());
  });
}

std::vector<std::complex<double>> load_numbers(const Array& host) {
  std::vector<std::complex<double>> v(static_cast<std::size_t>(host.size()));
  dispatch<float, double, c64, c128>(host.dtype(), "solver", [&]<class T>() {
    const T* p = host.host<T>();
    for (std::size_t i = 0; i < v.size(); ++i)
      if constexpr (is_complex_v<T>)
        v[i] = c128(p[i]);
      else
        v[i] = static_cast<double>(p[i]);
  });
  return v;
}

Basis::Basis(Engine& e, const std::string& name, i64 rows, const Shape& shape, DType dtype)
    : e_(e), rows_(rows), size_(count_of(shape)), shape_(shape) {
  Shape whole{rows};
  whole.append(shape);
  all_ = e.keep(name, whole, dtype);
  matrix_ = all_.view(Layout::contiguous({rows, size_}));
  h_ = e.scratch({2, rows, 1}, dtype);
  host_h_ = vec::zeros({2, rows, 1}, dtype, cpu);
  for (i64 j = 0; j < rows; ++j) views_.push_back(all_.select(0, j));
  before_ = e.board.cell("basis before");
  after_ = e.board.cell("basis after");
  scale_ = e.board.cell("basis scale");
  result_.coefficients.reserve(static_cast<std::size_t>(rows));
}

Run Basis::record(i64 j, i64 first, bool twice) {
  return e_.plan([&](Recorder& r) {
    vec::norm2(r, row(j), e_.target(r, before_));
    const View w = turned(block(r, matrix_, j, j + 1));  // a column
    const View v = block(r, matrix_, first, j);
    for (i64 pass = 0; pass < (twice ? 2 : 1) && first < j; ++pass) {
      View h = r.constant(h_);
      h.layout = h.layout.select(0, pass).slice(0, first, j - first);
      vec::matmul(r, v, w, h, {.conj_a = true});
      vec::matmul(r, turned(v), h, w, {.alpha = -1, .beta = 1});
    }
    vec::norm2(r, row(j), e_.target(r, after_));
    e_.board.store(after_, root(after_));
    e_.board.store(scale_, inverse(after_));
    e_.board.record(r);
    vec::scale(r, e_.factor(r, scale_), row(j), row(j));
  });
}

const Basis::Result& Basis::orthonormalise(i64 j, i64 first, bool twice) {
  auto it = std::find_if(recorded_.begin(), recorded_.end(), [&](const Recorded& k) {
    return k.j == j && k.first == first && k.twice == twice;
  });
  if (it == recorded_.end()) {
    recorded_.push_back({j, first, twice, record(j, first, twice)});
    e_.board.upload();  // the constants of the new program
    it = recorded_.end() - 1;
  }
  e_.run(it->run);
  const Stream stream = Stream::home(e_.device);
  stream.copy(host_h_.data(), cpu, h_.data(), e_.device, h_.bytes());
  e_.board.fetch();  // waits for both
  result_.before = std::sqrt(e_.board.value(before_));
  result_.length = e_.board.value(after_);
  result_.dependent = !(result_.length > 10 * epsilon_of(dtype()) * result_.before);
  result_.coefficients.assign(static_cast<std::size_t>(j), 0);
  dispatch<float, double, c64, c128>(dtype(), "solver", [&]<class T>() {
    const T* h = static_cast<const T*>(host_h_.data());
    for (i64 i = first; i < j; ++i)
      for (i64 pass = 0; pass < (twice ? 2 : 1); ++pass) {
        Number& sum = result_.coefficients[static_cast<std::size_t>(i)];
        if constexpr (is_complex_v<T>)
          sum += Number(h[pass * rows_ + i].re, h[pass * rows_ + i].im);
        else
          sum += static_cast<double>(h[pass * rows_ + i]);
      }
  });
  return result_;
}

void Basis::randomise(i64 j, std::uint64_t seed) {
  Random random(seed * 1000003 + static_cast<std::uint64_t>(j));
  // In the rare case that chance gave a dependent vector, another one will not be.
  for (int attempt = 0; attempt < 3; ++attempt) {
    row(j).copy_from(random.normal(shape_, dtype(), e_.device));
    if (!orthonormalise(j).dependent) return;
  }
}

Array Basis::uploaded(i64 k, i64 m, const std::vector<Number>& factors) const {
  const Array host = vec::zeros({k, m}, dtype(), cpu);
  store_numbers(host, factors);
  return host.to(e_.device);
}

Array Basis::combined(i64 k, i64 m, const std::vector<Number>& factors) const {
  Shape shape{k};
  shape.append(shape_);
  const Array result = empty_dense(shape, dtype(), e_.device);
  const Array f = uploaded(k, m, factors);
  Run run = e_.plan([&](Recorder& r) {
    vec::matmul(r, r.constant(f), block(r, matrix_, 0, m),
                r.constant(result.view(Layout::contiguous({k, size_}))));
  });
  e_.run(run);
  return result;
}

void Basis::restart(i64 k, i64 m, const std::vector<Number>& factors) {
  const Array kept = combined(k, m, factors);
  for (i64 i = 0; i < k; ++i) row(i).copy_from(kept.select(0, i));
  row(k).copy_from(row(m));
}

Array Basis::weights() const { return e_.scratch({1, rows_}, dtype()); }

void Basis::record_combination(Recorder& r, const Array& y, const Array& to) const {
  vec::matmul(r, r.constant(y), r.constant(matrix_), r.constant(to.view([&] {
    Layout l = Layout::contiguous({1, size_});
    l.offset = to.layout().offset;
    return l;
  }())));
}

}  // namespace tessera
