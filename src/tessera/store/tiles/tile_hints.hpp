// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a store of tiles in a file does with advice: tiles that the hint promises next are brought
// into the page cache, those that are not needed again are dropped from it. Tiles are numbered; each
// is one range of bytes. From several threads.
//   TileHints hints(file, grid.tiles(), [&](i64 n) { return TileHints::Extent{offset(n), bytes(n)}; });

#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "tessera/store/io/file.hpp"
#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

class TileHints {
 public:
  struct Extent {
    i64 offset, bytes;
  };
  TileHints(std::shared_ptr<const File> file, i64 tiles, std::function<Extent(i64)> extent)
      : file_(std::move(file)), tiles_(tiles), extent_(std::move(extent)) {}

  void advise(Access access);
  // Whether the tile was brought into the page cache, from where it is read next time.
  bool is_near(i64 number) const;
  void prefetch(i64 number);
  void discard(i64 number);
  // A tile was read: what follows from the hint.
  void after_read(i64 number);

 private:
  std::shared_ptr<const File> file_;
  i64 tiles_;
  std::function<Extent(i64)> extent_;
  mutable std::mutex mutex_;
  std::set<i64> near_;
  Access access_ = Access::normal;
  i64 last_ = -1;
};

}  // namespace tessera::store
