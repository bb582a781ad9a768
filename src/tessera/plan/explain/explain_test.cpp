// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "support/devices.hpp"
#include "support/support.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {
namespace {

// y = w x on sim:1 for arrays of the host, by operators inside an operator.
Plan away(const std::string& inner = "inner") {
  Recorder r;
  const Layout l = Layout::contiguous({7});
  const View x = r.input(l, DType::f32, cpu), y = r.output(l, DType::f32, cpu);
  const Recorder::Scope outer(r, "outer", x, y);
  const View there = r.temporary({7}, DType::f32, sim1), done = r.temporary({7}, DType::f32, sim1);
  record::copy(r, x, there);
  {
    const Recorder::Scope scope(r, inner, there, done);
    record::multiply(r, r.constant(ones({7}, DType::f32, sim1)), there, done);
  }
  record::copy(r, done, y);
  return Plan(std::move(r), "away");
}

nlohmann::json data_of(const std::string& page) {
  const std::string mark = "id=\"data\">";
  const std::size_t from = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

i64 occurrences(const std::string& text, const std::string& part) {
  i64 n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(PlanTree, FollowsTheScopes) {
  const Plan p = away();
  ASSERT_EQ(p.tree().size(), 2u);
  EXPECT_EQ(p.tree()[0].name, "outer");
  EXPECT_EQ(p.tree()[0].parent, -1);
  EXPECT_EQ(p.tree()[1].name, "inner");
  EXPECT_EQ(p.tree()[1].parent, 0);
  EXPECT_EQ(p.tree()[1].in.shape(), (Shape{7}));
  std::vector<int> scopes;
  for (const Step& s : p.steps()) scopes.push_back(s.scope);
  EXPECT_EQ(scopes, (std::vector<int>{0, 1, 0}));
  for (const Slot& s : p.slots())
    EXPECT_EQ(s.scope, s.kind == SlotKind::constant ? 1 : s.kind == SlotKind::temporary ? 0 : -1);
  EXPECT_EQ(p.steps()[1].label, "inner: multiply");
}

TEST(ExplainHtml, DrawsStepsLanesAndMemory) {
  const Plan p = away("<script>alert(1)</script>");
  const std::string page = p.explain(ExplainFormat::html);
  const nlohmann::json data = data_of(page);
  ASSERT_EQ(data.at("steps").size(), p.steps().size());
  EXPECT_EQ(data.at("lanes").size(), p.lanes().size());
  EXPECT_EQ(data.at("parents"), (std::vector<int>{-1, 0}));
  ASSERT_EQ(data.at("memory").size(), 1u);
  EXPECT_EQ(data.at("memory")[0].at("bytes"), p.workspace(sim1));
  EXPECT_FALSE(data.contains("trace"));
  EXPECT_EQ(occurrences(page, "<script"), 2);
  EXPECT_EQ(occurrences(page, "</script>"), 2);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_NE(p.repr_html().find("&lt;script&gt;"), std::string::npos);
}

TEST(ExplainHtml, TimesComeFromTheLastTracedRun) {
  const Plan p = away();
  const std::string path = scratch_folder() + "/away.json";
  const Array x = ones({7}, DType::f32, cpu).contiguous(),
              y = ones({7}, DType::f32, cpu).contiguous();
  tessera::Run run = p.instance();
  {
    TraceFile trace(path);
    run(x, y);
    run(x, y);
    run.sync();
  }
  const nlohmann::json trace = data_of(p.explain_html(path)).at("trace");
  std::vector<int> steps;
  for (const auto& s : trace.at("spans"))
    if (s[4] >= 0) {
      steps.push_back(s[4]);
      EXPECT_GE(s[1], 0);
      const std::string track = trace.at("tracks").at(s[0].get<std::size_t>());
      EXPECT_TRUE(track.starts_with("sim:1 stream ")) << track;
    }
  EXPECT_EQ(steps, (std::vector<int>{0, 1, 2}));  // by start, so in the order that they wait for
  EXPECT_EQ(trace.at("tracks")[0], "runs");
  EXPECT_THROW((void)p.explain_html(scratch_folder() + "/none.json"), IoError);
}

// Disk to host, host to device, device, device to host, host to disk: what was moved while a plan ran
// is drawn on either side of its streams, in this order.
TEST(ExplainHtml, DisksHaveLanesOfTheirOwn) {
  const Plan p = away();
  const std::string path = scratch_folder() + "/disks.json";
  const Array x = ones({7}, DType::f32, cpu).contiguous(),
              y = ones({7}, DType::f32, cpu).contiguous();
  tessera::Run run = p.instance();
  {
    TraceFile trace(path);
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    const i64 begin = now();
    add_span("io.read", "disk", begin - 1'000'000'000, 1000, 5);  // before, and over
    run(x, y);
    run.sync();
    const i64 took = now() - begin;
    add_span("io.write", "disk", begin, took, 28);
    add_span("io.read", "disk", begin, took, 64);
    add_span("io.prefetch", "disk", begin, took, 128);
  }
  const nlohmann::json data = data_of(p.explain_html(path)), trace = data.at("trace");
  const auto& tracks = trace.at("tracks");
  EXPECT_EQ(tracks.front(), "runs");
  EXPECT_EQ(tracks.at(1), "disk -> host");
  EXPECT_EQ(tracks.back(), "host -> disk");
  ASSERT_GE(tracks.size(), 4U);  // and the streams of the device
  std::map<std::string, i64> moved;
  for (const auto& s : trace.at("spans")) {
    const std::string name = data.at("texts").at(s[3].get<std::size_t>()),
                      track = tracks.at(s[0].get<std::size_t>());
    if (name.starts_with("io.")) moved[track] += s[5].get<i64>();
    EXPECT_EQ(track == "disk -> host" || track == "host -> disk", name.starts_with("io.")) << name;
  }
  EXPECT_EQ(moved, (std::map<std::string, i64>{{"disk -> host", 192}, {"host -> disk", 28}}));
}

TEST(ExplainHtml, PlansWithoutOperatorsOrStepsHaveAPage) {
  Recorder r;
  const Layout l = Layout::contiguous({3});
  record::copy(r, r.input(l, DType::f32, cpu), r.output(l, DType::f32, cpu));
  const std::string page = std::move(r).finish().explain(ExplainFormat::html);
  EXPECT_NE(page.find("without operators"), std::string::npos);
  EXPECT_TRUE(data_of(page).at("memory").empty());
  EXPECT_TRUE(data_of(Plan(Recorder{}, "empty").explain(ExplainFormat::html)).at("steps").empty());
}

}  // namespace
}  // namespace tessera
