// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which specs the kernel of gridding_pieces.cuh takes, and how a launch is cut; instantiated for
// each dtype in a file of its own, which keeps compilation short.
//   return prepare_piece_gridding<c64>(spec);

#include "tessera/kernels/interpolate/gridding_pieces.cuh"
#include "tessera/kernels/interpolate/pieces_launch.cuh"

namespace tessera::cuda {

// How a block grids. On an H200, in single precision, these were the fastest of eight or nine ways
// each for widths 4 and 6, and the other widths follow the nearer one: a stream of a plane has 4 to
// 25 threads (49 for width 7, a prime), and a block as many streams as its threads make, up to 8.
template <int Dims, int Width>
struct GriddingWay {
  // Quarters of a tile leave room for more blocks on a multiprocessor, while kernels are narrow.
  static constexpr bool quarters = Dims == 2 || Width <= 4, narrow = Dims == 3 && Width <= 4;
  static constexpr int all_classes[2][widest_piece - 1] = {{2, 3, 4, 5, 3, 7, 2},
                                                           {2, 3, 4, 1, 3, 1, 2}};
  static constexpr int classes = all_classes[Dims - 2][Width - 2];
  static constexpr int of_stream = (Dims == 3 ? Width : 1) * Width * classes;
  static constexpr int threads = narrow ? 64 : piece_threads;
  // A second room would cost more than its threads bring, in volumes with wide kernels.
  static constexpr int streams = Dims == 3 && !narrow ? 1 : std::min(8, threads / of_stream);
  static constexpr int hits = Dims == 2 ? 128 : 64;
  // Rows of 12 + 4 cells would all begin in the same bank.
  static constexpr int rows = narrow ? Width : -1;
  static_assert(streams >= 1 && streams * of_stream <= threads);
};

template <class R>
struct PieceGridding {
  GriddingArgs<R> args;
  unsigned blocks = 0;
  i64 bytes = 0;
};

template <class T, int Dims, int Width>
void run_piece_gridding(const void* state, const Launch& launch) {
  using Way = GriddingWay<Dims, Width>;
  const auto& g = *static_cast<const PieceGridding<typename RealOf<T>::type>*>(state);
  auto args = g.args;
  args.from = launch.operand[0];
  args.point.locs = static_cast<const double*>(launch.operand[1]);
  args.order = static_cast<const i64*>(launch.operand[2]);
  args.starts = static_cast<const i64*>(launch.operand[3]);
  args.to = launch.operand[4];
  args.done = static_cast<int*>(launch.workspace);
  check(cudaMemsetAsync(args.done, 0, sizeof(int) * (g.blocks + 1), stream_of(launch)),
        "clearing the marks of a gridding");
  gridding_pieces_kernel<T, Dims, Width, Way::classes>
      <<<g.blocks, Way::threads, g.bytes, stream_of(launch)>>>(args);
  check_launch("launching a gridding");
}

template <class T, int Dims, int Width>
std::optional<Prepared> piece_gridding(const InterpolateSpec& spec,
                                       const PieceArgs<typename RealOf<T>::type>& some) {
  using R = typename RealOf<T>::type;
  using Way = GriddingWay<Dims, Width>;
  GriddingArgs<R> args{some};
  constexpr int slow = Way::quarters ? 2 : 1, fast = Dims == 2 ? 2 : 1;
  const Shape grid = grid_of(spec);
  args.cut = PieceCut(grid, SpreadTiles(grid, spec.kernel), {slow, slow, fast}, Width, Way::rows);
  args.streams = Way::streams;
  args.hits = Way::hits;
  const i64 bytes =
      GriddingRoom<T, Dims, Width>::bytes(args.cut, args.streams, args.hits, Way::threads);
  const i64 blocks = static_cast<i64>(args.cut.pieces) * args.batch.count;
  if (!args.cut.possible || args.cut.room.cells() >= 1 << 16 || blocks >= (i64{1} << 31) - 2 ||
      !grant_shared_memory(&gridding_pieces_kernel<T, Dims, Width, Way::classes>, bytes))
    return std::nullopt;
  args.colour_begin[0] = 0;
  for (int colour = 0; colour < 8; ++colour) {
    int n = 1;
    for (int a = 0; a < 3; ++a) n *= (args.cut.axis[a].count + 1 - (colour >> a & 1)) / 2;
    args.colour_begin[colour + 1] = args.colour_begin[colour] + n;
  }
  Prepared prepared;
  prepared.flops = 4 * std::pow(Width, Dims) * static_cast<double>(spec.points.layout.size());
  prepared.workspace = static_cast<i64>(sizeof(int)) * (blocks + 1);
  prepared.task = {&run_piece_gridding<T, Dims, Width>,
                   std::make_shared<PieceGridding<R>>(
                       PieceGridding<R>{args, static_cast<unsigned>(blocks), bytes})};
  return prepared;
}

template <class T>
std::optional<Prepared> prepare_piece_gridding(const InterpolateSpec& spec) {
  const bool plane = grid_of(spec).size() == 2;
  const auto args =
      piece_args<typename RealOf<T>::type>(spec, plane ? 0 : least_taps_to_grid_volume);
  if (!args) return std::nullopt;
  return for_width(args->point.width, [&]<int Width>() {
    return plane ? piece_gridding<T, 2, Width>(spec, *args)
                 : piece_gridding<T, 3, Width>(spec, *args);
  });
}

}  // namespace tessera::cuda
