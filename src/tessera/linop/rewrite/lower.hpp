// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chain does for an input of a known size: centred transforms become plain ones between
// phases, phases and weights merge and are multiplied where the array is smallest, transforms of
// padded arrays skip the zeros and those before a crop skip what is cut off.
//   record_parts(r, operators, x, y, false);

#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// The operators, in order, for an input of this shape and dtype on this device.
std::vector<NamedLinop> lowered(const std::vector<NamedLinop>& operators, const Shape& input,
                                DType dtype, Device device);
// Records them one after another, with temporaries between; `adds`: the result is added to y.
void record_parts(Recorder& r, const std::vector<NamedLinop>& operators, const View& x,
                  const View& y, bool adds);
// The operator or a part of it waits for an event that the plan does not start with: then it
// records itself, and is not merged with others.
bool waits_inside(const Recorder& r, const NamedLinop& a);
// A view where `next` computes: beside arrays that are fetched it streams as they do (Note
// [streaming] of the recorder), else it is sent once and kept.
View resident_for(Recorder& r, const NamedLinop& next, const View& v, Device device);

}  // namespace tessera
