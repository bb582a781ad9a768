// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/trace.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/support.hpp"
#include "tessera/base/error.hpp"

namespace tessera {
namespace {

nlohmann::json read(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

TEST(Trace, WritesWhatChromeReads) {
  const std::string path = scratch_folder() + "/trace.json";
  {
    Span outside("before", "cpu");
    TraceFile trace(path);
    EXPECT_TRUE(tracing());
    EXPECT_THROW(TraceFile(scratch_folder() + "/second.json"), PlanError);
    {
      Span outer("outer \"quoted\"", "cpu", 100);
      Span inner("inner", "sim:0 stream 1");
    }
    std::thread([] { add_span("elsewhere", "cpu", 1000, 2500); }).join();
  }
  EXPECT_FALSE(tracing());
  const nlohmann::json events = read(path).at("traceEvents");
  std::vector<std::string> names, tracks;
  for (const auto& e : events) {
    if (e.at("ph") == "M") {
      tracks.push_back(e.at("args").at("name"));
      continue;
    }
    EXPECT_EQ(e.at("ph"), "X");
    names.push_back(e.at("name"));
    EXPECT_GE(e.at("dur").get<double>(), 0);
    if (e.at("name") == "elsewhere") {
      EXPECT_EQ(e.at("ts"), 1.0);
      EXPECT_EQ(e.at("dur"), 2.5);
    }
    if (e.at("name") == "outer \"quoted\"") {
      EXPECT_EQ(e.at("args").at("bytes"), 100);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"inner", "outer \"quoted\"", "elsewhere"}));
  EXPECT_EQ(tracks, (std::vector<std::string>{"sim:0 stream 1", "cpu"}));
}

TEST(Trace, CloseIsFinalAndAnotherMayFollow) {
  const std::string path = scratch_folder() + "/closed.json";
  TraceFile trace(path);
  trace.close();
  trace.close();
  TraceFile next(scratch_folder() + "/next.json");
  next.close();
  EXPECT_TRUE(read(path).at("traceEvents").empty());
}

TEST(Trace, UnwritablePathFailsAtOnce) {
  EXPECT_THROW(TraceFile("/no/such/folder/x.json"), IoError);
  EXPECT_FALSE(tracing());
}

TEST(Counters, AddFromManyThreadsAndReset) {
  reset_counters();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) count(Counter::runs, 2);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(counter(Counter::runs), 8000);
  bool listed = false;
  for (const auto& [name, value] : counters()) listed |= name == "runs" && value == 8000;
  EXPECT_TRUE(listed);
  reset_counters();
  EXPECT_EQ(counter(Counter::runs), 0);
}

}  // namespace
}  // namespace tessera
