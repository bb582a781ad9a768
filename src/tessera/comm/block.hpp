// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks over the bytes of a block, in row-major order of its layout, as runs that are contiguous in
// memory: what transports pack, unpack and copy. Axes that lie one inside the
// other are merged first, so that runs are as long as they can be. Nothing is allocated but the
// walk. Two blocks that are copied must not overlap.
//   BlockWalk walk(block);   walk.pack(buffer, std::min(walk.left(), chunk));

#include "tessera/comm/transport.hpp"

namespace tessera {

class TESSERA_API BlockWalk {
 public:
  explicit BlockWalk(const Block& block);
  i64 left() const { return left_; }  // bytes
  i64 run() const { return run_; }    // bytes of a run; the whole block when it is contiguous
  bool contiguous() const { return axes_.empty(); }

  // The next bytes that lie together: the rest of the run, at most `limit`; advances.
  std::span<std::byte> next(i64 limit);
  void pack(std::byte* to, i64 bytes);
  void unpack(const std::byte* from, i64 bytes);

 private:
  struct Axis {
    i64 count, stride, index;  // runs, bytes, position
  };
  void step(i64 runs);  // along the innermost axis, not beyond its end
  template <bool in>
  void move(std::byte* buffer, i64 bytes);

  std::byte* at_ = nullptr;  // start of the run
  i64 run_ = 0, within_ = 0, left_ = 0;
  SmallVec<Axis, 6> axes_;
};

// The next bytes of one walk to where the other one stands.
TESSERA_API void copy_bytes(BlockWalk& from, BlockWalk& to, i64 bytes);
// Equal bytes on both sides; shapes, strides and item sizes may differ.
TESSERA_API void copy_block(const Block& from, const Block& to);

}  // namespace tessera
