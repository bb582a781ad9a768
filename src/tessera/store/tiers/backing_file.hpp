// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files for data that memory does not hold: made in the backing folder, named so that no other
// process makes the same (host, process, its start, random bits), locked (flock) as long as their
// process lives, and removed when the object goes, at the latest when the process ends. What a
// process that was killed has left is removed by the next one that uses the folder; a file whose
// owner lives is never touched, whatever process numbers say. Bytes count against the budget of the
// disk. After a fork the child may read, and neither writes nor removes. Power loss is not defended
// against: nothing outlives the process anyway.
//   set_backing_dir("/scratch");   BackingFile f = BackingFile::make("matmul");
//   f.claim(0, 1 << 20);   f.write(0, data, 1 << 20);   f.read(0, data, 1 << 20);

#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"
#include "tessera/device/memory.hpp"

namespace tessera::store {

// Where files are made: what was set, else TESSERA_BACKING_DIR, else TMPDIR, else /var/tmp. The
// folder is made when it is not there; IoError where it cannot be had or written to. "" takes back
// what was set. Files that are there already stay where they are.
TESSERA_API void set_backing_dir(const std::string& path);
TESSERA_API std::string backing_dir();
TESSERA_API std::string backing_dir_set();  // "" where nothing was set

// Bytes of all backing files of this process against the budget of the disk (0 = no limit).
TESSERA_API MemoryStats disk_stats();
TESSERA_API void reset_disk_peak();
TESSERA_API void set_disk_budget(i64 bytes);  // config_decides: that of the settings
TESSERA_API i64 disk_budget_set();
// Bytes that a share of 100% means: free in the folder's file system, and those that are ours.
TESSERA_API i64 disk_total();
TESSERA_API i64 disk_free();
// Of what is free, that which no file of this process may still take: files that were claimed for
// later hold less of the disk than they were promised.
TESSERA_API i64 disk_left();
// Bytes that the files hold on the disk, which is less than was claimed where they have holes.
TESSERA_API i64 disk_occupied();

// Removes files of processes that are gone from a folder; the number of them. Called by itself when
// a process makes its first file in a folder.
TESSERA_API int remove_abandoned(const std::string& folder);

// When a claim takes its space: at once, so that a full disk is said before anything is computed,
// or as bytes are written, so that zeros take none.
enum class Space : std::uint8_t { now, later };

class TESSERA_API BackingFile {
 public:
  BackingFile() = default;
  // `what` is part of the name, for people who look into the folder: letters and digits.
  static BackingFile make(std::string_view what);

  explicit operator bool() const { return impl_ != nullptr; }
  const std::string& path() const;
  int descriptor() const;
  i64 claimed() const;  // bytes
  bool ours() const;    // false in a child of the process that made it

  // Space for bytes [offset, offset + bytes), which are zeros: OutOfMemory where the budget forbids
  // it, IoError where the disk has no more; nothing is taken then. Ranges must not overlap.
  void claim(i64 offset, i64 bytes, Space space = Space::now) const;
  void release(i64 offset, i64 bytes) const noexcept;  // of a claim: the disk has it back
  // Exactly those bytes, or an IoError that names the file.
  void write(i64 offset, const void* from, i64 bytes) const;
  void read(i64 offset, void* to, i64 bytes) const;

 private:
  struct Impl;
  explicit BackingFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;  // the last one removes the file
};

// For tests: asked before each call of the system on backing files ("make", "claim", "write",
// "read"). 0: go on; an errno: it fails with that; moves_half: it moves half of the bytes.
inline constexpr int moves_half = -1;
using FileFault = int (*)(std::string_view call);
TESSERA_API void set_file_fault(FileFault fault);

}  // namespace tessera::store
