// SPDX-License-Identifier: Apache-2.0
#pragma once
// A regular file that tiles are kept in: opened once, closed with its last owner. Beside the usual
// handle it has one that bypasses the page cache (O_DIRECT) where that was asked for and the file
// system takes it. Reading and writing is the engine's (io_engine.hpp); here are size, space and
// advice to the kernel. Every failure is an IoError that names the file.
//   auto f = std::make_shared<File>("a.tiles", File::Mode::create, /*direct=*/true);
//   f->reserve(i64{1} << 30);

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "tessera/base/api.hpp"

namespace tessera::store {

class TESSERA_API File {
 public:
  // create: a new file, IoError when there is one already.
  enum class Mode : std::uint8_t { read, write, create };
  File(std::string path, Mode mode, bool direct);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  bool writable() const { return mode_ != Mode::read; }
  i64 size() const;               // now
  std::string version() const;    // path, size and time of the last change, as text
  void resize(i64 bytes) const;   // without taking space
  void reserve(i64 bytes) const;  // takes the space: a full disk is said here and not later
  void sync() const;              // what was written is on disk
  void remove() const noexcept;   // its name; the bytes go with the last owner

  // A block of both offset and length for the handle without page cache, and of memory for it.
  static constexpr i64 block = 4096, memory_block = 512;
  int handle() const { return handle_; }
  int direct_handle() const { return use_direct_.load(std::memory_order_relaxed) ? direct_ : -1; }
  bool direct() const { return direct_handle() >= 0; }
  // The file system refused such a call after all: from now on through the page cache.
  void leave_direct() const { use_direct_.store(false, std::memory_order_relaxed); }

  // Advice about the page cache.
  enum class Pattern : std::uint8_t { normal, sequential, random };
  void advise(Pattern pattern) const;
  void prefetch(i64 offset, i64 bytes) const;  // begins to read it into the page cache
  void discard(i64 offset, i64 bytes) const;   // written out, then dropped from the page cache
  i64 resident(i64 offset, i64 bytes) const;   // bytes of whole pages that the page cache holds

  // Requests under way, which the engine counts.
  void begin() const;
  void end() const;
  void wait_idle() const;

 private:
  std::string path_;
  Mode mode_;
  int handle_ = -1, direct_ = -1;
  mutable std::atomic<bool> use_direct_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable idle_;
  mutable i64 pending_ = 0;
};

}  // namespace tessera::store
