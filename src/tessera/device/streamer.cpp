// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/streamer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

constexpr i64 worth_streaming = i64{1} << 20, worth_a_thread = i64{256} << 10, page = 4096;
constexpr i64 least_pieces =
    4;  // what is short is cut as well: the first and the last travel alone

std::atomic<i64> buffer_size = default_stream_buffer;

struct HostRows {
  char* data;
  i64 pitch;
};

void copy_rows(HostRows to, HostRows from, i64 row_bytes, i64 rows) {
  if (rows == 1 || (to.pitch == row_bytes && from.pitch == row_bytes))
    return parallel_for(rows * row_bytes, worth_a_thread, [&](i64 begin, i64 end) {
      std::memcpy(to.data + begin, from.data + begin, static_cast<std::size_t>(end - begin));
    });
  parallel_for(rows, std::max<i64>(worth_a_thread / row_bytes, 1), [&](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r)
      std::memcpy(to.data + r * to.pitch, from.data + r * from.pitch,
                  static_cast<std::size_t>(row_bytes));
  });
}

// The rings that somebody holds.
struct Rings {
  std::mutex mutex;
  std::vector<std::pair<Device, std::weak_ptr<Staging>>> known;
};
Rings& rings() {
  static auto* made = new Rings;  // never destroyed, as home streams are not
  return *made;
}

}  // namespace

RowParts::RowParts(i64 row_count, i64 bytes_of_row, i64 most)
    : rows(row_count),
      row_bytes(bytes_of_row),
      width(std::clamp<i64>(most, 1, std::max<i64>(bytes_of_row, 1))),
      height(std::clamp<i64>(most / width, 1, std::max<i64>(row_count, 1))) {}

RowParts::Part RowParts::operator[](i64 k) const {
  const i64 row = k / across() * height, first = k % across() * width;
  return {row, std::min(height, rows - row), first, std::min(width, row_bytes - first)};
}

i64 stream_buffer_size() { return buffer_size.load(std::memory_order_relaxed); }
void set_stream_buffer_size(i64 bytes) { buffer_size.store(bytes, std::memory_order_relaxed); }

bool Staging::is_worth(i64 bytes) {
  return bytes >= std::min(worth_streaming, std::max(stream_buffer_size(), page));
}

std::shared_ptr<Staging> Staging::of(Device device) {
  const i64 asked = stream_buffer_size();
  if (asked == 0) return nullptr;
  const i64 bytes = std::max(asked, page);
  Rings& all = rings();
  std::vector<std::shared_ptr<Staging>>
      held;  // by others, perhaps no more: dropped without the lock
  {
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.known, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [owner, known] : all.known)
      if (auto ring = known.lock()) {
        if (owner == device && bytes_for(ring->buffer_bytes()) == bytes_for(bytes)) return ring;
        held.push_back(std::move(ring));
      }
  }
  try {
    auto made = std::make_shared<Staging>(device, bytes);
    const std::lock_guard lock(all.mutex);
    all.known.emplace_back(device, made);
    return made;
  } catch (const OutOfMemory&) {
    return nullptr;
  }
}

i64 Staging::bytes_for(i64 buffer_bytes) {
  return 2 * static_cast<i64>(buffers) * ((buffer_bytes + page - 1) / page * page);
}

Staging::Staging(Device device, i64 buffer_bytes)
    : bytes_((buffer_bytes + page - 1) / page * page),
      memory_(Storage::pinned(device.kind, bytes_for(buffer_bytes))) {
  there_.memory = static_cast<char*>(memory_.data());
  back_.memory = there_.memory + static_cast<i64>(buffers) * bytes_;
  for (Ring* ring : {&there_, &back_})
    for (RepeatedEvent& e : ring->travelled) e = RepeatedEvent(device);
}

Staging::~Staging() {
  for (Ring* ring : {&there_, &back_})
    for (const RepeatedEvent& e : ring->travelled) settle(e);
}

// What travelled there is over, whatever became of it: who asked for it hears of its failure.
void Staging::settle(const RepeatedEvent& event) noexcept {
  try {
    event.sync();
  } catch (...) {
  }
}

void Staging::fill_and_send(const Stream& stream, i64 parts, const Touch& fill, const Touch& send) {
  const std::lock_guard lock(there_.mutex);
  for (i64 k = 0; k < parts; ++k) {
    const std::size_t slot = there_.next++ % buffers;
    settle(there_.travelled[slot]);
    fill(k, buffer(there_, slot));
    send(k, buffer(there_, slot));
    there_.travelled[slot].record(stream);
  }
}

void Staging::send_and_empty(const Stream& stream, i64 parts, const Touch& send,
                             const Touch& empty) {
  const std::lock_guard lock(back_.mutex);
  const std::size_t first = back_.next;
  const auto slot_of = [&](i64 k) { return (first + static_cast<std::size_t>(k)) % buffers; };
  for (i64 k = 0, sent = 0; k < parts; ++k) {
    for (; sent < std::min(parts, k + static_cast<i64>(buffers)); ++sent) {
      const std::size_t slot = slot_of(sent);
      settle(back_.travelled[slot]);
      send(sent, buffer(back_, slot));
      back_.travelled[slot].record(stream);
      back_.next = first + static_cast<std::size_t>(sent) + 1;
    }
    back_.travelled[slot_of(k)].sync();
    empty(k, buffer(back_, slot_of(k)));
  }
}

void Staging::copy(const Stream& stream, const Copy& c) {
  const bool flat = c.rows == 1 || (c.to_pitch == c.row_bytes && c.from_pitch == c.row_bytes);
  const i64 rows = flat ? 1 : c.rows, row_bytes = flat ? c.bytes() : c.row_bytes;
  const i64 to_pitch = flat ? row_bytes : c.to_pitch, from_pitch = flat ? row_bytes : c.from_pitch;
  const i64 share = (c.bytes() / least_pieces + page - 1) / page * page;
  const RowParts parts(rows, row_bytes, std::clamp(share, page, bytes_));
  const auto* from = static_cast<const char*>(c.from);
  auto* to = static_cast<char*>(c.to);
  const bool comes_back = c.to_device == cpu;
  const auto send = [&](i64 k, void* buffer) {
    const RowParts::Part p = parts[k];
    Copy part = c;
    part.row_bytes = p.bytes;
    part.rows = p.rows;
    part.to = comes_back ? buffer : to + p.row * to_pitch + p.first;
    part.from = comes_back ? from + p.row * from_pitch + p.first : buffer;
    part.to_pitch = comes_back ? p.bytes : to_pitch;
    part.from_pitch = comes_back ? from_pitch : p.bytes;
    stream.copy(part);
  };
  if (comes_back)
    return send_and_empty(stream, parts.count(), send, [&](i64 k, void* buffer) {
      const RowParts::Part p = parts[k];
      copy_rows({to + p.row * to_pitch + p.first, to_pitch}, {static_cast<char*>(buffer), p.bytes},
                p.bytes, p.rows);
    });
  fill_and_send(
      stream, parts.count(),
      [&](i64 k, void* buffer) {
        const RowParts::Part p = parts[k];
        copy_rows({static_cast<char*>(buffer), p.bytes},
                  {const_cast<char*>(from) + p.row * from_pitch + p.first, from_pitch}, p.bytes,
                  p.rows);
      },
      send);
}

bool stream_copy(const Stream& stream, void* to, Device to_device, const void* from,
                 Device from_device, i64 bytes) {
  if (!Staging::is_worth(bytes)) return false;
  const std::shared_ptr<Staging> ring = Staging::of(stream.device());
  if (!ring) return false;
  ring->copy(stream, {.to = to,
                      .to_device = to_device,
                      .from = from,
                      .from_device = from_device,
                      .row_bytes = bytes});
  stream.sync();
  return true;
}

}  // namespace tessera
