// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes grey 8-bit images as PNG files, with zlib for the compression. It writes nothing else (no
// colours, no palettes) and reads nothing.
//   Picture p(256, 256);   p.at(3, 4) = 255;   write_png("out/image.png", p);

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera::cli {

struct Picture {
  Picture(i64 width_, i64 height_)
      : width(width_), height(height_), pixels(static_cast<std::size_t>(width_ * height_)) {}
  std::uint8_t& at(i64 x, i64 y) { return pixels[static_cast<std::size_t>(y * width + x)]; }
  std::uint8_t at(i64 x, i64 y) const { return pixels[static_cast<std::size_t>(y * width + x)]; }

  i64 width, height;
  std::vector<std::uint8_t> pixels;  // row by row, 0 = black
};

// Pictures of one height beside each other, with a grey line between them.
Picture beside(const std::vector<Picture>& pictures);

// IoError names the path and the reason; a failed write leaves no half-written file.
void write_png(const std::string& path, const Picture& picture);

}  // namespace tessera::cli
