// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/block_exchange.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "tessera/comm/mpi/patience.hpp"
#include "tessera/comm/mpi/transfer.hpp"
#include "tessera/comm/mpi/watch.hpp"
#include "tessera/comm/self.hpp"

namespace tessera::mpi {
namespace {

// Memory of all packed pieces that one exchange may have under way.
constexpr i64 pieces_bytes = 64 << 20;

i64 piece_bytes(const Group& group) {
  return std::clamp<i64>(pieces_bytes / (4 * static_cast<i64>(group.members.size())), 256 << 10,
                         2 << 20);
}

// Some runs to each rank that has given us room, in turn: whoever sends columns reads its rows from
// end to end so. That needs all of them, and they are waited for, but not for long.
class Writing {
 public:
  explicit Writing(std::deque<Sending>& sendings) : sendings_(sendings) {}
  bool advance() {
    const auto writes = [](const Sending& s) { return s.writes(); };
    if (std::none_of(sendings_.begin(), sendings_.end(), writes)) return false;
    const auto awaits = [](const Sending& s) { return s.awaits_answer(); };
    if (!late_ && std::any_of(sendings_.begin(), sendings_.end(), awaits)) {
      if (since_ == 0) since_ = seconds_now();
      late_ = seconds_now() - since_ > patience;
      if (!late_) return false;
    }
    i64 done = 0;
    for (i64 turn = 1; turn > 0 && done < look_bytes; done += turn) {
      turn = 0;
      for (Sending& s : sendings_)
        if (s.writes()) turn += s.write();
    }
    return true;
  }

 private:
  static constexpr double patience = 2e-3;
  static constexpr i64 look_bytes = 16 << 20;  // a look at all others costs as much as some runs
  std::deque<Sending>& sendings_;
  double since_ = 0;
  bool late_ = false;
};

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

i64 bytes_of(std::span<const Block> blocks) {
  i64 bytes = 0;
  for (const Block& b : blocks) bytes += b.bytes();
  return bytes;
}

}  // namespace

void exchange_blocks(const Group& group, const tessera::Stream* stream,
                     std::span<const Block> sends, std::span<const Block> receives) {
  std::deque<Receiving> in;
  std::deque<Sending> out;
  const auto abandon = [&] {
    for (Receiving& r : in) r.abandon();
    for (Sending& s : out) s.abandon();
  };
  const i64 load = bytes_of(receives);
  const auto link = [&](const Block& b) {
    const int member = group.members[static_cast<std::size_t>(b.rank)];
    return Link{
        group.world,        group.comm, b.rank, !stream && group.world.peer(member).readable,
        piece_bytes(group), load};
  };
  const auto travels = [&](const Block& b) { return b.rank != group.rank && b.bytes() > 0; };
  try {
    for (const Block& b : receives)
      if (travels(b)) in.emplace_back(link(b), b, group.operation);
    for (const Block& b : sends)
      if (travels(b)) out.emplace_back(link(b), b);
    if (stream) copy_own_block(group.rank, *stream, sends, receives);
    OwnCopy own(stream ? OwnBlocks{} : own_blocks(group.rank, sends, receives));
    Patience patience(group.world, group.members, group.operation);
    Writing writing(out);
    std::vector<int> open;
    for (;;) {
      bool moved = writing.advance(), all = own.done();
      open.clear();
      const auto look = [&](auto& transfer) {
        if (!transfer.done()) moved |= transfer.advance();
        if (transfer.done()) return;
        all = false;
        if (patience.long_wait()) open.push_back(transfer.rank());
      };
      for (Receiving& r : in) look(r);
      for (Sending& s : out) look(s);
      if (all) return;
      if (!moved && !own.done()) {
        own.advance();
        moved = true;
      }
      moved ? patience.progress() : patience.pause(open);
    }
  } catch (...) {
    abandon();
    throw;
  }
}

}  // namespace tessera::mpi
