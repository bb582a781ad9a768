// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tessera/base/text.hpp"

namespace tessera {
namespace {

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

}  // namespace

std::FILE* open_to_write(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return nullptr;
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);  // a slow reader is waited for
  std::FILE* stream = fdopen(file, "wb");
  if (stream == nullptr) close(file);
  return stream;
}

std::optional<std::string> read_text(const std::string& path) {
  const int opened = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return std::nullopt;
  const std::unique_ptr<std::FILE, Close> file(fdopen(opened, "rb"));
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file.get())) > 0;)
    text.append(part, n);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

bool replace_text(const std::string& path, std::string_view text) {
  std::error_code failed;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  const std::string fresh = cat(path, ".", getpid());
  std::FILE* file = std::fopen(fresh.c_str(), "wb");
  if (!file) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && written)
    std::filesystem::rename(fresh, path, failed = {});
  else
    failed = std::make_error_code(std::errc::io_error);
  if (!failed) return true;
  std::filesystem::remove(fresh, failed);
  return false;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace tessera
