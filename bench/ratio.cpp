// SPDX-License-Identifier: Apache-2.0
#include "ratio.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace tessera::bench {
namespace {

constexpr int rounds = 15;
constexpr double seconds_per_sample = 0.02;

double time_calls(const std::function<void()>& f, long calls) {
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(calls);
}

// As many calls as fill a sample, after a warm-up that also plans and allocates.
long calls_for(const std::function<void()>& f) {
  f();
  f();
  const double one = std::max(time_calls(f, 1), 1e-9);
  return std::max(1L, static_cast<long>(seconds_per_sample / one));
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void add(Row row) {
  const char* verdict = row.goal <= 0 ? "" : row.speed >= row.goal ? "reached" : "MISSED";
  std::printf("%-44s %10.3f us  %-24s %10.3f us  %6.2f  goal %4.2f  %s %s\n", row.name.c_str(),
              row.ours * 1e6, row.peer.c_str(), row.theirs * 1e6, row.speed, row.goal, verdict,
              row.note.c_str());
  std::fflush(stdout);
  rows().push_back(std::move(row));
}

}  // namespace

std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}

void compare(std::string name, std::string peer, double goal, const std::function<void()>& ours,
             const std::function<void()>& theirs, std::string note) {
  const long n = calls_for(ours), m = calls_for(theirs);
  std::vector<double> a, b, speed;
  for (int i = 0; i < rounds; ++i) {
    a.push_back(time_calls(ours, n));
    b.push_back(time_calls(theirs, m));
    speed.push_back(b.back() / a.back());
  }
  add({std::move(name), std::move(peer), median(a), median(b), median(speed), goal,
       std::move(note)});
}

void within(std::string name, double limit_seconds, const std::function<void()>& ours,
            std::string note) {
  const long n = calls_for(ours);
  std::vector<double> a;
  for (int i = 0; i < rounds; ++i) a.push_back(time_calls(ours, n));
  const double t = median(a);
  add({std::move(name), "limit", t, limit_seconds, limit_seconds / t, 1, std::move(note)});
}

}  // namespace tessera::bench
