// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/intranode/staged_block.hpp"

#include <algorithm>
#include <new>

#include "tessera/comm/mpi/intranode/past_cache.hpp"

namespace tessera::mpi {
namespace {

constexpr i64 pieces = 2;
constexpr i64 piece_sizes[] = {256 << 10, 64 << 10};  // the smaller ones where many ranks share

}  // namespace

// Pieces that were put in, and taken out: a line of the cache each. The pieces follow.
struct PieceCounts {
  alignas(128) std::atomic<i64> filled{0};
  alignas(128) std::atomic<i64> emptied{0};
  std::byte* piece(i64 number, i64 bytes) {
    return reinterpret_cast<std::byte*>(this + 1) + number % pieces * bytes;
  }
};

StagedSend::StagedSend(SharedWindow& window, int rank, const Block& block)
    : window_(window), walk_(block) {
  for (const i64 bytes : piece_sizes) {
    staging_ = {window.take(static_cast<i64>(sizeof(PieceCounts)) + pieces * bytes), bytes};
    if (staging_.offset >= 0) break;
  }
  if (*this) counts_ = new (window.at(rank, staging_.offset)) PieceCounts;
}

StagedSend::~StagedSend() {
  if (*this) window_.give(staging_.offset);
}

bool StagedSend::done() const {
  return walk_.left() == 0 && counts_->emptied.load(std::memory_order_acquire) == filled_;
}

bool StagedSend::advance() {
  if (walk_.left() == 0 || counts_->emptied.load(std::memory_order_acquire) + pieces == filled_)
    return false;
  walk_.pack(counts_->piece(filled_, staging_.piece), std::min(walk_.left(), staging_.piece));
  counts_->filled.store(++filled_, std::memory_order_release);
  return true;
}

StagedReceive::StagedReceive(const SharedWindow& window, int rank, const Staging& staging,
                             const Block& block)
    : counts_(reinterpret_cast<PieceCounts*>(window.at(rank, staging.offset))),
      piece_(staging.piece),
      walk_(block),
      past_cache_(walk_.contiguous() && walk_.left() >= past_cache_bytes) {}

bool StagedReceive::advance() {
  if (counts_->filled.load(std::memory_order_acquire) == emptied_) return false;
  const std::byte* from = counts_->piece(emptied_, piece_);
  const i64 bytes = std::min(walk_.left(), piece_);
  if (past_cache_) {
    const std::span<std::byte> to = walk_.next(bytes);
    copy_past_cache(to.data(), from, to.size());
  } else {
    walk_.unpack(from, bytes);
  }
  counts_->emptied.store(++emptied_, std::memory_order_release);
  return true;
}

}  // namespace tessera::mpi
