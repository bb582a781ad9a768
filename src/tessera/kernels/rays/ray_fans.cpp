// SPDX-License-Identifier: Apache-2.0
// Note [guesses]: neighbouring voxels of a slab lie in a register. Which cells meet them is guessed,
// half a cell too low and one cell more than needed; where the cells' edges are on the slab then
// gives the weights. The guess is a line between both ends of the register, which are looked up in
// a table. Where it may be wrong by more than half a cell (very wide fans near the source), more
// cells are tried; these, and cells much narrower than voxels, are looked up one by one.
#include <algorithm>

#include "tessera/kernels/rays/ray_shadows.hpp"

namespace tessera::rays {
namespace {

constexpr i64 most_guesses = 64;

// A slab as its voxels meet cells. Places of edges are turned round where they go down, so that
// they go up with their cells.
template <class R>
struct FanSlab {
  double source, distance, sign;
  R nearness;
  i64 first;         // voxel of the whole volume
  i64 filled;        // voxels in a register
  i64 extra, tried;  // cells by which a guess may be too high; cells that are tried
};

// Of registers of voxels: the cell with which two registers of cells begin, and the first cells that
// are tried, counted from it: offset + step * voxel.
template <class R>
struct Guesses {
  std::int32_t first[most_guesses];
  R offset[most_guesses], step[most_guesses];
};

// For `count` registers from voxel p of the slab on.
template <class R>
TESSERA_INLINE void guess_cells(const FanRun<R>& fan, const FanSlab<R>& s, i64 p, i64 count,
                                Guesses<R>& guesses) {
  double at[most_guesses + 1];  // the cells at the ends of registers
  const double per_voxel = fan.per_place / s.distance, *table = fan.table;
  const double begin = (static_cast<double>(s.first + p) - s.source) * per_voxel -
                       fan.start * fan.per_place,
               apart = static_cast<double>(s.filled) * per_voxel,
               last = static_cast<double>(fan.cells - 1);
  for (i64 i = 0; i <= count; ++i) {
    const double place = begin + static_cast<double>(i) * apart;
    const double up = place > 0 ? place : 0, in = up < last ? up : last;
    const auto entry = static_cast<std::int32_t>(in);
    at[i] = table[entry] + (place - entry) * (table[entry + 1] - table[entry]);
  }
  const double per = 1 / static_cast<double>(s.filled), extra = static_cast<double>(s.extra),
               far = 1 << 30;
  for (i64 i = 0; i < count; ++i) {
    const double step = (at[i + 1] - at[i]) * per, low = at[i] < at[i + 1] ? at[i] : at[i + 1];
    const double up = low > -far ? low : -far, in = up < far ? up : far;
    const double first = std::floor(in - 0.501 - extra);
    guesses.first[i] = static_cast<std::int32_t>(first);
    // Of the end of a voxel in the lower cell; half a cell less for errors, another to round down.
    guesses.offset[i] = static_cast<R>(at[i] - first - 1 - extra + (step < 0 ? step : 0));
    guesses.step[i] = static_cast<R>(step);
  }
}

// Two registers as the halves of one.
TESSERA_INLINE Register<float, 64> joined(const Register<float, 32>& a,
                                          const Register<float, 32>& b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
TESSERA_INLINE Register<float, 32> joined(const Register<float, 16>& a,
                                          const Register<float, 16>& b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
TESSERA_INLINE Register<float, 16> joined(const Register<float, 8>& a,
                                          const Register<float, 8>& b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}
// Places of the edges from `edge` on, less `origin`.
template <int bytes, class R>
TESSERA_INLINE Register<R, bytes> edge_places(const double* edge, double distance, double origin) {
  const Register<double, bytes> low = load_register<bytes>(edge) * distance - origin;
  if constexpr (sizeof(R) == 8) {
    return low;
  } else {
    using Half = Register<R, bytes / 2>;
    const Register<double, bytes> high =
        load_register<bytes>(edge + lanes<double, bytes>) * distance - origin;
    return joined(__builtin_convertvector(low, Half), __builtin_convertvector(high, Half));
  }
}

// Registers of a slab's voxels, all alike.
template <int bytes, class R>
struct FanLanes {
  Register<R, bytes> count;  // 0, 1, 2...
  Register<R, bytes> lower;  // ends of voxels, turned round as the edges are
  TESSERA_INLINE explicit FanLanes(bool down) {
    for (int l = 0; l < lanes<R, bytes>; ++l) {
      count[l] = static_cast<R>(l);
      lower[l] = static_cast<R>(down ? -l - 1 : l);
    }
  }
};

template <int G, int bytes, class R>
TESSERA_INLINE void add_to(const FanSlab<R>& s, const FanLanes<bytes, R>& v,
                           const Register<R, bytes> (&sum)[G], R* out, i64 image) {
  const auto filled = static_cast<R>(s.filled);
  for (int g = 0; g < G; ++g, out += image) {
    const Register<R, bytes> kept = v.count < filled ? sum[g] : Register<R, bytes>{};
    store_register<R, bytes>(out, load_register<bytes>(out) + kept * s.nearness);
  }
}

// Adds to one register of voxels what its cells have, which lie within two registers of them.
template <int Cells, int G, int bytes, class R>
TESSERA_INLINE void add_cells(const FanRun<R>& fan, const FanSlab<R>& s,
                              const FanLanes<bytes, R>& v, i64 first, R offset, R step,
                              double origin, R* out, i64 image) {
  using V = Register<R, bytes>;
  using I = Register<Index<R>, bytes>;
  constexpr int L = lanes<R, bytes>;
  const double *edge = fan.edge + first, distance = s.sign * s.distance;
  const V near = edge_places<bytes, R>(edge, distance, origin),
          far = edge_places<bytes, R>(edge + L, distance, origin);
  const I at = std::bit_cast<I>(v.count * step + offset + integers<R>);
  const V zero = {}, one = zero + R(1);
  V weight[Cells], before = zero;  // the part of the voxel that the edges so far have passed
  for (int t = 0; t < Cells; ++t) {
    V part = one;
    if (t < Cells - 1) {
      const V place = __builtin_shuffle(near, far, at + (t + 1)) - v.lower;
      part = place > zero ? place : zero;
      part = part < one ? part : one;
    }
    weight[t] = part - before;
    before = part;
  }
  V sum[G];
  for (int g = 0; g < G; ++g) {
    const R* data = fan.data.first + first + g * fan.data.image;
    const V a = load_register<bytes>(data), b = load_register<bytes>(data + L);
    sum[g] = zero;
    for (int t = 0; t < Cells; ++t) {
      const V number = __builtin_shuffle(a, b, at + t);
      sum[g] += weight[t] * (weight[t] > zero ? number : zero);
    }
  }
  add_to<G, bytes>(s, v, sum, out, image);
}

// The same for any number of cells; Near: they are no further than the margins of the run.
template <bool Near, int G, int bytes, class R>
TESSERA_INLINE void add_many_cells(const FanRun<R>& fan, const FanSlab<R>& s,
                                   const FanLanes<bytes, R>& v, i64 first, R offset, R step,
                                   double origin, R* out, i64 image) {
  using V = Register<R, bytes>;
  constexpr int L = lanes<R, bytes>;
  const V zero = {}, one = zero + R(1), guess = v.count * step + (offset + R(0.5));
  const double distance = s.sign * s.distance;
  i64 cell[L];
  for (int l = 0; l < L; ++l)  // from the margin on, if not later
    cell[l] = std::max<i64>(-1, first + static_cast<i64>(guess[l]));
  V passed = zero, sum[G] = {};
  for (i64 t = 0; t < s.tried; ++t) {
    V place, number[G];
    for (int l = 0; l < L; ++l) {
      const i64 at = cell[l]++, here = Near ? at : std::min(at, fan.cells);
      place[l] = static_cast<R>(fan.edge[here + 1] * distance - origin);
      for (int g = 0; g < G; ++g) number[g][l] = fan.data.first[g * fan.data.image + here];
    }
    place -= v.lower;
    const V positive = place > zero ? place : zero, part = positive < one ? positive : one,
            weight = part - passed;
    passed = part;
    for (int g = 0; g < G; ++g) sum[g] += weight * (weight > zero ? number[g] : zero);
  }
  add_to<G, bytes>(s, v, sum, out, image);
}

// Cells: as many as are tried, 0 where they are looked up.
template <int Cells, int G, int bytes, class R>
TESSERA_INLINE void add_slab(const FanRun<R>& fan, const FanSlab<R>& s, const Row<R>& slab) {
  constexpr i64 L = lanes<R, bytes>;
  const FanLanes<bytes, R> v(s.sign < 0);
  const i64 n = fan.cells, step = s.filled;
  for (i64 begin = 0; begin < slab.size; begin += most_guesses * step) {
    const i64 count = std::min(most_guesses, (slab.size - begin + step - 1) / step);
    Guesses<R> guess;
    guess_cells(fan, s, begin, count, guess);
    for (i64 i = 0; i < count; ++i) {
      const i64 p = begin + i * step, first = guess.first[i];
      const double origin = s.sign * (static_cast<double>(s.first + p) - s.source);
      if constexpr (Cells > 0) {
        if (first > -2 * L && first < n)
          add_cells<Cells, G, bytes>(fan, s, v, first, guess.offset[i], guess.step[i], origin,
                                     slab.first + p, slab.image);
      } else {
        // The first cell that is tried for the last voxel.
        const i64 last = first + 1 + static_cast<i64>(std::fabs(guess.step[i]) * static_cast<R>(L));
        const auto add = [&]<bool Near>() {
          add_many_cells<Near, G, bytes>(fan, s, v, first, guess.offset[i], guess.step[i], origin,
                                         slab.first + p, slab.image);
        };
        if (last + 2 * s.extra + 2 <= 0 || first >= n) continue;
        if (last + s.tried < n + margin)
          add.template operator()<true>();
        else
          add.template operator()<false>();
      }
    }
  }
}

// Slabs += what their voxels, from voxel `first` on, cover of the cells of a run.
template <int G, int bytes, class R>
TESSERA_INLINE void backproject_run(const CellEdges& e, int axis, const FanRun<R>& fan, double c,
                                    i64 slabs, i64 first, const Row<R>& slab, i64 step) {
  constexpr double L = lanes<R, bytes>, slack = 1e-4;
  const double source = e.source[1 - axis];
  for (i64 i = 0; i < slabs; ++i) {
    const double distance = e.distance(axis, c + static_cast<double>(i));
    if (!(std::fabs(distance) > least_shadow)) continue;
    const Row<R> row{slab.first + i * step, slab.size, slab.image};
    // Of the table, in a register; more make no difference.
    const double places = std::min(L * std::fabs(fan.per_place / distance), 1e9);
    const double width = fan.steepest * places / L * (1 + slack);  // of a voxel, in cells
    // A chord misses what is bent, the table what is between its entries, and float32 small parts.
    const double error = fan.error + fan.bend * places * (places + 2) / 8 +
                         1e-7 * (static_cast<double>(fan.cells) + L * width);
    FanSlab<R> s{source,
                 distance,
                 fan.per_place * distance < 0 ? -1.0 : 1.0,
                 static_cast<R>(1 / std::fabs(distance)),
                 first,
                 lanes<R, bytes>,
                 0,
                 0};
    s.extra = static_cast<i64>(std::ceil(std::clamp(error - 0.4, 0.0, 1e9)));
    s.tried = static_cast<i64>(std::ceil(std::min(width, 1e9))) + 2 + 2 * s.extra;
    const i64 cells = s.tried <= 3 ? 3 : s.tried <= 4 ? 4 : 8;
    // As many voxels as have their cells within two registers.
    const double room = 2 * L - 2 - static_cast<double>(cells);
    while (s.filled > 4 && static_cast<double>(s.filled) * width > room) s.filled /= 2;
    if (!has_permutations<bytes> || s.tried > 8 || static_cast<double>(s.filled) * width > room) {
      s.filled = lanes<R, bytes>;
      s.tried = std::min(s.tried, fan.cells + 2);  // all there are, and the margins
      add_slab<0, G, bytes>(fan, s, row);
    } else if (cells == 3) {
      add_slab<3, G, bytes>(fan, s, row);
    } else if (cells == 4) {
      add_slab<4, G, bytes>(fan, s, row);
    } else {
      add_slab<8, G, bytes>(fan, s, row);
    }
  }
}

}  // namespace

template <class R>
void make_fan(const CellEdges& e, const CellRun& run, FanRun<R>& fan) {
  const i64 n = fan.cells = run.end - run.begin;
  const double *left = e.left + (run.begin - e.begin), *right = e.right + (run.begin - e.begin);
  std::copy_n(left, n, fan.edge);
  std::fill_n(fan.edge - margin, margin, left[0]);
  std::fill_n(fan.edge + n, margin + 1, right[n - 1]);
  const double step = (right[n - 1] - left[0]) / static_cast<double>(n);
  fan.start = left[0];
  fan.per_place = 1 / step;
  fan.steepest = fan.bend = fan.error = 0;
  double before = 0, grown = 0;
  for (i64 i = 0, cell = 0; i <= n; ++i) {
    const double place = left[0] + static_cast<double>(i) * step;
    while (cell < n - 1 && (place - right[cell]) * step > 0) ++cell;
    const double at = static_cast<double>(cell) + (place - left[cell]) / (right[cell] - left[cell]);
    fan.table[i] = at;
    const double grows = at - before;
    if (i > 0) fan.steepest = std::max(fan.steepest, std::fabs(grows));
    if (i > 1) fan.bend = std::max(fan.bend, std::fabs(grows - grown));
    before = at;
    grown = grows;
  }
  for (i64 cell = 1; cell < n; ++cell) {
    const double place = (left[cell] - left[0]) * fan.per_place;
    const i64 entry = std::clamp<i64>(static_cast<i64>(place), 0, n - 1);
    const double at = fan.table[entry] + (place - static_cast<double>(entry)) *
                                             (fan.table[entry + 1] - fan.table[entry]);
    fan.error = std::max(fan.error, std::fabs(at - static_cast<double>(cell)));
  }
}

template <class R>
void backproject_fan(i64 images, const CellEdges& e, int axis, const FanRun<R>& fan, double c,
                     i64 slabs, i64 first, const Row<R>& slab, i64 step) {
  with_images(images, [&]<int G>() {
    wide_registers(
        [=]<int bytes>() { backproject_run<G, bytes>(e, axis, fan, c, slabs, first, slab, step); });
  });
}

template void make_fan(const CellEdges&, const CellRun&, FanRun<float>&);
template void make_fan(const CellEdges&, const CellRun&, FanRun<double>&);
template void backproject_fan(i64, const CellEdges&, int, const FanRun<float>&, double, i64, i64,
                              const Row<float>&, i64);
template void backproject_fan(i64, const CellEdges&, int, const FanRun<double>&, double, i64, i64,
                              const Row<double>&, i64);

}  // namespace tessera::rays
