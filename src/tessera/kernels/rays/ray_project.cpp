// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/ray_sums.hpp"

namespace tessera::rays {
namespace {

// The cells of a register from cell d on, within a run: edges, and how much wider than nothing
// they are as the sums see it.
template <class R, int bytes>
TESSERA_INLINE Shadows<R, bytes> cell_shadows(const CellEdges& e, const CellRun& run, i64 d) {
  constexpr i64 L = lanes<R, bytes>;
  const i64 first = d > run.begin ? d : run.begin;
  const double edge = e.left[first - e.begin];
  Shadows<R, bytes> s;
  s.line = e.line(run.axis, edge);
  for (i64 l = 0; l < L; ++l) {
    const bool here = d + l >= run.begin && d + l < run.end;  // what is not has no extent
    s.from[l] = here ? static_cast<R>(e.left[d + l - e.begin] - edge) : R(0);
    s.to[l] = here ? static_cast<R>(e.right[d + l - e.begin] - edge) : R(0);
  }
  s.down = e.right[first - e.begin] < e.left[first - e.begin];
  return s;
}

template <int G, int bytes, class R>
TESSERA_INLINE void project_run(const CellEdges& e, const CellRun& run, const Slabs<R>& slabs,
                                double farthest, const Row<R>& sums) {
  using V = Register<R, bytes>;
  constexpr i64 L = lanes<R, bytes>;
  with_taps<bytes, R>(e.widest[run.axis] * std::fabs(farthest), [&]<int Taps>(i64 taps) {
    for (i64 d = run.begin / L * L; d < run.end; d += L) {
      Shadows<R, bytes> s = cell_shadows<R, bytes>(e, run, d);
      s.down = s.down != (farthest < 0);
      R* at = sums.first + (d - e.begin);
      V sum[G];
      for (int g = 0; g < G; ++g) sum[g] = load_register<bytes>(at + g * sums.image);
      sum_slabs<false, Taps, G, bytes>(s, slabs, taps, sum, V{}, sums, 0);
      for (int g = 0; g < G; ++g) store_register<R, bytes>(at + g * sums.image, sum[g]);
    }
  });
}

template <int G, int bytes, class R>
TESSERA_INLINE void scale_run(const CellEdges& e, const CellRun& run, const Row<R>& sums) {
  constexpr i64 L = lanes<R, bytes>;
  constexpr R least = static_cast<R>(least_shadow);
  for (i64 d = run.begin / L * L; d < run.end; d += L) {
    const Shadows<R, bytes> s = cell_shadows<R, bytes>(e, run, d);
    for (i64 l = 0; l < L; ++l) {
      if (d + l < run.begin || d + l >= run.end) continue;
      const R width = s.to[l] > s.from[l] ? s.to[l] - s.from[l] : s.from[l] - s.to[l];
      const R scale = static_cast<R>(e.length[d + l - e.begin]) / (width > least ? width : least);
      for (int g = 0; g < G; ++g) sums.first[g * sums.image + d + l - e.begin] *= scale;
    }
  }
}

}  // namespace

template <class R>
void project_slabs(i64 images, const CellEdges& e, const CellRun& run, const Slabs<R>& slabs,
                   double farthest, const Row<R>& sums) {
  with_images(images, [&]<int G>() {
    wide_registers([=]<int bytes>() { project_run<G, bytes>(e, run, slabs, farthest, sums); });
  });
}

template <class R>
void scale_sums(i64 images, const CellEdges& e, const CellRun& run, const Row<R>& sums) {
  with_images(images, [&]<int G>() {
    wide_registers([=]<int bytes>() { scale_run<G, bytes>(e, run, sums); });
  });
}

template void project_slabs(i64, const CellEdges&, const CellRun&, const Slabs<float>&, double,
                            const Row<float>&);
template void project_slabs(i64, const CellEdges&, const CellRun&, const Slabs<double>&, double,
                            const Row<double>&);
template void scale_sums(i64, const CellEdges&, const CellRun&, const Row<float>&);
template void scale_sums(i64, const CellEdges&, const CellRun&, const Row<double>&);

}  // namespace tessera::rays
