// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tiled_header.hpp"

#include <zlib.h>

#include <cstring>
#include <optional>

namespace tessera::store {
namespace {

constexpr std::string_view magic = "TSRTILES";
constexpr std::uint32_t version = 1;
// Places in the page; all numbers are little-endian.
constexpr i64 version_at = 8, page_at = 12, dtype_at = 16, order_at = 32, rank_at = 36,
              size_at = 40, shape_at = 64, tile_at = shape_at + 8 * max_rank,
              about_at = tile_at + 8 * max_rank, about_end = about_at + 256,
              sum_at = TiledHeader::page - 4;

template <class T>
void put(std::string& bytes, i64 at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
T take(std::span<const std::byte> bytes, i64 at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Letters, padded with zeros.
std::string text_of(std::span<const std::byte> bytes, i64 begin, i64 end) {
  const char* text = reinterpret_cast<const char*>(bytes.data()) + begin;
  return {text, strnlen(text, static_cast<std::size_t>(end - begin))};
}

std::uint32_t sum_of(const void* bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, static_cast<const unsigned char*>(bytes), static_cast<unsigned>(sum_at)));
}

// The bytes of a file of such tiles, if 63 bits can count them.
bool countable(const Shape& shape, const Shape& tile, DType dtype) {
  i64 elements = size_of(dtype), tiles = 1;
  for (i64 d = 0; d < shape.size(); ++d) {
    const i64 count = shape[d] / tile[d] + 1;
    if (__builtin_mul_overflow(elements, std::max<i64>(shape[d], 1), &elements) ||
        __builtin_mul_overflow(tiles, count, &tiles))
      return false;
  }
  i64 all = 0;
  return !__builtin_mul_overflow(tiles + 1, TiledHeader::page, &all) &&
         !__builtin_add_overflow(all, elements, &all);
}

}  // namespace

std::string TiledHeader::encode() const {
  const Shape &shape = grid.shape(), &tile = grid.tile_shape();
  require<ShapeError>(countable(shape, tile, grid.dtype()), "tiled file: shape ",
                      tessera::to_text(shape), " in tiles of ", tessera::to_text(tile),
                      " has more bytes than 63 bits can count");
  std::string out(static_cast<std::size_t>(page), '\0');
  std::memcpy(out.data(), magic.data(), magic.size());
  put(out, version_at, version);
  put(out, page_at, static_cast<std::uint32_t>(page));
  const std::string_view dtype = name(grid.dtype());
  std::memcpy(out.data() + dtype_at, dtype.data(), dtype.size());
  put(out, order_at, static_cast<std::uint32_t>(column_major));
  put(out, rank_at, static_cast<std::uint32_t>(shape.size()));
  put(out, size_at, file_bytes());
  for (i64 d = 0; d < shape.size(); ++d) {
    put(out, shape_at + 8 * d, shape[d]);
    put(out, tile_at + 8 * d, tile[d]);
  }
  require<ArgumentError>(static_cast<i64>(about.size()) <= about_end - about_at, "tiled file: '",
                         about, "' has more than the ", about_end - about_at,
                         " letters that a header holds");
  std::memcpy(out.data() + about_at, about.data(), about.size());
  put(out, sum_at, sum_of(out.data()));
  return out;
}

TiledHeader TiledHeader::decode(std::span<const std::byte> start, const std::string& who) {
  require<IoError>(static_cast<i64>(start.size()) >= page, who, ": ", start.size(),
                   " bytes; a tiled file has at least ", page);
  require<IoError>(std::memcmp(start.data(), magic.data(), magic.size()) == 0, who,
                   ": not a tiled file: it does not begin with ", magic);
  require<IoError>(take<std::uint32_t>(start, version_at) == version, who, ": version ",
                   take<std::uint32_t>(start, version_at), " of the tiled format; ", version,
                   " is known");
  require<IoError>(take<std::uint32_t>(start, sum_at) == sum_of(start.data()), who,
                   ": the checksum of the header is wrong: it was damaged, or not wholly written");
  const std::string word = text_of(start, dtype_at, order_at);
  const std::optional<DType> dtype = parse_dtype(word);
  const auto order = take<std::uint32_t>(start, order_at),
             rank = take<std::uint32_t>(start, rank_at);
  require<IoError>(dtype && name(*dtype) == word && order <= 1 && rank <= max_rank &&
                       take<std::uint32_t>(start, page_at) == page,
                   who, ": dtype '", word, "', order ", order, " and ", rank,
                   " axes; numbers of a known dtype in order 0 or 1 were expected");
  Shape shape, tile;
  bool sane = true;
  for (i64 d = 0; d < static_cast<i64>(rank); ++d) {
    shape.push_back(take<i64>(start, shape_at + 8 * d));
    tile.push_back(take<i64>(start, tile_at + 8 * d));
    sane = sane && shape[d] >= 0 && tile[d] >= 1 && tile[d] <= std::max<i64>(1, shape[d]);
  }
  require<IoError>(sane && countable(shape, tile, *dtype), who, ": shape ", tessera::to_text(shape),
                   " in tiles of ", tessera::to_text(tile), " is none");
  TiledHeader header{TileGrid(shape, tile, *dtype), order == 1,
                     text_of(start, about_at, about_end)};
  require<IoError>(take<i64>(start, size_at) == header.file_bytes(), who, ": the header says ",
                   take<i64>(start, size_at), " bytes, its shape and tiles need ",
                   header.file_bytes());
  return header;
}

// Bytes of all tiles whose sizes along the axes before `axis` make `elements`.
i64 TiledHeader::bytes_from(i64 axis, i64 elements) const {
  const i64 rank = grid.shape().size();
  if (axis == rank) return (elements * size_of(grid.dtype()) + page - 1) / page * page;
  const i64 count = grid.counts()[axis], tile = grid.tile_shape()[axis];
  if (count == 0) return 0;
  const i64 last = grid.shape()[axis] - (count - 1) * tile;
  const i64 at_end = bytes_from(axis + 1, elements * last);
  if (last == tile) return count * at_end;
  return (count > 1 ? (count - 1) * bytes_from(axis + 1, elements * tile) : 0) + at_end;
}

i64 TiledHeader::tile_offset(i64 number) const {
  const Box box = grid.tile(number);
  i64 offset = page, elements = 1;
  for (i64 d = 0; d < box.begin.size(); ++d) {
    const i64 tile = grid.tile_shape()[d];
    if (const i64 before = box.begin[d] / tile; before > 0)
      offset += before * bytes_from(d + 1, elements * tile);
    elements *= box.shape[d];
  }
  return offset;
}

i64 TiledHeader::file_bytes() const { return page + bytes_from(0, 1); }

}  // namespace tessera::store
