// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/job_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "tessera/base/error.hpp"
#include "tessera/base/hash.hpp"

namespace tessera::streaming {
namespace {

constexpr std::string_view first_line = "tessera job 1\n";
constexpr i64 place_bytes = 64, largest = i64{1} << 20;

std::uint64_t sum_of(std::string_view text) { return hash_bytes(text.data(), text.size()); }

std::string padded(const std::string& said) {
  std::string text = fmt::format("{} {:016x}", said, sum_of(said));
  text.resize(static_cast<std::size_t>(place_bytes) - 1, ' ');
  return text + '\n';
}
std::string place_text(i64 step) { return padded(fmt::format("next step {:020}", step)); }
std::string plan_text(std::uint64_t fingerprint) {
  return padded(fmt::format("plan {:016x}", fingerprint));
}

// The step that a place says, or -1.
i64 step_of(std::string_view place) {
  constexpr std::string_view start = "next step ";
  i64 step = -1;
  if (!place.starts_with(start)) return -1;
  const std::string_view digits = place.substr(start.size(), 20);
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return step >= 0 && place_text(step) == place ? step : -1;
}

// The fingerprint that a place says, or 0.
std::uint64_t plan_of(std::string_view place) {
  constexpr std::string_view start = "plan ";
  std::uint64_t fingerprint = 0;
  if (!place.starts_with(start)) return 0;
  const std::string_view digits = place.substr(start.size(), 16);
  std::from_chars(digits.data(), digits.data() + digits.size(), fingerprint, 16);
  return plan_text(fingerprint) == place ? fingerprint : 0;
}

bool has_name(int file, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Whoever had the lock before may have removed the file between our opening and our locking: then
// what is locked is a file without a name, and the next process would lock another one.
JobFile::JobFile(std::string path) : path_(std::move(path)) {
  for (int tries = 1; handle_ < 0; ++tries) {
    handle_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    require<IoError>(handle_ >= 0, "cannot open '", path_, "': ", std::strerror(errno));
    if (flock(handle_, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      close(handle_);
      require<IoError>(why == EWOULDBLOCK, "cannot lock '", path_, "': ", std::strerror(why),
                       "; a job needs a file system with locks");
      throw IoError(cat("'", path_, "': another process works on this job"));
    }
    if (has_name(handle_, path_)) break;
    close(std::exchange(handle_, -1));
    require<IoError>(tries < 1000, "'", path_, "' is removed or replaced whenever it is opened");
  }
  try {
    read();
  } catch (...) {
    close(handle_);
    throw;
  }
}

JobFile::~JobFile() {
  if (handle_ >= 0) close(handle_);
}

std::string JobFile::fact(std::string_view what) const {
  for (const auto& [key, text] : facts_)
    if (key == what) return text;
  return {};
}

// JobFacts, the line of their sum, then the two places. What is not whole counts as not there: the
// first step begins after all of it was written.
void JobFile::read() {
  struct stat status {};
  require<IoError>(fstat(handle_, &status) == 0 && S_ISREG(status.st_mode), "'", path_,
                   "' is not a regular file");
  require<IoError>(status.st_size <= largest, "'", path_, "' is not the file of a job");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = pread(handle_, text.data(), text.size(), 0);
  require<IoError>(got >= 0, "cannot read '", path_, "': ", std::strerror(errno));
  text.resize(static_cast<std::size_t>(got));
  if (text.empty()) return;
  require<IoError>(text.starts_with(first_line.substr(0, text.size())), "'", path_,
                   "' is not the file of a job");
  const std::size_t end = text.find("\nsum ");
  if (end == std::string::npos) return;
  const std::string head = text.substr(0, end + 1);
  const std::string sum = fmt::format("sum {:016x}\n", sum_of(head));
  const auto place = [&](i64 k) {
    const std::size_t at = head.size() + sum.size() + static_cast<std::size_t>(k * place_bytes);
    return at < text.size() ? text.substr(at, static_cast<std::size_t>(place_bytes))
                            : std::string();
  };
  const i64 steps[] = {step_of(place(0)), step_of(place(1))};
  if (text.compare(head.size(), sum.size(), sum) != 0 || std::max(steps[0], steps[1]) < 0) return;
  next_ = std::max(steps[0], steps[1]);
  turn_ = steps[0] >= steps[1] ? 1 : 0;
  plan_ = plan_of(place(2));
  places_ = static_cast<i64>(head.size() + sum.size());
  for (std::size_t at = first_line.size(); at < head.size();) {
    const std::size_t stop = head.find('\n', at), colon = head.find(": ", at);
    if (colon != std::string::npos && colon < stop)
      facts_.emplace_back(head.substr(at, colon - at), head.substr(colon + 2, stop - colon - 2));
    at = stop + 1;
  }
}

void JobFile::put(const std::string& text, i64 offset) const {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n =
        pwrite(handle_, text.data() + done, text.size() - done, offset + static_cast<i64>(done));
    if (n < 0 && errno == EINTR) continue;
    require<IoError>(n > 0, "cannot write '", path_, "': ", std::strerror(errno));
    done += static_cast<std::size_t>(n);
  }
  require<IoError>(fdatasync(handle_) == 0, "cannot bring '", path_,
                   "' to disk: ", std::strerror(errno));
}

void JobFile::begin(const JobFacts& facts) {
  facts_.clear();
  std::string head(first_line);
  for (const auto& [key, text] : facts) {
    facts_.emplace_back(key, text);
    head += cat(key, ": ", text, "\n");
  }
  const std::string sum = fmt::format("sum {:016x}\n", sum_of(head));
  places_ = static_cast<i64>(head.size() + sum.size());
  next_ = 0;
  turn_ = 1;
  plan_ = 0;
  require<IoError>(ftruncate(handle_, 0) == 0, "cannot empty '", path_,
                   "': ", std::strerror(errno));
  put(head + sum + place_text(0) + place_text(0), 0);
}

void JobFile::set_next(i64 step) {
  put(place_text(step), places_ + turn_ * place_bytes);
  turn_ = 1 - turn_;
  next_ = step;
}

void JobFile::set_plan(std::uint64_t fingerprint) {
  put(plan_text(fingerprint), places_ + 2 * place_bytes);
  plan_ = fingerprint;
}

void JobFile::remove() noexcept { unlink(path_.c_str()); }

}  // namespace tessera::streaming
