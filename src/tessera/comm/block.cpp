// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/block.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace tessera {
namespace {

// Runs one by one. Where their size is a constant, each is a load and a store.
template <bool in, class Size>
void move_each(Size size, std::byte* dense, std::byte* strided, i64 stride, i64 count) {
  const auto n = static_cast<std::size_t>(size);
  for (i64 k = 0; k < count; ++k, dense += n, strided += stride)
    in ? std::memcpy(strided, dense, n) : std::memcpy(dense, strided, n);
}

template <bool in>
void move_runs(i64 run, std::byte* dense, std::byte* strided, i64 stride, i64 count) {
  const auto of = [&](auto size) { move_each<in>(size, dense, strided, stride, count); };
  switch (run) {
    case 1: return of(std::integral_constant<int, 1>{});
    case 2: return of(std::integral_constant<int, 2>{});
    case 4: return of(std::integral_constant<int, 4>{});
    case 8: return of(std::integral_constant<int, 8>{});
    case 16: return of(std::integral_constant<int, 16>{});
    default: return of(run);
  }
}

}  // namespace

BlockWalk::BlockWalk(const Block& block) {
  const Layout& l = block.layout;
  left_ = block.bytes();
  if (left_ == 0) return;
  at_ = block.first + l.offset * block.item;
  run_ = block.item;
  for (i64 a = 0; a < l.ndim(); ++a) {
    if (l.shape[a] == 1) continue;
    const i64 stride = l.strides[a] * block.item;
    if (!axes_.empty() && axes_.back().stride == stride * l.shape[a]) {
      axes_.back() = {axes_.back().count * l.shape[a], stride, 0};
    } else {
      axes_.push_back({l.shape[a], stride, 0});
    }
  }
  if (!axes_.empty() && axes_.back().stride == run_) {
    run_ *= axes_.back().count;
    axes_.pop_back();
  }
}

void BlockWalk::step(i64 runs) {
  within_ = 0;
  for (i64 a = axes_.size() - 1; a >= 0; --a) {
    Axis& axis = axes_[a];
    axis.index += runs;
    at_ += runs * axis.stride;
    if (axis.index < axis.count) return;
    at_ -= axis.count * axis.stride;
    axis.index = 0;
    runs = 1;
  }
}

std::span<std::byte> BlockWalk::next(i64 limit) {
  const i64 n = std::min({limit, run_ - within_, left_});
  std::byte* start = at_ + within_;
  left_ -= n;
  within_ += n;
  if (within_ == run_ && left_ > 0) step(1);
  return {start, static_cast<std::size_t>(n)};
}

template <bool in>
void BlockWalk::move(std::byte* buffer, i64 bytes) {
  assert(bytes <= left_);
  while (bytes > 0) {
    if (within_ == 0 && bytes >= run_ && !axes_.empty()) {
      const Axis& inner = axes_.back();
      const i64 count = std::min(inner.count - inner.index, bytes / run_);
      move_runs<in>(run_, buffer, at_, inner.stride, count);
      buffer += count * run_;
      bytes -= count * run_;
      left_ -= count * run_;
      step(count);
      continue;
    }
    const std::span<std::byte> piece = next(bytes);
    in ? std::memcpy(piece.data(), buffer, piece.size())
       : std::memcpy(buffer, piece.data(), piece.size());
    buffer += piece.size();
    bytes -= static_cast<i64>(piece.size());
  }
}

void BlockWalk::pack(std::byte* to, i64 bytes) { move<false>(to, bytes); }
void BlockWalk::unpack(const std::byte* from, i64 bytes) {
  move<true>(const_cast<std::byte*>(from), bytes);
}

void copy_bytes(BlockWalk& from, BlockWalk& to, i64 bytes) {
  if (to.contiguous() && bytes > 0) return from.pack(to.next(bytes).data(), bytes);
  constexpr i64 long_run = 256;
  std::array<std::byte, 1 << 14> buffer;
  while (bytes > 0) {
    i64 moved = 0;
    if (from.run() >= long_run) {
      const std::span<std::byte> piece = from.next(bytes);
      moved = static_cast<i64>(piece.size());
      to.unpack(piece.data(), moved);
    } else {
      moved = std::min<i64>(bytes, static_cast<i64>(buffer.size()));
      from.pack(buffer.data(), moved);
      to.unpack(buffer.data(), moved);
    }
    bytes -= moved;
  }
}

void copy_block(const Block& from, const Block& to) {
  BlockWalk source(from), target(to);
  assert(source.left() == target.left());
  copy_bytes(source, target, source.left());
}

}  // namespace tessera
