// SPDX-License-Identifier: Apache-2.0
#pragma once
// What reading (gather.cpp) and writing (assign.cpp) through a key have in common. Not for use
// outside this folder.
//   IndexPlan plan = plan_key(x, key);   std::vector<Array> at = checked_positions(x, plan);

#include <vector>

#include "tessera/array/index.hpp"

namespace tessera {

// The host may read and write the memory of this array's device directly.
bool on_host(const Array& x);
// resolve(), with the devices of the index arrays checked and masks expanded.
IndexPlan plan_key(const Array& x, const Index& key);
// The plan's arrays as int64, broadcast to plan.lead, checked against the bounds.
std::vector<Array> checked_positions(const Array& x, const IndexPlan& plan);
// As many positions as a kernel takes: those beyond are joined to one, over an axis that counts
// elements of the storage. `view` has the indexed axes first; returned is the layout that goes with
// the joined positions.
Layout join_positions(std::vector<Array>& positions, const Layout& view);
// Array number k must lie within [-sizes[k], sizes[k]); axes[k] is the axis that the text names.
void check_bounds(std::span<const Array> positions, std::span<const i64> sizes,
                  std::span<const i64> axes);
// The key is one mask of exactly x's shape; null when it is anything else.
const Array* full_mask(const Array& x, const Index& key);
// x[at] for a line and few int64 positions, both on the cpu, without a plan; false where they are
// something else, or lie outside: the general way says so.
bool take_few(const Array& x, const Array& at, Array& out);
// A new array: what `plan` picks from x.
Array gather_plan(const Array& x, const IndexPlan& plan);

// ShapeError unless a value of rank 0 or 1 can go to the n true elements of a mask.
void check_mask_count(const Array& value, i64 n);
// One mask of x's shape, on the host. One value goes everywhere, several in order.
Array read_masked(const Array& x, const Array& mask);
void write_masked(const Array& x, const Array& mask, const Array& value);
// One value to those elements of a dense line on the host whose bits are set, 64 in a word.
void write_by_bits(const Array& x, std::span<const std::uint64_t> bits, const Array& value);

}  // namespace tessera
