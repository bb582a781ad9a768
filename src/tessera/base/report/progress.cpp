// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "tessera/base/config.hpp"

namespace tessera {
namespace {
constexpr int bar_width = 30;
constexpr auto redraw_interval = std::chrono::milliseconds(100);
constinit std::atomic<ProgressHook> progress_hook{nullptr};
}  // namespace

void set_progress_hook(ProgressHook hook) { progress_hook.store(hook); }

Progress::Progress(std::string name, i64 total, bool enabled)
    : name_(std::move(name)),
      total_(std::max<i64>(total, 1)),
      enabled_(enabled && config().progress),
      terminal_(on_terminal()),
      started_(Clock::now()) {}

bool Progress::on_terminal() { return isatty(STDERR_FILENO) != 0; }

Progress::~Progress() {
  if (!enabled_) return;
  draw(true);
}

void Progress::update(i64 done, std::string_view note) {
  done_ = done;
  if (!enabled_) return;
  note_ = note;
  const auto now = Clock::now();
  if ((!terminal_ && progress_hook.load() == nullptr) || now - drawn_ < redraw_interval) return;
  drawn_ = now;
  draw(false);
}

void Progress::draw(bool ended) {
  if (const ProgressHook hook = progress_hook.load())
    if (hook({this, name_, note_, done_, total_, ended})) return;
  if (!terminal_ && !ended) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const int filled = static_cast<int>(bar_width * std::min(done_, total_) / total_);
  const double left = done_ > 0 ? seconds / static_cast<double>(done_) *
                                      static_cast<double>(std::max<i64>(total_ - done_, 0))
                                : 0;
  const std::string line =
      fmt::format("{}{} [{}{}] {}/{} {:.1f} s{}  {}{}", terminal_ ? "\r\x1b[K" : "", name_,
                  std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(bar_width - filled), '.'), done_, total_,
                  seconds, done_ < total_ && left > 0 ? fmt::format(", {:.1f} s left", left) : "",
                  note_, ended ? "\n" : "");
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace tessera
