// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks over the bytes of a block, in row-major order of its layout, as runs that are contiguous in
// memory: what transports pack, unpack, copy and hand to the kernel. Axes that lie one inside the
// other are merged first, so that runs are as long as they can be. Nothing is allocated but the
// walk. Two blocks that are copied must not overlap.
//   BlockWalk walk(block);   walk.pack(buffer, std::min(walk.left(), chunk));

#include "tessera/comm/transport.hpp"

namespace tessera {

class TESSERA_API BlockWalk {
 public:
  struct Axis {
    i64 count, stride, index;  // runs, bytes, position
  };
  explicit BlockWalk(const Block& block);
  // A walk that another process described: next() gives addresses there, which nobody touches here.
  BlockWalk(std::byte* start, i64 run, std::span<const Axis> axes);
  i64 left() const { return left_; }  // bytes
  i64 run() const { return run_; }    // bytes of a run; the whole block when it is contiguous
  bool contiguous() const { return axes_.empty(); }
  std::byte* start() const { return at_; }  // before the first step
  std::span<const Axis> axes() const { return axes_; }

  // The next bytes that lie together: the rest of the run, at most `limit`; advances.
  std::span<std::byte> next(i64 limit);
  void pack(std::byte* to, i64 bytes);
  void unpack(const std::byte* from, i64 bytes);

 private:
  void step(i64 runs);  // along the innermost axis, not beyond its end
  template <bool in>
  void move(std::byte* buffer, i64 bytes);

  std::byte* at_ = nullptr;  // start of the run
  i64 run_ = 0, within_ = 0, left_ = 0;
  SmallVec<Axis, 6> axes_;
};

// Bytes around the start of a walk in which all of its runs lie, [low, high).
struct Extent {
  i64 low, high;
};
TESSERA_API Extent extent_of(i64 run, std::span<const BlockWalk::Axis> axes);

// The next bytes of one walk to where the other one stands.
TESSERA_API void copy_bytes(BlockWalk& from, BlockWalk& to, i64 bytes);
// Equal bytes on both sides; shapes, strides and item sizes may differ.
TESSERA_API void copy_block(const Block& from, const Block& to);

}  // namespace tessera
