// SPDX-License-Identifier: Apache-2.0
#pragma once
// Large blocks where one side lies in pages that its process shares: the other side maps them, a
// window at a time, and copies as if both were its own. No call of the kernel for a run, whatever
// the strides. Whose pages are mapped is a matter of the runs (a side that is contiguous is mapped
// by one rank only, and the strided side is walked by the rank that has it in its cache), and of
// who has less to do.
//   SharedRead read(offer, block);   while (!read.done()) read.step();

#include <optional>

#include "tessera/comm/mpi/single_copy.hpp"

namespace tessera::mpi {

// Pages of another process, mapped for as long as this lives: they count as memory of this one,
// too.
class Window {
 public:
  Window(int file, i64 low, i64 high, bool writable);  // offsets in the file
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  explicit operator bool() const { return data_ != nullptr; }
  std::byte* at(i64 offset) const { return data_ + (offset - low_); }

 private:
  i64 low_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

// From the pages of the sender.
class SharedRead {
 public:
  SharedRead(const Offer& offer, const Block& to);
  explicit operator bool() const { return file_ >= 0; }  // those pages can be seen
  bool done() const { return rows_ == 0; }
  // Copies what one window shows; 0, or the number of the error.
  int step();

 private:
  i64 rows_in_window() const;

  int file_;
  i64 at_;                                    // offset of the next row
  i64 rows_, stride_, row_bytes_, run_;       // along the outermost axis
  Extent row_;                                // where the runs of a row lie, from its start
  SmallVec<BlockWalk::Axis, max_rank> axes_;  // all of them; none: a row is a byte
  BlockWalk target_;
  bool past_cache_;
};

// Where a receiver has room for a block, in one piece.
struct Room {
  i64 process = 0;
  SharedPages::Place pages{-1, 0};
  // That of a block, where it lies so in shared pages of this process.
  static std::optional<Room> of(const Block& block, i64 process);
};

// Into the pages of the receiver.
class SharedWrite {
 public:
  SharedWrite(const Room& room, const Block& from);
  bool done() const { return source_.left() == 0; }
  // Copies a run, or a few short ones.
  struct Step {
    i64 bytes;
    int error;  // its number, or 0
  };
  Step step();

 private:
  int file_;
  i64 at_, end_;  // offsets of the next byte, and of the end of the window
  i64 last_;      // of the room
  std::optional<Window> window_;
  BlockWalk source_;
  bool past_cache_;
};

}  // namespace tessera::mpi
