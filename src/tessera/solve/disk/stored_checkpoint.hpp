// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vectors of a checkpoint whose solve is on disk: a file each beside that of the scalars, in one
// of two sets. A checkpoint is written into the set that the last one does not name, then the file
// of the scalars, which names it, takes the place of the old one, and the old set goes: whenever the
// process ends, one whole set is there.
//   write_vectors("run.npz", 1, kept, budget);   // run.npz.x.1, run.npz.r.1, …

#include <optional>
#include <string>
#include <vector>

#include "tessera/array/npz.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera {

using NamedStores = std::vector<std::pair<std::string, streaming::StorePtr>>;

// What the file of the scalars says of the vectors.
struct StoredSet {
  i64 set = 0;
  i64 budget =
      0;  // the bytes that passes may hold: sums are added in an order that follows from it
};
std::pair<std::string, Array> entry_of(const StoredSet& s);
// IoError where the arrays of a checkpoint do not say it.
StoredSet stored_set_of(std::string_view who, const std::string& path, const NamedArrays& arrays);
// Of the file at a path, before anything of it is trusted; nothing where it does not say so.
std::optional<i64> budget_of_checkpoint(const std::string& path);

// Nothing of the set stays where it fails.
void write_vectors(const std::string& path, i64 set, const NamedStores& vectors, i64 budget);
void remove_vectors(const std::string& path, i64 set, const NamedStores& vectors) noexcept;
// IoError for files that are not there or are of another shape or dtype, and where numbers are not
// finite, if they must be.
void read_vectors(std::string_view who, const std::string& path, i64 set,
                  const NamedStores& vectors, i64 budget, bool finite);

}  // namespace tessera
