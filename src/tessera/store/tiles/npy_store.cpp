// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/npy_store.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "tessera/array/npy.hpp"
#include "tessera/store/tiles/slab_file.hpp"

namespace tessera::store {
namespace {

// The other byte order, both ways.
std::function<void(std::byte*, i64)> conversion_of(const NpyHeader& h) {
  if (!h.swapped) return only_truth(h.dtype);
  const i64 width = is_complex(h.dtype) ? size_of(h.dtype) / 2 : size_of(h.dtype);
  return [width](std::byte* p, i64 n) {
    for (i64 i = 0; i < n; i += width) std::reverse(p + i, p + i + width);
  };
}

std::shared_ptr<TileStore> store_of(const std::shared_ptr<const File>& file, const NpyHeader& h,
                                    const NpyStoreOptions& options) {
  return std::make_shared<SlabFile>("npy file",
                                    Slab{.file = file,
                                         .offset = h.data,
                                         .shape = h.shape,
                                         .dtype = h.dtype,
                                         .column_major = h.fortran,
                                         .direct = options.direct.value_or(true),
                                         .convert = conversion_of(h)},
                                    options.engine, options.tile_bytes, true);
}

IoEngine& engine_of(const NpyStoreOptions& options, std::shared_ptr<IoEngine>& shared) {
  shared = options.engine ? options.engine : IoEngine::shared();
  return *shared;
}

}  // namespace

std::shared_ptr<TileStore> open_npy_store(const std::string& path, bool writable,
                                          const NpyStoreOptions& options) {
  const auto file = std::make_shared<File>(path, writable ? File::Mode::write : File::Mode::read,
                                           options.direct.value_or(true));
  const std::string who = cat("'", path, "'");
  const i64 length = file->size();
  std::shared_ptr<IoEngine> shared;
  IoEngine& engine = engine_of(options, shared);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(length, npy_preamble)));
  move_now(engine, file, false, head);
  const i64 size = npy_header_size(head, who);
  require<IoError>(size <= length, who, ": a header of ", size, " bytes, and the file has ",
                   length);
  head.resize(static_cast<std::size_t>(size));
  move_now(engine, file, false, head);
  const NpyHeader h = parse_npy_header(head, who);
  require<IoError>(h.bytes <= length - h.data, who, ": shape ", h.shape, " of ", name(h.dtype),
                   " needs ", h.bytes, " bytes after the header, and ", length - h.data,
                   " are there");
  return store_of(file, h, options);
}

std::shared_ptr<TileStore> create_npy_store(const std::string& path, const Shape& shape,
                                            DType dtype, const NpyStoreOptions& options) {
  std::string head = npy_header_text(dtype, shape, options.fortran);
  const NpyHeader h = parse_npy_header(std::as_bytes(std::span(head)), cat("'", path, "'"));
  require<ShapeError>(h.bytes <= std::numeric_limits<i64>::max() - h.data, "'", path, "': shape ",
                      shape, " of ", name(dtype), " has more bytes than 63 bits can count");
  const auto file = std::make_shared<File>(path, File::Mode::create, options.direct.value_or(true));
  try {
    std::shared_ptr<IoEngine> shared;
    file->reserve(h.data + h.bytes);
    move_now(engine_of(options, shared), file, true, std::as_writable_bytes(std::span(head)));
    return store_of(file, h, options);
  } catch (...) {
    file->remove();
    throw;
  }
}

}  // namespace tessera::store
