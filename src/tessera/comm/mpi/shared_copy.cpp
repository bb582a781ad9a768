// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/shared_copy.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "tessera/comm/mpi/past_cache.hpp"
#include "tessera/comm/mpi/shared_file.hpp"

namespace tessera::mpi {
namespace {

// Of what is read from one rank at a time, and written to all at once.
constexpr i64 window_bytes = 32 << 20, write_window_bytes = 4 << 20;
constexpr i64 shortest_step = 16 << 10, longest_step = 1 << 20, shortest_streamed_run = 1 << 10;

// The pages of another process, open until this one ends.
int pages_of(pid_t process, i64 file) {
  static auto& found = *new FoundOf<int>;
  return found(process, [&] { return open_shared_file(SharedPages::file_name, process, file); });
}

// The next runs of a walk to one place after the other, of blocks that are past the cache.
void stream_runs(BlockWalk& from, std::byte* to, i64 bytes) {
  while (bytes > 0) {
    const std::span<std::byte> piece = from.next(bytes);
    copy_past_cache(to, piece.data(), piece.size());
    to += piece.size();
    bytes -= static_cast<i64>(piece.size());
  }
}

}  // namespace

Window::Window(int file, i64 low, i64 high, bool writable)
    : low_(low / huge_page * huge_page),
      bytes_(static_cast<std::size_t>((high - low_ + huge_page - 1) / huge_page * huge_page)) {
  void* found =
      mmap(nullptr, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, low_);
  if (found != MAP_FAILED) data_ = static_cast<std::byte*>(found);
}

Window::~Window() {
  if (data_) munmap(data_, bytes_);
}

SharedRead::SharedRead(const Offer& offer, const Block& to)
    : file_(pages_of(static_cast<pid_t>(offer.process), offer.pages.file)),
      at_(offer.pages.offset),
      rows_(offer.run),
      stride_(1),
      row_bytes_(1),
      run_(offer.run),
      row_{0, 1},
      target_(to),
      past_cache_(target_.contiguous() && offer.bytes >= past_cache_bytes &&
                  offer.run >= shortest_streamed_run) {
  const std::span axes(offer.axes, static_cast<std::size_t>(offer.ndim));
  for (const BlockWalk::Axis& axis : axes) axes_.push_back({axis.count, axis.stride, 0});
  if (axes.empty()) return;
  rows_ = axes.front().count;
  stride_ = axes.front().stride;
  row_bytes_ = offer.bytes / rows_;
  row_ = extent_of(run_, axes.subspan(1));
}

// Rows that each take more than a window are seen all at once: to go through them one by one would
// map the same pages again and again.
i64 SharedRead::rows_in_window() const {
  const i64 row = row_.high - row_.low;
  if (row > window_bytes || stride_ == 0) return rows_;
  return std::min(rows_, (window_bytes - row) / std::abs(stride_) + 1);
}

int SharedRead::step() {
  const i64 rows = rows_in_window(), reach = (rows - 1) * stride_;
  const Window window(file_, at_ + row_.low + std::min<i64>(reach, 0),
                      at_ + row_.high + std::max<i64>(reach, 0), false);
  if (!window) return errno;
  if (!axes_.empty()) axes_[0].count = rows;
  BlockWalk source(window.at(at_), axes_.empty() ? rows : run_, axes_);
  if (past_cache_)
    stream_runs(source, target_.next(source.left()).data(), source.left());
  else
    copy_bytes(source, target_, rows * row_bytes_);
  rows_ -= rows;
  at_ += rows * stride_;
  return 0;
}

std::optional<Room> Room::of(const Block& block, i64 process) {
  const BlockWalk walk(block);
  if (!walk.contiguous()) return std::nullopt;
  const auto pages = SharedPages::own().find(walk.start(), walk.left());
  return pages ? std::optional(Room{process, *pages}) : std::nullopt;
}

SharedWrite::SharedWrite(const Room& room, const Block& from)
    : file_(pages_of(static_cast<pid_t>(room.process), room.pages.file)),
      at_(room.pages.offset),
      end_(at_),
      last_(at_ + from.bytes()),
      source_(from),
      past_cache_(from.bytes() >= past_cache_bytes && source_.run() >= shortest_streamed_run) {}

// A step ends where a run does: the next rank's lies behind it.
SharedWrite::Step SharedWrite::step() {
  if (file_ < 0) return {0, EACCES};
  const i64 run = std::min(source_.run(), longest_step);
  const i64 bytes = std::min(std::max(run, shortest_step / run * run), source_.left());
  for (i64 left = bytes; left > 0;) {
    if (at_ == end_) {
      end_ = std::min(last_, at_ / huge_page * huge_page + write_window_bytes);
      window_.reset();
      if (!window_.emplace(file_, at_, end_, true)) return {0, errno};
    }
    const i64 here = std::min(left, end_ - at_);
    if (past_cache_)
      stream_runs(source_, window_->at(at_), here);
    else
      source_.pack(window_->at(at_), here);
    at_ += here;
    left -= here;
  }
  return {bytes, 0};
}

}  // namespace tessera::mpi
