// SPDX-License-Identifier: Apache-2.0
#pragma once
// One backing file in which many blocks have a place: extents in multiples of 4 KiB, taken first
// fit, joined with their neighbours when they are given back, and punched out of the file, so that
// the disk has them back as well. The file is there as long as one extent is. Safe from several
// threads. For the governor.
//   SpillFile file;   Extent e = file.take(bytes);   e.write(0, data, bytes);   e = {};

#include <memory>
#include <mutex>

#include "tessera/store/tiers/backing_file.hpp"

namespace tessera::store {

class TESSERA_API Extent {
 public:
  Extent() = default;
  explicit operator bool() const { return place_ != nullptr; }
  i64 bytes() const;  // of the disk: a multiple of 4 KiB
  const std::string& path() const;
  // Within what was asked for. IoError names the file; also in a child of the process that wrote,
  // whose parent may have given the place to another block.
  void write(i64 offset, const void* from, i64 bytes) const;
  void read(i64 offset, void* to, i64 bytes) const;

 private:
  friend class SpillFile;
  struct Place;
  std::shared_ptr<Place> place_;  // the last one gives it back
};

class TESSERA_API SpillFile {
 public:
  // Of a new file where there is none or the backing folder is another one by now. OutOfMemory
  // (budget) or IoError (disk) leave nothing behind.
  Extent take(i64 bytes);
  std::string path() const;  // "" where there is no file

 private:
  friend class Extent;
  struct File;
  mutable std::mutex mutex_;
  std::weak_ptr<File> file_;
};

}  // namespace tessera::store
