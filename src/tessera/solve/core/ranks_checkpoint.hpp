// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of solves over ranks: each rank writes a file of its own beside the one that was
// named, and when all are written that one is replaced and says which they are. Killed at any
// moment, what it names is whole. Resumed on as many ranks as wrote it.
//   write_checkpoint(comm, path, saved);   auto s = read_checkpoint(comm, "cg", path, facts);

#include "tessera/comm/communicator.hpp"
#include "tessera/solve/core/checkpoint.hpp"

namespace tessera {

// Collective; an error of one rank is that of all, and the checkpoint before it stays.
void write_checkpoint(const Communicator& comm, const std::string& path, const Saved& saved);
// As read_checkpoint of one rank. Errors are the same on all ranks.
std::optional<Saved> read_checkpoint(const Communicator& comm, std::string_view who,
                                     const std::string& path, const std::vector<Fact>& facts);

}  // namespace tessera
