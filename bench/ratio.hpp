// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ours beside a peer, in one run: both are timed in turns, so that a noisy machine disturbs them
// alike, and the ratio is the median over the rounds. Rows are printed as a table and written as
// JSON by main.cpp.
//   compare("add, 256 MB", "triad", 0.9, [&] { ops(); }, [&] { triad(); });

#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

struct Row {
  std::string name, peer;
  double ours = 0, theirs = 0;  // median seconds of one call
  double speed = 0;             // theirs / ours: above 1 we are faster
  double goal = 0;              // what the speed should reach; 0 = for information
  std::string note;
};

// The rows so far, in order.
std::vector<Row>& rows();

// `speed` of one call of ours against one of the peer's.
void compare(std::string name, std::string peer, double goal, const std::function<void()>& ours,
             const std::function<void()>& theirs, std::string note = {});
// Ours alone against a fixed number of seconds per call; speed = limit / ours, goal 1.
void within(std::string name, double limit_seconds, const std::function<void()>& ours,
            std::string note = {});

// One function per file bench/bench_*.cpp.
void bench_memory();
void bench_matmul();
void bench_linalg();
void bench_bits();
void bench_fft();
void bench_chain();
void bench_tiles();
void bench_device();
void bench_dispatch();
void bench_cuda_algebra();
void bench_solve();
void bench_split();

}  // namespace tessera::bench
