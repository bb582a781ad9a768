// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transport of a rank alone: blocks to itself are copies, everything else has nobody to wait
// for. It has no state, so that threads may share one.
//   Communicator comm(std::make_unique<SelfTransport>());

#include "tessera/comm/transport.hpp"

namespace tessera {

class TESSERA_API SelfTransport final : public Transport {
 public:
  std::string_view name() const override { return "self"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override;
  std::unique_ptr<Transport> split(int colour, int key) override;
};

// The two sides of what stays on `rank` in an exchange; null where nothing does.
struct OwnBlocks {
  const Block* from = nullptr;
  const Block* to = nullptr;
};
TESSERA_API OwnBlocks own_blocks(int rank, std::span<const Block> sends,
                                 std::span<const Block> receives);
// The copies of an exchange that stay on `rank`. The Communicator has seen that they fit.
TESSERA_API void copy_own_block(int rank, std::span<const Block> sends,
                                std::span<const Block> receives);

}  // namespace tessera
