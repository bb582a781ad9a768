// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of streaming operations ask of every plan: bytes read and written as printed, a peak
// within the budget, a refusal that names the least budget, failures that pass and leave nothing
// under way.
//   for (const i64 budget : budgets_of([&](Options o) { return plan_copy(a, b, o); }, all)) ...

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "support/stores.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera {

using Watched = std::shared_ptr<WatchedStore>;

inline Watched watched(const Array& a, const Shape& tile) {
  return std::make_shared<WatchedStore>(store::memory_store(a, tile));
}
// A store of poison.
inline Watched fresh(const Shape& shape, DType t, const Shape& tile) {
  return watched(Array::empty(shape, t), tile);
}
inline Array whole(store::TileStore& s) { return store::read_box(s, s.grid().whole()); }

// The least budget, as the refusal of one byte names it.
template <class Plan>
i64 least_budget(Plan&& plan) {
  try {
    plan(streaming::Options{.budget = 1});
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    const auto at = text.find("the least for these operands is ");
    EXPECT_NE(at, std::string::npos) << text;
    return std::atoll(text.c_str() + at + 32);
  }
  ADD_FAILURE() << "a budget of one byte was not refused";
  return 1;
}

// From the least to more than everything.
template <class Plan>
std::vector<i64> budgets_of(Plan&& plan, i64 everything) {
  const i64 least = least_budget(plan);
  EXPECT_THROW(plan(streaming::Options{.budget = least - 1}), OutOfMemory);
  std::vector<i64> out{least, least + 1000, 2 * least};
  for (const double part : {0.1, 0.3, 0.7, 1.0, 3.0})
    if (const i64 b = static_cast<i64>(part * static_cast<double>(everything)); b > least)
      out.push_back(b);
  out.push_back(0);
  return out;
}

// Runs a plan and checks what it said of itself.
inline Array run_checked(streaming::StreamPlan plan, i64 budget,
                         const std::vector<Watched>& stores) {
  for (const Watched& s : stores) {
    s->bytes_read = 0;
    s->bytes_written = 0;
  }
  if (budget > 0) {
    EXPECT_LE(plan.bytes_held(), budget);
  }
  const Device device = plan.figures().device;
  const i64 before = memory_stats(device).in_use, host = memory_stats(cpu).in_use;
  reset_peak(device);
  reset_peak(cpu);
  const Array result = plan.run();
  EXPECT_LE(memory_stats(device).peak - before, plan.bytes_held()) << plan.explain();
  if (device != cpu) {
    EXPECT_LE(memory_stats(cpu).peak - host, 4096) << plan.explain();
  }
  i64 read = 0, written = 0;
  for (const Watched& s : stores) {
    read += s->bytes_read;
    written += s->bytes_written;
    EXPECT_EQ(s->under_way, 0);
  }
  EXPECT_EQ(read, plan.bytes_read());
  EXPECT_EQ(written, plan.bytes_written());
  const std::string text = plan.explain();
  EXPECT_NE(text.find(cat("reads ", streaming::exact_bytes(read), ", writes ",
                          streaming::exact_bytes(written))),
            std::string::npos)
      << text;
  return result;
}

// Every store fails at every n-th read and write, at once and late; the error passes.
template <class Run>
void fail_everywhere(const std::vector<Watched>& stores, Run&& run) {
  for (const Watched& s : stores)
    for (const bool late : {false, true})
      for (const bool reading : {true, false})
        for (i64 n = 0;; n = 2 * n + 1) {
          s->reads = s->writes = 0;
          s->fail_late = late;
          (reading ? s->fail_read_at : s->fail_write_at) = n;
          bool failed = false;
          try {
            run();
          } catch (const IoError&) {
            failed = true;
          }
          const i64 came = reading ? s->reads : s->writes;
          s->fail_read_at = s->fail_write_at = -1;
          EXPECT_EQ(failed, came > n);
          for (const Watched& other : stores) EXPECT_EQ(other->under_way, 0);
          if (!failed) break;
        }
}

}  // namespace tessera
