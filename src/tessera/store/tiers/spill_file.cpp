// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/spill_file.hpp"

#include <algorithm>
#include <map>

#include "tessera/base/error.hpp"

namespace tessera::store {
namespace {

constexpr i64 page = 4096;

}  // namespace

struct SpillFile::File {
  std::mutex mutex;
  BackingFile file;
  std::string folder;
  std::map<i64, i64> free;  // bytes by offset; no two of them touch
  i64 end = 0;

  i64 find(i64 bytes) {
    for (auto it = free.begin(); it != free.end(); ++it) {
      const auto [offset, room] = *it;
      if (room < bytes) continue;
      free.erase(it);
      if (room > bytes) free.emplace(offset + bytes, room - bytes);
      return offset;
    }
    end += bytes;
    return end - bytes;
  }
  void give(i64 offset, i64 bytes) {
    auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = free.erase(next);
    }
    if (next != free.begin())
      if (auto before = std::prev(next); before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        free.erase(before);
      }
    if (offset + bytes == end)
      end = offset;
    else
      free.emplace(offset, bytes);
  }
};

struct Extent::Place {
  std::shared_ptr<SpillFile::File> file;
  i64 offset = 0, bytes = 0;
  Place(std::shared_ptr<SpillFile::File> f, i64 n) : file(std::move(f)), bytes(n) {
    std::lock_guard lock(file->mutex);
    offset = file->find(bytes);
    try {
      file->file.claim(offset, bytes);
    } catch (...) {
      file->give(offset, bytes);
      throw;
    }
  }
  ~Place() {
    std::lock_guard lock(file->mutex);
    file->file.release(offset, bytes);  // before another block may have it
    file->give(offset, bytes);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  void check(i64 at, i64 n) const {
    require<IoError>(file->file.ours(), "backing file '", file->file.path(),
                     "': what was spilled before a fork can only be read by the parent");
    require<ArgumentError>(at >= 0 && n >= 0 && at + n <= bytes, "backing file '",
                           file->file.path(), "': bytes ", at, " to ", at + n, " of an extent of ",
                           bytes);
  }
};

i64 Extent::bytes() const { return place_->bytes; }
const std::string& Extent::path() const { return place_->file->file.path(); }

void Extent::write(i64 offset, const void* from, i64 bytes) const {
  place_->check(offset, bytes);
  place_->file->file.write(place_->offset + offset, from, bytes);
}

void Extent::read(i64 offset, void* to, i64 bytes) const {
  place_->check(offset, bytes);
  place_->file->file.read(place_->offset + offset, to, bytes);
}

Extent SpillFile::take(i64 bytes) {
  const std::string folder = backing_dir();
  std::shared_ptr<File> file;
  {
    std::lock_guard lock(mutex_);
    file = file_.lock();
    if (!file || file->folder != folder || !file->file.ours()) {
      file = std::make_shared<File>();
      file->folder = folder;
      file->file = BackingFile::make("spill");
      file_ = file;
    }
  }
  Extent e;
  e.place_ = std::make_shared<Extent::Place>(std::move(file),
                                             std::max<i64>((bytes + page - 1) / page, 1) * page);
  return e;
}

std::string SpillFile::path() const {
  std::lock_guard lock(mutex_);
  const auto file = file_.lock();
  return file ? file->file.path() : "";
}

}  // namespace tessera::store
