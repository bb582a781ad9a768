// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small helpers of the functions of distributed arrays: local arrays that change hands, stand-ins
// of which only shape and dtype count, views made alike on every rank. For intervals of one axis
// there is relayout.
//   exchange({{1, x.slice(0, 0, 3)}}, {{2, buffer}}, comm.lane(x.device()), comm);

#include <future>
#include <vector>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/distributed/array/relayout_stage.hpp"

namespace tessera::dist {

// As exchange_parts, where parts may be empty (no message then) or of this rank itself (a copy).
// What is sent does not overlap what is received.
void exchange(const std::vector<TravelPart>& sends, const std::vector<TravelPart>& receives,
              const DeviceLane* lane, const Communicator& comm);

// The same while this thread computes: another one makes an exchange of much host memory, this one
// any other. Until wait() the group makes no other call, what is sent is not changed and what is
// received not read.
class Moving {
 public:
  Moving(std::vector<TravelPart> sends, std::vector<TravelPart> receives, const DeviceLane* lane,
         const Communicator& comm);
  void wait();  // throws what the exchange threw

 private:
  std::future<void> done_;
};

// An array of a shape in which every element is the same one: what a local function is asked with
// when only its errors and the shape or dtype of its answer matter. Takes no memory.
Array stand_in(const Shape& shape, DType dtype);

// The same with this layout, of memory that is not there; of x: as it would lie in one memory.
Array stand_in(const Layout& layout, DType dtype);
inline Array stand_in(const DNDarray& x) { return stand_in(x.whole(), x.dtype()); }

// A view of x: `f` makes it of the local part, and of a stand-in for the whole. For an array that
// one rank owns, only that rank has a part.
template <class F>
DNDarray view_of(const DNDarray& x, const Distribution& distribution, F&& f) {
  const bool elsewhere = x.owner() && *x.owner() != x.comm().rank();
  return x.with(elsewhere ? Array() : f(x.resident()), f(stand_in(x)).layout(), distribution);
}

}  // namespace tessera::dist
