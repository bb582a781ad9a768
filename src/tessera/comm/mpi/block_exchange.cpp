// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/block_exchange.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "tessera/comm/mpi/transfer.hpp"
#include "tessera/comm/mpi/wait_policy.hpp"
#include "tessera/comm/self.hpp"

namespace tessera::mpi {
namespace {

// Memory of all packed pieces that one exchange may have under way.
constexpr i64 pieces_bytes = 64 << 20;

i64 piece_bytes(const Group& group) {
  return std::clamp<i64>(pieces_bytes / (4 * static_cast<i64>(group.members.size())), 256 << 10,
                         2 << 20);
}

// The block that stays, while the others are waited for.
class OwnCopy {
 public:
  explicit OwnCopy(const OwnBlocks& own) {
    if (!own.from) return;
    from_.emplace(*own.from);
    to_.emplace(*own.to);
  }
  bool done() const { return !from_ || from_->left() == 0; }
  void advance() {
    const i64 bytes = std::min(from_->left(), step_);
    step_ = std::min(2 * step_, longest_step);
    copy_bytes(*from_, *to_, bytes);
  }

 private:
  // Short ones first, as the others' offers are about to come; each look at them takes its time.
  static constexpr i64 longest_step = 8 << 20;
  i64 step_ = 128 << 10;
  std::optional<BlockWalk> from_, to_;
};

}  // namespace

void exchange_blocks(const Group& group, const tessera::Stream* stream,
                     std::span<const Block> sends, std::span<const Block> receives) {
  std::deque<Receiving> in;
  std::deque<Sending> out;
  const auto abandon = [&] {
    for (Receiving& r : in) r.abandon();
    for (Sending& s : out) s.abandon();
  };
  const auto link = [&](const Block& b) {
    const int member = group.members[static_cast<std::size_t>(b.rank)];
    SharedWindow* window = stream ? nullptr : group.world.window();
    if (window && !window->reaches(member)) window = nullptr;
    return Link{group.world, group.comm, b.rank, member, window, piece_bytes(group)};
  };
  const auto travels = [&](const Block& b) { return b.rank != group.rank && b.bytes() > 0; };
  try {
    for (const Block& b : receives)
      if (travels(b)) in.emplace_back(link(b), b, group.operation);
    for (const Block& b : sends)
      if (travels(b)) out.emplace_back(link(b), b);
    if (stream) copy_own_block(group.rank, *stream, sends, receives);
    OwnCopy own(stream ? OwnBlocks{} : own_blocks(group.rank, sends, receives));
    WaitPolicy wait(group.world, group.members, group.operation);
    std::vector<int> open;
    for (;;) {
      bool moved = false, all = own.done();
      open.clear();
      const auto look = [&](auto& transfer) {
        if (!transfer.done()) moved |= transfer.advance();
        if (transfer.done()) return;
        all = false;
        if (wait.long_wait()) open.push_back(transfer.rank());
      };
      for (Receiving& r : in) look(r);
      for (Sending& s : out) look(s);
      if (all) return;
      if (!moved && !own.done()) {
        own.advance();
        moved = true;
      }
      moved ? wait.progress() : wait.pause(open);
    }
  } catch (...) {
    abandon();
    throw;
  }
}

}  // namespace tessera::mpi
