// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/self.hpp"

#include <algorithm>

#include "tessera/comm/block.hpp"

namespace tessera {

OwnBlocks own_blocks(int rank, std::span<const Block> sends, std::span<const Block> receives) {
  const auto own = [rank](const Block& b) { return b.rank == rank && b.bytes() > 0; };
  const auto from = std::find_if(sends.begin(), sends.end(), own);
  const auto to = std::find_if(receives.begin(), receives.end(), own);
  if (from == sends.end() || to == receives.end()) return {};
  return {&*from, &*to};
}

void copy_own_block(int rank, std::span<const Block> sends, std::span<const Block> receives) {
  if (const auto [from, to] = own_blocks(rank, sends, receives); from) copy_block(*from, *to);
}

void SelfTransport::exchange(std::span<const Block> sends, std::span<const Block> receives) {
  copy_own_block(0, sends, receives);
}

std::unique_ptr<Transport> SelfTransport::split(int, int) {
  return std::make_unique<SelfTransport>();
}

}  // namespace tessera
