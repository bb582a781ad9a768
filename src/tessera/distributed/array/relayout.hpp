// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving an array from one distribution to another. In either distribution a rank holds a box of the
// array (an interval of one axis), so what rank r sends to rank q is the intersection of r's old
// box and q's new one: each element travels at most once, straight to where it is wanted, and
// nothing is asked. This one function is resplit, balance, redistribute, gather, and the exchanges
// of slices.
//   Boxes from = boxes_of(shape, x.distribution(), p), to = boxes_of(shape, {1, part}, p);
//   Array mine = relayout(x.local(), shape, x.dtype(), from, to, comm);

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

// What leaves each rank; nothing is sent. `from` may be everything on every rank: then nothing is.
struct Movement {
  i64 messages = 0, bytes = 0;  // of all ranks
  std::vector<i64> sent;        // bytes by rank
};
TESSERA_API Movement movement(const Shape& shape, i64 item, const Boxes& from, const Boxes& to);

// This rank's new box, dense, on the device of `mine`. `mine` has the shape of this rank's old box.
// Where the old box is empty only its device matters. Between devices other than the host large
// blocks go in pieces, by comm.lane() where there is one, else through pinned memory: more messages
// than movement() says, as many bytes. Either all ranks are on the host or none.
TESSERA_API Array relayout(const Array& mine, const Shape& shape, DType dtype, const Boxes& from,
                           const Boxes& to, const Communicator& comm);
// The same into memory that exists (any strides, apart from `mine`), without a temporary of its
// size on the host.
TESSERA_API void relayout_into(const Array& mine, const Shape& shape, const Boxes& from,
                               const Array& out, const Boxes& to, const Communicator& comm);

}  // namespace tessera::dist
