// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/packed_counts.hpp"

namespace tessera::dist {

std::vector<std::vector<i64>> allgather_counts(std::span<const i64> mine, i64 most,
                                               const Communicator& comm) {
  const CountPacking packing(most);
  const std::vector<std::byte> packed = packing.pack(mine);
  std::vector<std::byte> all(packed.size() * to_index(comm.size()));
  comm.allgather(packed.data(), static_cast<i64>(packed.size()), all.data());
  std::vector<std::vector<i64>> numbers;
  numbers.reserve(to_index(comm.size()));
  for (int r = 0; r < comm.size(); ++r)
    numbers.push_back(packing.unpack(all.data() + to_index(r) * packed.size(), std::ssize(mine)));
  return numbers;
}

}  // namespace tessera::dist
