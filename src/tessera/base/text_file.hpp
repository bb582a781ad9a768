// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small files as text: settings, measurements, what the system says of itself. Without streams: in
// a process with two C++ runtimes (PyTorch can bring one of its own) those meet each other's
// locales, and writing a number ends the process.
//   for (std::string_view line : lines_of(read_text("/proc/meminfo").value_or(""))) ...

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera {

// An empty file to write to; null where it cannot be had, also for a pipe that nobody reads, which
// others wait for.
TESSERA_API std::FILE* open_to_write(const std::string& path);
// Nothing where the file cannot be read.
TESSERA_API std::optional<std::string> read_text(const std::string& path);
// Written beside and renamed, folders made: readers find the old text or the new one, whole. False
// where it could not be written; the old one stays.
TESSERA_API bool replace_text(const std::string& path, std::string_view text);
// The lines, without their ends; views of the text.
TESSERA_API std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace tessera
