// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and writes of files that happen while others work. A bounded number of bytes is under way:
// who submits more waits until there is room. Through io_uring where the library was built with it
// and the kernel allows it, else by a few threads that call pread and pwrite. Short calls go on
// where they ended; what fails becomes an IoError that names the file, the place and the reason,
// and is thrown where the batch is awaited.
//   auto batch = std::make_shared<IoBatch>();
//   engine.submit({.file = f, .batch = batch, .offset = 0, .bytes = n, .memory = p});
//   batch->wait();

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tessera/store/io/file.hpp"

namespace tessera::store {

class IoRing;

// Requests that are awaited together.
class TESSERA_API IoBatch {
 public:
  // After all that was submitted has ended; throws the first failure.
  void wait();
  bool done() const { return pending_.load(std::memory_order_acquire) == 0; }
  // What the requests use is kept until they have ended; wait() lets it go.
  std::shared_ptr<const void> keep;

 private:
  friend class IoEngine;
  void fail(std::exception_ptr what);
  void end();
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  std::atomic<i64> pending_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::exception_ptr failure_;
};

// Memory of the engine, of whole pages, that counts as under way as long as it is held.
class TESSERA_API IoBuffer {
 public:
  IoBuffer(class IoEngine& engine, std::byte* data, i64 bytes)
      : engine_(engine), data_(data), bytes_(bytes) {}
  ~IoBuffer();
  IoBuffer(const IoBuffer&) = delete;
  IoBuffer& operator=(const IoBuffer&) = delete;
  std::byte* data() const { return data_; }
  i64 bytes() const { return bytes_; }

 private:
  IoEngine& engine_;
  std::byte* data_;
  i64 bytes_;
};

struct IoRequest {
  std::shared_ptr<const File> file;
  std::shared_ptr<IoBatch> batch;
  bool write = false;
  bool direct = true;  // past the page cache, if file, place, length and memory allow it
  i64 offset = 0, bytes = 0;
  std::byte* memory = nullptr;
  i64 needed = -1;                         // a read may end here; -1 = all bytes
  std::shared_ptr<const IoBuffer> buffer;  // of the engine, when `memory` lies in one
  std::function<void()> after;             // when it has succeeded, on a thread of the engine
  i64 moved = 0, started = -1;             // the engine's
};

// Bytes that files gave and took so far, through all engines of this process: what was asked for,
// and what was read along.
struct IoTraffic {
  i64 read = 0, written = 0;
};
TESSERA_API IoTraffic io_traffic();

// For tests: what happens instead of a call, or to it.
enum class IoFault : std::uint8_t { none, short_call, interrupted, io_error, disk_full, ended };
using IoFaults = std::function<IoFault(const IoRequest&)>;

class TESSERA_API IoEngine {
 public:
  enum class Kind : std::uint8_t { automatic, uring, threads };
  // NotAvailable, with the reason, where io_uring is asked for and cannot be had.
  explicit IoEngine(Kind kind = Kind::automatic, i64 depth_bytes = default_depth);
  ~IoEngine();  // waits for what is under way
  IoEngine(const IoEngine&) = delete;
  IoEngine& operator=(const IoEngine&) = delete;
  // The one that stores use unless they are given another, made when it is first asked for.
  static std::shared_ptr<IoEngine> shared();
  static constexpr i64 default_depth = i64{64} << 20;
  static constexpr i64 piece = i64{4} << 20;  // of one request: what is larger is cut

  Kind kind() const { return ring_ ? Kind::uring : Kind::threads; }
  // "io_uring, 64 MiB under way" or "4 threads, ... (io_uring: Operation not permitted)"
  std::string describe() const;
  i64 depth() const { return depth_; }
  i64 under_way() const;

  // Waits while too many bytes are under way. Never called from `after`.
  void submit(IoRequest request);
  // Waits for one that others hold where the system has no memory; OutOfMemory where nobody does.
  // Asked for by those who hold none.
  std::shared_ptr<IoBuffer> buffer(i64 bytes);
  // Asked before every call, from several threads; an empty one ends it. While nothing is under
  // way.
  void inject(IoFaults faults);

 private:
  friend class IoBuffer;
  using Owned = std::unique_ptr<IoRequest>;
  void give_room_back(i64 bytes);
  i64 take_room(i64 bytes);  // says how many buffers had been given back by then
  std::byte* spare_buffer(i64 bytes);
  std::byte* fresh_buffer(i64 bytes);
  void give_back(std::byte* data, i64 bytes);
  i64 next_length(const IoRequest& r) const;
  bool advance(IoRequest& r, i64 result) const;
  void finish(Owned r);
  void work();
  void feed(std::unique_lock<std::mutex>& lock);
  void reap();

  i64 depth_;
  std::byte* reserved_;  // a buffer for when the system has no more
  std::string why_no_ring_;
  std::unique_ptr<IoRing> ring_;
  std::atomic<const IoFaults*> faults_{nullptr};
  IoFaults injected_;

  mutable std::mutex room_mutex_;
  std::condition_variable room_;
  i64 under_way_ = 0, requests_ = 0, given_back_ = 0;
  std::vector<std::pair<i64, std::byte*>> spare_;  // buffers to be used again
  std::byte* last_;                                // the reserved one, while nobody has it

  std::mutex queue_mutex_;
  std::condition_variable arrived_;
  std::deque<Owned> queue_;
  i64 in_ring_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::store
