// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/basis.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {
namespace {

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

Basis::Basis(Engine& e, const std::string& name, i64 rows, const VectorSpace& side, DType dtype)
    : e_(e), name_(name), rows_(rows), dtype_(dtype), side_(side) {
  result_.coefficients.reserve(static_cast<std::size_t>(rows));
  if (side.stored()) {
    stored_ = std::make_shared<const StoredRows>(e, name, rows, side, dtype);
    views_ = stored_->rows();
    return;
  }
  all_ = e.keep(name, side.stacked(rows), dtype);
  h_ = e.work(cat(name, " coefficients"), Shape{2, rows, 1}, dtype);
  host_h_ = vec::zeros({2, rows, 1}, dtype, cpu);
  for (i64 j = 0; j < rows; ++j) {
    vec::Vector& row = views_.emplace_back();
    row.ranks = side.ranks();
    for (const Array& piece : all_.pieces) row.pieces.push_back(piece.select(0, j));
  }
  before_ = e.scalars.cell("basis before");
  after_ = e.scalars.cell("basis after");
  scale_ = e.scalars.cell("basis scale");
}

vec::Vector Basis::some_rows(i64 first, i64 count) const {
  vec::Vector some;
  some.ranks = side_.ranks();
  for (const Array& piece : all_.pieces)
    some.pieces.push_back(piece.slice(0, first, first + count));
  return some;
}

View Basis::block(Recorder& r, std::size_t p, i64 first, i64 last) const {
  View v = r.constant(all_.pieces[p]);
  const i64 offset = v.layout.offset;
  v.layout = Layout::contiguous({rows_, all_.pieces[p].size() / rows_});
  v.layout.offset = offset;
  v.layout = v.layout.slice(0, first, last - first);
  return v;
}

// h = <rows [first, j), row j>: each piece has its part of the sum, which is formed on the base.
void Basis::record_coefficients(Recorder& r, i64 j, i64 first, const View& h) const {
  auto part_of_sum = [&](std::size_t p, const View& to) {
    vec::matmul(r, block(r, p, first, j), turned(block(r, p, j, j + 1)), to, {.conj_a = true});
  };
  if (!side_.distribution()) {
    part_of_sum(0, h);
    if (side_.ranks()) side_.ranks()->combine(r, h);
    return;
  }
  const i64 n = j - first;
  const View parts = r.temporary({static_cast<i64>(side_.count()), n, 1}, dtype(), side_.base());
  for (std::size_t p = 0; p < side_.count(); ++p) {
    const View place = sub_view(parts, parts.layout.select(0, static_cast<i64>(p)));
    const Device device = side_.device(p);
    const View own = device == side_.base() ? place : r.temporary({n, 1}, dtype(), device);
    part_of_sum(p, own);
    if (own.slot != place.slot) record::copy(r, own, place);
  }
  View sum = h;
  sum.layout = Layout::contiguous({1, n, 1});
  sum.layout.offset = h.layout.offset;
  vec::reduce(r, ReduceOp::sum, parts, sum);
}

Run& Basis::record(i64 j, i64 first, bool twice) {
  const std::string row_name = cat(name_, " row ", j, " from ", first, twice ? " twice" : "");
  return e_.plan(row_name, [&](Recorder& r) {
    vec::norm2(r, row(j), e_.target(r, before_));
    for (i64 pass = 0; pass < (twice ? 2 : 1) && first < j; ++pass) {
      View h = r.constant(h_);
      h.layout = h.layout.select(0, pass).slice(0, first, j - first);
      record_coefficients(r, j, first, h);
      for (std::size_t p = 0; p < side_.count(); ++p)
        vec::matmul(r, turned(block(r, p, first, j)), r.resident(h, side_.device(p)),
                    turned(block(r, p, j, j + 1)), {.alpha = -1, .beta = 1});
    }
    vec::norm2(r, row(j), e_.target(r, after_));
    e_.scalars.store(after_, root(after_));
    e_.scalars.store(scale_, inverse(after_));
    e_.scalars.record(r);
    vec::scale(r, e_.factor(r, scale_), row(j), row(j));
  });
}

// Plans of an engine are made once for each name, so what they find has one home.
const Basis::Result& Basis::orthonormalise_on_disk(i64 j) {
  e_.run(e_.plan(cat(name_, " row ", j), [&](Recorder& r) { stored_->record(r, j); }));
  e_.scalars.fetch();  // waits
  const StoredRows::Found& found = stored_->found();
  result_.coefficients = found.coefficients;
  result_.before = std::sqrt(found.before2);
  result_.length = std::sqrt(found.after2);
  result_.dependent = !(result_.length > 10 * epsilon_of(dtype()) * result_.before);
  return result_;
}

const Basis::Result& Basis::orthonormalise(i64 j, i64 first, bool twice) {
  if (stored_) return orthonormalise_on_disk(j);
  auto it = std::find_if(recorded_.begin(), recorded_.end(), [&](const Recorded& k) {
    return k.j == j && k.first == first && k.twice == twice;
  });
  if (it == recorded_.end()) {
    recorded_.push_back({j, first, twice, &record(j, first, twice)});
    e_.scalars.upload_new();
    it = recorded_.end() - 1;
  }
  e_.run(*it->run);
  const Stream stream = Stream::home(e_.device);
  stream.copy(host_h_.data(), cpu, h_.data(), e_.device, h_.bytes());
  e_.scalars.fetch();  // waits for both
  result_.before = std::sqrt(e_.scalars.value(before_));
  result_.length = e_.scalars.value(after_);
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
    e_.assign(row(j), side_, side_.normal(random, dtype()));
    if (!orthonormalise(j).dependent) return;
  }
}

void Basis::randomise_all(std::uint64_t seed) {
  const VectorSpace all = side_.stacked(rows_);
  Random random(seed);
  e_.assign(all_, all, all.normal(random, dtype()));
}

// Piece p of factors times rows [0, m), a temporary of k vectors.
View Basis::image(Recorder& r, const Array& f, std::size_t p, i64 k, i64 m) const {
  const View to = r.temporary(side_.stacked(k).shape(p), dtype(), side_.device(p));
  const View rows = block(r, p, 0, m);
  vec::matmul(r, r.resident(r.constant(f), side_.device(p)), rows,
              sub_view(to, Layout::contiguous({k, rows.shape()[1]})));
  return to;
}

Array Basis::combined(i64 k, i64 m, const std::vector<Number>& factors) const {
  const VectorSpace all = side_.stacked(k);
  const Array result = empty_dense(all.shape(), dtype(), e_.device);
  const Array host = vec::zeros({k, m}, dtype(), cpu);
  store_numbers(host, factors);
  Stream::home(e_.device).sync();  // of the rows, wherever they are
  for (std::size_t p = 0; p < side_.count(); ++p) {
    const Array rows = all_.pieces[p].slice(0, 0, m).reshape({m, all_.pieces[p].size() / rows_});
    const Array image = matmul(host.to(side_.device(p)), rows).reshape(all.shape(p));
    all.part(result, p).copy_from(image.to(e_.device));
  }
  return result;
}

Basis::Restart& Basis::restart_of(i64 k, i64 m) {
  const auto it = std::find_if(restarts_.begin(), restarts_.end(),
                               [&](const Restart& s) { return s.k == k && s.m == m; });
  if (it != restarts_.end()) return *it;
  const Array f = e_.work(cat(name_, " factors ", k, " ", m), Shape{k, m}, dtype());
  Run& run = e_.plan(cat(name_, " restart ", k, " ", m), [&](Recorder& r) {
    for (std::size_t p = 0; p < side_.count(); ++p) {
      const View kept = image(r, f, p, k, m), rows = r.constant(all_.pieces[p]);
      record::copy(r, kept, sub_view(rows, rows.layout.slice(0, 0, k)));
    }
    for (i64 j = m; j < rows_; ++j) vec::copy(r, row(j), row(k + j - m));
  });
  restarts_.push_back({k, m, vec::zeros({k, m}, dtype(), cpu), f, &run});
  return restarts_.back();
}

void Basis::restart(i64 k, i64 m, const std::vector<Number>& factors) {
  Restart& s = restart_of(k, m);
  store_numbers(s.host, factors);  // the last restart was waited for: rows were made since
  Stream::home(e_.device).copy(s.factors.data(), e_.device, s.host.data(), cpu, s.host.bytes());
  e_.run(*s.run);
}

Array Basis::weights() const { return e_.work(cat(name_, " weights"), Shape{1, rows_}, dtype()); }

void Basis::record_combination(Recorder& r, const Array& y, const vec::Vector& to) const {
  if (stored_) return stored_->record_combination(r, y, to);
  for (std::size_t p = 0; p < side_.count(); ++p) {
    const View rows = block(r, p, 0, rows_);
    View out = r.constant(to.pieces[p]);
    const i64 offset = out.layout.offset;
    out.layout = Layout::contiguous({1, rows.shape()[1]});
    out.layout.offset = offset;
    vec::matmul(r, r.resident(r.constant(y), side_.device(p)), rows, out);
  }
}

}  // namespace tessera
