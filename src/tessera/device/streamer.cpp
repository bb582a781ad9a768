// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/streamer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "tessera/base/error.hpp"
#include "tessera/device/storage.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

constexpr i64 worth_streaming = i64{1} << 20, worth_a_thread = i64{256} << 10, page = 4096;
constexpr i64 least_pieces =
    4;  // what is short is cut as well: the first and the last travel alone

std::atomic<i64> buffer_size = 0;

void copy_on_host(char* to, const char* from, i64 bytes) {
  parallel_for(bytes, worth_a_thread, [&](i64 begin, i64 end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

struct Streamer {
  const Stream& stream;
  i64 bytes, piece;
  Storage buffers;  // two pieces
  std::array<Event, 2> travelled = {};

  char* buffer(i64 index) const { return static_cast<char*>(buffers.data()) + index % 2 * piece; }
  i64 pieces() const { return (bytes + piece - 1) / piece; }
  i64 size(i64 index) const { return std::min(piece, bytes - index * piece); }
  Event& event(i64 index) { return travelled[static_cast<std::size_t>(index % 2)]; }

  void send(char* to, Device device, const char* from) {
    for (i64 i = 0; i < pieces(); ++i) {
      event(i).wait();
      copy_on_host(buffer(i), from + i * piece, size(i));
      stream.copy(to + i * piece, device, buffer(i), cpu, size(i));
      event(i) = stream.record();
    }
    stream.sync();
  }

  void fetch(char* to, const char* from, Device device) {
    for (i64 i = 0; i <= pieces(); ++i) {
      if (i < pieces()) {  // its buffer was emptied two pieces ago
        stream.copy(buffer(i), cpu, from + i * piece, device, size(i));
        event(i) = stream.record();
      }
      if (i == 0) continue;
      event(i - 1).wait();
      copy_on_host(to + (i - 1) * piece, buffer(i - 1), size(i - 1));
    }
  }
};

}  // namespace

i64 stream_buffer_size() { return buffer_size.load(std::memory_order_relaxed); }
void set_stream_buffer_size(i64 bytes) { buffer_size.store(bytes, std::memory_order_relaxed); }

bool stream_copy(const Stream& stream, void* to, Device to_device, const void* from,
                 Device from_device, i64 bytes) {
  const i64 most = stream_buffer_size();
  if (most == 0 || bytes < worth_streaming) return false;
  const i64 share = (bytes / least_pieces + page - 1) / page * page,
            piece = std::max(page, std::min(most, share));
  Storage buffers;
  try {
    buffers = Storage::pinned(stream.device().kind, 2 * piece);
  } catch (const OutOfMemory&) {
    return false;
  }
  buffers.record_stream(stream);  // what travels when a copy fails is not handed out before
  Streamer streamer{stream, bytes, piece, std::move(buffers)};
  if (to_device == cpu)
    streamer.fetch(static_cast<char*>(to), static_cast<const char*>(from), from_device);
  else
    streamer.send(static_cast<char*>(to), to_device, static_cast<const char*>(from));
  return true;
}

}  // namespace tessera
