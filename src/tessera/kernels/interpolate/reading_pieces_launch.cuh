// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which specs the kernel of reading_pieces.cuh takes, and how a launch is cut; instantiated for
// each dtype in a file of its own, which keeps compilation short.
//   return prepare_piece_reading<c64>(spec);

#include "tessera/kernels/interpolate/pieces_launch.cuh"
#include "tessera/kernels/interpolate/reading_pieces.cuh"

namespace tessera::cuda {

// Lanes that share a point: one, but where all weights of one lane would take too many registers.
// On an H200, one and two were the fastest of 1, 2, 4 and 8 for widths 4 and 6 of volumes.
template <int Dims, int Width>
inline constexpr int reading_lanes = Dims == 3 && Width > 4 ? 2 : 1;

template <class R>
struct PieceReading {
  PieceArgs<R> args;
  unsigned blocks = 0;
  i64 bytes = 0;
};

template <class T, int Dims, int Width>
void run_piece_reading(const void* state, const Launch& launch) {
  const auto& r = *static_cast<const PieceReading<typename RealOf<T>::type>*>(state);
  auto args = r.args;
  args.from = launch.operand[0];
  args.point.locs = static_cast<const double*>(launch.operand[1]);
  args.order = static_cast<const i64*>(launch.operand[2]);
  args.starts = static_cast<const i64*>(launch.operand[3]);
  args.to = launch.operand[4];
  reading_pieces_kernel<T, Dims, Width, reading_lanes<Dims, Width>>
      <<<r.blocks, piece_reading_threads, r.bytes, stream_of(launch)>>>(args);
  check_launch("launching an interpolation");
}

template <class T, int Dims, int Width>
std::optional<Prepared> piece_reading(const InterpolateSpec& spec,
                                      PieceArgs<typename RealOf<T>::type> args) {
  using R = typename RealOf<T>::type;
  const Shape grid = grid_of(spec);
  args.cut = PieceCut(grid, SpreadTiles(grid, spec.kernel), {1, 1, 1}, Width, -1);
  const i64 bytes = static_cast<i64>(sizeof(T)) * args.cut.room.cells();
  const i64 blocks = static_cast<i64>(args.cut.pieces) * args.batch.count;
  if (!args.cut.possible || blocks >= i64{1} << 31 ||
      !grant_shared_memory(&reading_pieces_kernel<T, Dims, Width, reading_lanes<Dims, Width>>,
                           bytes))
    return std::nullopt;
  Prepared prepared;
  prepared.flops = 4 * std::pow(Width, Dims) * static_cast<double>(spec.points.layout.size());
  prepared.task = {&run_piece_reading<T, Dims, Width>,
                   std::make_shared<PieceReading<R>>(
                       PieceReading<R>{args, static_cast<unsigned>(blocks), bytes})};
  return prepared;
}

template <class T>
std::optional<Prepared> prepare_piece_reading(const InterpolateSpec& spec) {
  const auto args = piece_args<typename RealOf<T>::type>(spec, least_taps_to_read_pieces);
  if (!args) return std::nullopt;
  const bool plane = grid_of(spec).size() == 2;
  return for_width(args->point.width, [&]<int Width>() {
    return plane ? piece_reading<T, 2, Width>(spec, *args)
                 : piece_reading<T, 3, Width>(spec, *args);
  });
}

}  // namespace tessera::cuda
