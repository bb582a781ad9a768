// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tiled_file.hpp"

#include "tessera/store/tiles/slab.hpp"
#include "tessera/store/tiles/tile_hints.hpp"
#include "tessera/store/tiles/tiled_header.hpp"

namespace tessera::store {
namespace {

// A part of a box, with its place in the tile.
Box inside(const Box& tile, Box part) {
  for (i64 d = 0; d < tile.begin.size(); ++d) part.begin[d] -= tile.begin[d];
  return part;
}

template <class SlabOf>
i64 sum_over_tiles(const TileGrid& grid, const Box& box, Layout into, SlabOf slab_of) {
  i64 sum = 0;
  for (const i64 n : grid.tiles_of(box)) {
    const Box tile = grid.tile(n), part = intersection(tile, box);
    into.shape = part.shape;
    sum += slab_bytes_to_read(slab_of(n, tile), inside(tile, part), into);
  }
  return sum;
}

class TiledFile final : public TileStore {
 public:
  TiledFile(std::shared_ptr<const File> file, TiledHeader header, std::shared_ptr<IoEngine> engine)
      : file_(std::move(file)),
        header_(std::move(header)),
        engine_(std::move(engine)),
        hints_(file_, grid().tiles(), [this](i64 n) {
          return TileHints::Extent{header_.tile_offset(n), bytes_of(n)};
        }) {}

  const TileGrid& grid() const override { return header_.grid; }
  std::string describe() const override {
    std::string counts;
    for (const i64 n : grid().counts()) counts += cat(counts.empty() ? "" : " x ", n);
    return cat("tiled file ", file_->path(), ", ", tessera::to_text(grid().shape()), " ",
               name(grid().dtype()), ", ", counts.empty() ? "1" : counts, " tiles of ",
               bytes_text(grid().tile_bytes()));
  }
  bool writable() const override { return file_->writable(); }
  bool on_disk() const override { return true; }
  std::string path() const override { return file_->path(); }
  std::string version() const override { return file_->version(); }
  std::string about() const override { return header_.about; }

  Transfer read(const Box& box, const Array& into) override {
    check_transfer("read", grid(), box, into);
    require<ArgumentError>(into.storage().writable(), "read: the array is read-only");
    const std::vector<i64> tiles = grid().tiles_of(box);
    const std::shared_ptr<IoEngine> engine = engine_now();
    Transfer t = transfer(into, [&](const Batch& batch) {
      for (const i64 n : tiles) {
        const Box tile = grid().tile(n), part = intersection(tile, box);
        read_slab(*engine, batch, slab(n, tile), inside(tile, part), part_of(into, box, part));
      }
    });
    for (const i64 n : tiles) hints_.after_read(n);
    return t;
  }

  Transfer write(const Box& box, const Array& from) override {
    check_transfer("write", grid(), box, from);
    require<IoError>(writable(), "write: '", file_->path(), "' was opened to be read only");
    check_length();
    const std::shared_ptr<IoEngine> engine = engine_now();
    return transfer(from, [&](const Batch& batch) {
      for (const i64 n : grid().tiles_of(box)) {
        const Box tile = grid().tile(n), part = intersection(tile, box);
        write_slab(*engine, batch, slab(n, tile), inside(tile, part), part_of(from, box, part));
      }
    });
  }

  i64 bytes_to_read(const Box& box, const Layout& into) const override {
    return sum_over_tiles(grid(), box, into, [&](i64 n, const Box& tile) { return slab(n, tile); });
  }
  void advise(Access access) override { hints_.advise(access); }
  void prefetch(const Box& box) override {
    for (const i64 n : grid().tiles_of(box)) hints_.prefetch(n);
  }
  void discard(const Box& box) override {
    for (const i64 n : grid().tiles_of(box)) hints_.discard(n);
  }
  i64 resident(const Box& box) const override {
    i64 bytes = 0;
    for (const i64 n : grid().tiles_of(box))
      bytes += file_->resident(header_.tile_offset(n), bytes_of(n));
    return bytes;
  }
  void flush() override {
    file_->wait_idle();
    if (writable()) file_->sync();
  }

 private:
  std::shared_ptr<IoEngine> engine_now() const { return engine_ ? engine_ : IoEngine::shared(); }
  Slab slab(i64 number, const Box& tile) const {
    return {.file = file_,
            .offset = header_.tile_offset(number),
            .shape = tile.shape,
            .dtype = grid().dtype(),
            .column_major = header_.column_major,
            .direct = !hints_.is_near(number)};
  }
  i64 bytes_of(i64 number) const { return grid().tile(number).size() * size_of(grid().dtype()); }
  // Writing behind the end would make the file longer again, with zeros where numbers were.
  void check_length() const {
    const i64 size = file_->size();
    require<IoError>(size >= header_.file_bytes(), "write: '", file_->path(), "' has ", size,
                     " bytes, and its tiles need ", header_.file_bytes(),
                     ": it became shorter while it was used");
  }

  std::shared_ptr<const File> file_;
  TiledHeader header_;
  std::shared_ptr<IoEngine> engine_;
  TileHints hints_;
};

bool wants_direct(const TiledFileOptions& options) { return options.direct.value_or(true); }

// Space and header of a new file.
std::shared_ptr<TileStore> formatted(const std::shared_ptr<File>& file, const TileGrid& grid,
                                     const TiledFileOptions& options) {
  const TiledHeader header{grid, options.column_major, options.about};
  std::string page = header.encode();
  if (options.reserve)
    file->reserve(header.file_bytes());
  else
    file->resize(header.file_bytes());
  move_now(*(options.engine ? options.engine : IoEngine::shared()), file, true,
           std::as_writable_bytes(std::span(page)));
  return std::make_shared<TiledFile>(file, header, options.engine);
}

}  // namespace

std::shared_ptr<TileStore> create_tiled_file(const std::string& path, const TileGrid& grid,
                                             const TiledFileOptions& options) {
  const auto file = std::make_shared<File>(path, File::Mode::create, wants_direct(options));
  try {
    return formatted(file, grid, options);
  } catch (...) {
    file->remove();
    throw;
  }
}

std::shared_ptr<TileStore> format_tiled_file(const std::string& path, const TileGrid& grid,
                                             const TiledFileOptions& options) {
  return formatted(std::make_shared<File>(path, File::Mode::write, wants_direct(options)), grid,
                   options);
}

i64 tiled_bytes_to_read(const TileGrid& grid, const Box& box, const Layout& into) {
  const TiledHeader header{grid};
  return sum_over_tiles(grid, box, into, [&](i64 n, const Box& tile) {
    return Slab{.file = nullptr,
                .offset = header.tile_offset(n),
                .shape = tile.shape,
                .dtype = grid.dtype()};
  });
}

i64 tiled_file_bytes(const TileGrid& grid) { return TiledHeader{grid}.file_bytes(); }

std::shared_ptr<TileStore> open_tiled_file(const std::string& path, bool writable,
                                           const TiledFileOptions& options) {
  const auto file = std::make_shared<File>(path, writable ? File::Mode::write : File::Mode::read,
                                           wants_direct(options));
  const std::string who = cat("'", path, "'");
  std::vector<std::byte> page(static_cast<std::size_t>(std::min(file->size(), TiledHeader::page)));
  require<IoError>(static_cast<i64>(page.size()) == TiledHeader::page, who, ": ", page.size(),
                   " bytes; a tiled file has at least ", TiledHeader::page);
  move_now(*(options.engine ? options.engine : IoEngine::shared()), file, false, page);
  TiledHeader header = TiledHeader::decode(page, who);
  require<IoError>(file->size() >= header.file_bytes(), who, ": ", file->size(),
                   " bytes, and its tiles need ", header.file_bytes(), ": it was cut off");
  return std::make_shared<TiledFile>(file, std::move(header), options.engine);
}

}  // namespace tessera::store
