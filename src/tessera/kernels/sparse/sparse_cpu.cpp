// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/threads.hpp"
#include "tessera/kernels/axis_indexer.hpp"
#include "tessera/kernels/sparse/sparse.hpp"

namespace tessera {
namespace {

constexpr i64 batch_group = 8;

struct State {
  SparseSpec spec;
  AxisIndexer columns, rows;
  std::vector<i64> x_batch, y_batch;  // offsets of each batch
  i64 row_count = 0, grain = 1;
};

template <class T, class V>
T product(const V& v, const T& x) {
  if constexpr (is_complex_v<T> && !is_complex_v<V>)
    return T(v * x.re, v * x.im);
  else
    return v * x;
}

template <bool Conjugate, class T, class V>
void run_rows(const State& s, const T* x, const V* values, const i64* indices, const i64* starts,
              T* y, i64 begin, i64 end) {
  const i64 batches = static_cast<i64>(s.x_batch.size());
  const bool one_axis = s.columns.size.size() <= 1;
  const i64 step = s.columns.size.empty() ? 0 : s.columns.stride[0];
  for (i64 r = begin; r < end; ++r)
    for (i64 first = 0; first < batches; first += batch_group) {
      const i64 n = std::min(batch_group, batches - first);
      const i64* from = s.x_batch.data() + first;
      T sum[batch_group] = {};
      for (i64 k = starts[r]; k < starts[r + 1]; ++k) {
        V v = values[k];
        if constexpr (Conjugate) v = conj(v);
        const T* p = x + (one_axis ? indices[k] * step : s.columns.at(indices[k]));
        for (i64 b = 0; b < n; ++b) sum[b] += product(v, p[from[b]]);
      }
      const i64 to = s.rows.at(r);
      for (i64 b = 0; b < n; ++b) y[s.y_batch[static_cast<std::size_t>(first + b)] + to] = sum[b];
    }
}

template <class T, class V>
void run_typed(const State& s, const Launch& l) {
  const auto* x = static_cast<const T*>(l.operand[0]);
  const auto* values = static_cast<const V*>(l.operand[1]);
  const auto *indices = static_cast<const i64*>(l.operand[2]),
             *starts = static_cast<const i64*>(l.operand[3]);
  auto* y = static_cast<T*>(l.operand[4]);
  parallel_for(s.row_count, s.grain, [&](i64 begin, i64 end) {
    if constexpr (is_complex_v<V>)
      if (s.spec.conjugate) return run_rows<true>(s, x, values, indices, starts, y, begin, end);
    run_rows<false>(s, x, values, indices, starts, y, begin, end);
  });
}

void run(const void* state, const Launch& l) {
  const State& s = *static_cast<const State*>(state);
  if (s.x_batch.empty()) return;
  dispatch<float, double, c64, c128>(s.spec.y.dtype, "sparse", [&]<class T>() {
    if constexpr (is_complex_v<T>)
      if (!is_complex(s.spec.values.dtype)) return run_typed<T, decltype(T::re)>(s, l);
    run_typed<T, T>(s, l);
  });
}

}  // namespace

Prepared prepare_sparse_cpu(const SparseSpec& spec, Device) {
  const DType t = spec.y.dtype, v = spec.values.dtype;
  require<DTypeError>(spec.x.dtype == t && (v == t || v == real_of(t)), "sparse: values of ",
                      name(v), " times ", name(spec.x.dtype), " into ", name(t));
  dispatch<float, double, c64, c128>(t, "sparse", []<class T>() {});
  auto s = std::make_shared<State>();
  const Layout &x = spec.x.layout, &y = spec.y.layout;
  s->spec = spec;
  s->columns = AxisIndexer(x, spec.batch_axes, x.ndim());
  s->rows = AxisIndexer(y, spec.batch_axes, y.ndim());
  s->row_count = count_of(Shape(y.shape.begin() + spec.batch_axes, y.shape.end()));
  s->x_batch = AxisIndexer::offsets(x, 0, spec.batch_axes);
  s->y_batch = AxisIndexer::offsets(y, 0, spec.batch_axes);
  const i64 work = spec.values.layout.size() * std::max<i64>(1, s->x_batch.size());
  s->grain = std::max<i64>(1, 16384 * s->row_count / std::max<i64>(1, work + s->row_count));
  Prepared p;
  p.flops = (is_complex(t) ? 8.0 : 2.0) * static_cast<double>(work);
  p.task = {run, std::move(s)};
  return p;
}

}  // namespace tessera
