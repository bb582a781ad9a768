// SPDX-License-Identifier: Apache-2.0
#pragma once
// Large blocks of host memory that other processes of this machine can map, where somebody opened
// them: ranks that copy straight out of each other's arrays. All of them are parts of one file in
// huge pages. A forked child sees them as they are, also when its parent goes on writing, and keeps
// what it writes to itself.
//   SharedPages::own().open();   void* p = SharedPages::own().take(bytes);

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "tessera/device/cpu/huge_file.hpp"

namespace tessera {

class TESSERA_API SharedPages {
 public:
  static constexpr const char* file_name = "tessera-pages";
  static SharedPages& own();

  // Blocks that are taken from now on are shared; false where the system has nothing of the kind.
  bool open();
  // Whole huge pages; nullptr where these are not open, or full.
  void* take(i64 bytes);
  // What take() gives holds zeros: not once pages are private, whose file may hold anything.
  bool gives_zeros() const { return !private_ && !kept_; }
  // False: this is no block of ours.
  bool give(void* p, i64 bytes) noexcept;

  // Where other processes find memory, by its number in our table of files.
  struct Place {
    i64 file, offset;
  };
  std::optional<Place> find(const std::byte* first, i64 bytes) const;

  // Whatever other processes write from now on is not seen here, and the other way round: for one
  // that cannot wait for them any longer. Nothing is shared any more.
  void withdraw();

 private:
  SharedPages() = default;
  bool holds(const std::byte* first, i64 bytes) const;
  void become_private();

  std::mutex mutex_;
  std::atomic<std::byte*> start_{nullptr};
  i64 bytes_ = 0;
  int file_ = -1;
  std::atomic<bool> private_{false};
  std::atomic<bool> kept_{false};  // the system did not take back what was given
  std::map<i64, i64> free_;        // bytes by offset
};

}  // namespace tessera
