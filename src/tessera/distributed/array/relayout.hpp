// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving an array from one distribution to another. In either distribution a rank holds a box of the
// array (an interval of one axis), so what rank r sends to rank q is the intersection of r's old
// box and q's new one: each element travels at most once, straight to where it is wanted, and
// nothing is asked. A Relayout is that as a value: the same pieces are counted, and sent. It is
// resplit, balance, redistribute, gather, and the exchanges of slices.
//   const Relayout move(x, {1, part});   move.movement(size_of(x.dtype())).bytes();
//   Array mine = move.run(x.local(), x.dtype(), x.comm());

#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// An interval of `axis`, all of the others. An empty interval: the rank holds nothing. axis < 0:
// the rank holds everything.
struct Box {
  i64 axis = -1, begin = 0, end = 0;
};
using Boxes = std::vector<Box>;  // one per rank

TESSERA_API Boxes boxes_of(const Shape& shape, const Distribution& distribution, int ranks);
TESSERA_API Boxes boxes_on(int owner, int ranks);  // everything on one rank
// Where an array is now: split, on the one rank that owns it, or everywhere.
TESSERA_API Boxes boxes_of(const DNDarray& x);

enum class Pattern : std::uint8_t {
  to_all,      // every rank to every other one, the same
  from_owner,  // one rank to every other one
  pairs        // each rank to those that need something of it, to each something else
};
TESSERA_API std::string_view name(Pattern pattern);

// What leaves each rank.
struct TESSERA_API Movement {
  Pattern pattern = Pattern::pairs;
  i64 messages = 0;                           // of all ranks
  std::vector<i64> sent;                      // bytes by rank
  i64 bytes() const;                          // of all ranks
  void send(int rank, i64 count, i64 bytes);  // so many messages with so many bytes together
};

class TESSERA_API Relayout {
 public:
  // `from` may be everything on every rank: then nothing is sent.
  Relayout(Shape shape, Boxes from, Boxes to);
  Relayout(const DNDarray& x, Boxes to) : Relayout(x.shape(), boxes_of(x), std::move(to)) {}
  Relayout(const DNDarray& x, const Distribution& to)
      : Relayout(x, boxes_of(x.shape(), to, x.comm().size())) {}

  // Elements begin, begin + size of every axis, which one rank sends to another, or keeps.
  struct Piece {
    Shape begin, size;
    i64 elements() const { return count_of(size); }
    bool empty() const { return elements() == 0; }
  };
  Piece piece(int from, int to) const;
  // A piece inside the old block of a rank, and inside the new one.
  Array in_old(const Array& block, int rank, const Piece& piece) const;
  Array in_new(const Array& block, int rank, const Piece& piece) const;
  Shape new_shape(int rank) const;

  Pattern pattern() const;
  Movement movement(i64 item) const;  // elements of `item` bytes
  Movement movement_in_bits() const;  // eight elements in a byte of each message

  // This rank's new box, dense, on the device of `mine`, which has the shape of this rank's old
  // box. Where the old box is empty only its device matters. Between devices other than the host
  // large blocks go in pieces, by comm.lane() where there is one, else through pinned memory: more
  // messages than movement() says, as many bytes. Either all ranks are on the host or none.
  Array run(const Array& mine, DType dtype, const Communicator& comm) const;
  // The same into memory that exists (any strides, apart from `mine`), without a temporary of its
  // size on the host.
  void run_into(const Array& mine, const Array& out, const Communicator& comm) const;

 private:
  template <class Bytes>
  Movement counted(Bytes bytes_of) const;
  bool is_gather_of_rows() const;
  bool is_broadcast() const;
  void gather_rows(const Array& mine, const Array& out, const Communicator& comm) const;

  Shape shape_;
  Boxes from_, to_;
  int source_;  // the one rank that sends for those that hold everything; -1: nobody does
};

// What this rank gets when x moves into these boxes (collective).
TESSERA_API Array relayout(const DNDarray& x, Boxes to);

}  // namespace tessera::dist
