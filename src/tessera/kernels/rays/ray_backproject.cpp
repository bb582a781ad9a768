// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/ray_sums.hpp"

namespace tessera::rays {
namespace {

// A cell is a shadow of voxels as a voxel is one of cells.
template <int G, int bytes, class R>
TESSERA_INLINE void backproject_view(const CellEdges& e, double zero, const Slabs<R>& data,
                                     i64 first, const Row<R>& slab, i64 step) {
  using V = Register<R, bytes>;
  constexpr i64 L = lanes<R, bytes>;
  if (std::fabs(e.width) < narrow) {
    for (i64 i = 0; i < data.count; ++i) {
      const double base = e.middle.base + e.middle.slope * (data.c + static_cast<double>(i)),
                   start = (static_cast<double>(data.start) - zero) * e.width;
      spread_narrow<G>({base + start - static_cast<double>(first), e.width}, data.row,
                       Row<R>{slab.first + i * step, slab.size, slab.image});
    }
    return;
  }
  const double per_voxel = 1 / e.width;
  Shadows<R, bytes> s;
  V scale;
  for (i64 l = 0; l < L; ++l) {
    s.from[l] = static_cast<R>(static_cast<double>(l) * per_voxel);
    s.to[l] = static_cast<R>(static_cast<double>(l + 1) * per_voxel);
    scale[l] = static_cast<R>(std::fabs(per_voxel)) / std::fabs(s.to[l] - s.from[l]);
  }
  s.down = per_voxel < 0;
  with_taps<bytes, R>(std::fabs(per_voxel), [&]<int Taps>(i64 taps) {
    for (i64 p = 0; p < slab.size; p += L) {
      s.line = {zero + (static_cast<double>(first + p) - e.middle.base) * per_voxel,
                -e.middle.slope * per_voxel};
      V none[G];
      const Row<R> out{slab.first + p, slab.size, slab.image};
      sum_slabs<true, Taps, G, bytes>(s, data, taps, none, scale, out, step);
    }
  });
}

}  // namespace

template <class R>
void backproject_parallel(i64 images, const CellEdges& e, double zero, const Slabs<R>& data,
                          i64 first, const Row<R>& slab, i64 step) {
  with_images(images, [&]<int G>() {
    wide_registers(
        [=]<int bytes>() { backproject_view<G, bytes>(e, zero, data, first, slab, step); });
  });
}

template void backproject_parallel(i64, const CellEdges&, double, const Slabs<float>&, i64,
                                   const Row<float>&, i64);
template void backproject_parallel(i64, const CellEdges&, double, const Slabs<double>&, i64,
                                   const Row<double>&, i64);

}  // namespace tessera::rays
