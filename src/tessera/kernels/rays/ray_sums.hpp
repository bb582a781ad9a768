// SPDX-License-Identifier: Apache-2.0
#pragma once
// A register of shadows followed over slabs, for images. Private to the cpu's kernel.
//   sum_slabs<false, Taps, G, bytes>(shadows, slabs, taps, sum, scale, out, step);

#include "tessera/kernels/rays/ray_shadows.hpp"

namespace tessera::rays {

// Neighbouring shadows: edges from that of the first one, per unit of distance.
template <class R, int bytes>
struct Shadows {
  SlabLine line;  // of the edge that the others count from
  Register<R, bytes> from, to;
  bool down;
};

// sum[g] += what all slabs have in the shadows; or, for Each, out = row by row times `scale`.
template <bool Each, int Taps, int G, int bytes, class R>
TESSERA_INLINE void sum_slabs(const Shadows<R, bytes>& s, const Slabs<R>& slabs, i64 taps,
                              Register<R, bytes> (&sum)[G], const Register<R, bytes>& scale,
                              const Row<R>& out, i64 out_step) {
  using V = Register<R, bytes>;
  constexpr i64 L = lanes<R, bytes>;
  std::int32_t place[most_slabs];
  R beyond[most_slabs];
  find_places(s.line, slabs.c, slabs.count, slabs.start, place, beyond);
  const i64 shift = s.down ? 2 * L - 1 : 0, size = slabs.row.size;
  const V a = s.down ? s.to : s.from, b = s.down ? s.from : s.to;
  for (i64 i = 0; i < slabs.count; ++i) {
    const i64 window = place[i] - shift;
    if (Taps > 0 && (window <= -2 * L || window >= size)) continue;
    const V low = a * slabs.distance[i] + beyond[i], high = b * slabs.distance[i] + beyond[i];
    V covered[G];
    const Row<const R> row{slabs.row.first + i * slabs.step, size, slabs.row.image};
    take_shadows<Taps, G, bytes>(low, high, row, place[i], s.down, taps, covered);
    for (int g = 0; g < G; ++g) {
      if constexpr (Each) {
        R* at = out.first + i * out_step + g * out.image;
        store_register<R, bytes>(at, load_register<bytes>(at) + covered[g] * scale);
      } else {
        sum[g] += covered[g] * slabs.nearness[i];
      }
    }
  }
}

}  // namespace tessera::rays
