// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory that is not pinned, on its way to an accelerator and back: through a ring of pinned
// buffers for each direction, so that all threads of the host fill or empty some of them while
// others travel at the speed of the link. Left to itself the driver copies on one thread. What goes
// there has been read when copy() returns, and may still travel; what comes back is there.
//   auto ring = Staging::of(gpu);   if (ring) ring->copy(stream, {.to = there, .to_device = gpu, …});

#include <array>
#include <functional>
#include <mutex>

#include "tessera/device/storage.hpp"

namespace tessera {

// Rows of bytes cut into parts of at most so many, whole rows where they are short enough.
struct TESSERA_API RowParts {
  i64 rows, row_bytes, width, height;

  RowParts(i64 row_count, i64 bytes_of_row, i64 most);
  struct Part {
    i64 row, rows, first, bytes;  // bytes [first, first + bytes) of some rows
  };
  i64 across() const { return (row_bytes + width - 1) / width; }
  i64 count() const { return across() * ((rows + height - 1) / height); }
  Part operator[](i64 k) const;
};

// Bytes of one buffer at most; 0: none, the driver copies by itself.
inline constexpr i64 default_stream_buffer = i64{8} << 20;
TESSERA_API i64 stream_buffer_size();
TESSERA_API void set_stream_buffer_size(i64 bytes);

// The rings of a device. Shared by all who hold them at a time; the buffers go with the last.
// Copies of one direction take turns.
class TESSERA_API Staging {
 public:
  static constexpr std::size_t buffers = 4;  // each way

  // Null where no buffers are set, or no pinned memory is left for them.
  static std::shared_ptr<Staging> of(Device device);
  static bool is_worth(i64 bytes);  // shorter copies are left to the driver

  Staging(Device device, i64 buffer_bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  i64 buffer_bytes() const { return bytes_; }
  static i64 bytes_for(i64 buffer_bytes);  // pinned memory of both rings
  // One end is host memory that is not pinned, the other on the stream's device.
  void copy(const Stream& stream, const Copy& copy);

  // The same with host memory that others fill and empty: `fill(k, buffer)` puts part k where it
  // will travel from, and `send(k, buffer)` enqueues its copy; on the way back `send` comes first.
  using Touch = std::function<void(i64 k, void* buffer)>;
  void fill_and_send(const Stream& stream, i64 parts, const Touch& fill, const Touch& send);
  void send_and_empty(const Stream& stream, i64 parts, const Touch& send, const Touch& empty);

 private:
  struct Ring {
    std::mutex mutex;
    char* memory = nullptr;
    std::array<RepeatedEvent, buffers> travelled;
    std::size_t next = 0;
  };
  char* buffer(const Ring& ring, std::size_t slot) const {
    return ring.memory + static_cast<i64>(slot) * bytes_;
  }
  static void settle(const RepeatedEvent& event) noexcept;

  i64 bytes_;
  Storage memory_;
  Ring there_, back_;
};

// A copy of `bytes` that is over, both ways, when this returns. False: nothing was done, since there
// are no buffers, too few bytes to be worth it, or no pinned memory left.
TESSERA_API bool stream_copy(const Stream& stream, void* to, Device to_device, const void* from,
                             Device from_device, i64 bytes);

}  // namespace tessera
