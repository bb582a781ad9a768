// SPDX-License-Identifier: Apache-2.0
#include "png.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tessera/base/error.hpp"

namespace tessera::cli {
namespace {

void append_u32(std::string& to, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(v >> shift & 0xFF));
}

// Length, name, data, and the checksum of name and data.
void append_chunk(std::string& to, std::string_view name, std::string_view data) {
  append_u32(to, static_cast<std::uint32_t>(data.size()));
  const std::size_t start = to.size();
  to.append(name).append(data);
  const auto* bytes = reinterpret_cast<const Bytef*>(to.data() + start);
  append_u32(to, static_cast<std::uint32_t>(
                     crc32(crc32(0, nullptr, 0), bytes, static_cast<uInt>(to.size() - start))));
}

// Each row starts with the filter byte 1: differences to the left neighbour compress well.
std::string filtered_rows(const Picture& p) {
  std::string rows;
  rows.reserve(static_cast<std::size_t>((p.width + 1) * p.height));
  for (i64 y = 0; y < p.height; ++y) {
    rows.push_back(1);
    std::uint8_t left = 0;
    for (i64 x = 0; x < p.width; ++x) {
      rows.push_back(static_cast<char>(p.at(x, y) - left));
      left = p.at(x, y);
    }
  }
  return rows;
}

std::string deflated(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(data.data()), data.size(), Z_BEST_COMPRESSION);
  require<IoError>(status == Z_OK, "png: zlib failed with status ", status);
  out.resize(size);
  return out;
}

}  // namespace

Picture beside(const std::vector<Picture>& pictures) {
  constexpr i64 gap = 2;
  i64 width = -gap, height = 0;
  for (const Picture& p : pictures) {
    width += p.width + gap;
    height = std::max(height, p.height);
  }
  Picture all(std::max<i64>(width, 0), height);
  std::fill(all.pixels.begin(), all.pixels.end(), std::uint8_t{96});
  i64 left = 0;
  for (const Picture& p : pictures) {
    for (i64 y = 0; y < p.height; ++y)
      for (i64 x = 0; x < p.width; ++x) all.at(left + x, y) = p.at(x, y);
    left += p.width + gap;
  }
  return all;
}

void write_png(const std::string& path, const Picture& picture) {
  std::string header;
  append_u32(header, static_cast<std::uint32_t>(picture.width));
  append_u32(header, static_cast<std::uint32_t>(picture.height));
  header.append({8, 0, 0, 0, 0});  // 8 bits, grey, deflate, adaptive filters, not interlaced

  std::string file("\x89PNG\r\n\x1a\n", 8);
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", deflated(filtered_rows(picture)));
  append_chunk(file, "IEND", "");

  const std::string part = path + ".part";
  std::FILE* f = std::fopen(part.c_str(), "wb");
  require<IoError>(f != nullptr, "png: cannot write ", part, ": ", std::strerror(errno));
  const bool written = std::fwrite(file.data(), 1, file.size(), f) == file.size();
  const bool closed = std::fclose(f) == 0;
  const bool moved = written && closed && std::rename(part.c_str(), path.c_str()) == 0;
  if (!moved) {
    const std::string reason = std::strerror(errno);
    std::remove(part.c_str());
    throw IoError(cat("png: cannot write ", path, ": ", reason));
  }
}

}  // namespace tessera::cli
