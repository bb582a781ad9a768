// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/pipeline.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/devices.hpp"
#include "tessera/base/config.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {
namespace {

// y[k] = 2 x[k] for `parts` rows, each computed on one of the devices in turn.
Plan rows(i64 parts, const std::vector<Device>& devices, bool sum = false) {
  Recorder r;
  const View x = r.input(Layout::contiguous({parts, 100}), DType::f32, cpu);
  const View y =
      r.output(Layout::contiguous(sum ? Shape{100} : Shape{parts, 100}), DType::f32, cpu);
  Recorder::Parts marks(r, cpu);
  for (i64 k = 0; k < parts; ++k) {
    marks.next();
    const Device d = devices[static_cast<std::size_t>(k) % devices.size()];
    const View in = r.resident(sub_view(x, x.layout.select(0, k)), d);
    const View out = r.temporary({100}, DType::f32, d);
    record::scale(r, Value(2.0), in, out);
    if (!sum) {
      record::copy(r, out, sub_view(y, y.layout.select(0, k)));
    } else if (k == 0) {
      record::copy(r, out, y);
    } else {
      const View t = r.temporary({100}, DType::f32, cpu);
      record::copy(r, out, t);
      record::add(r, y, t, y);
    }
  }
  return Plan(std::move(r), "rows");
}

int position(const Plan& p, Step::Kind kind, Device to, int nth) {
  for (std::size_t t = 0; t < p.steps().size(); ++t) {
    const Step& s = p.steps()[t];
    if (s.kind == kind && p.slots()[static_cast<std::size_t>(s.write().slot)].device == to &&
        nth-- == 0)
      return static_cast<int>(t);
  }
  return -1;
}

TEST(Pipeline, TheNextPartIsLoadedBeforeThisOneIsComputed) {
  const Plan p = rows(4, {sim0});
  for (int k = 0; k + 1 < 4; ++k)
    EXPECT_LT(position(p, Step::Kind::transfer, sim0, k + 1),
              position(p, Step::Kind::launch, sim0, k));
  for (int k = 0; k + 1 < 4; ++k)  // and stored after the next one was asked for
    EXPECT_GT(position(p, Step::Kind::transfer, cpu, k),
              position(p, Step::Kind::launch, sim0, k + 1));
  // Two buffers, not four.
  EXPECT_LE(p.workspace(sim0), 4 * 448);
  EXPECT_GE(p.workspace(sim0), 2 * 400);
}

TEST(Pipeline, LoadsDoNotWaitForTheComputingThatRuns) {
  const Plan p = rows(4, {sim0});
  const int load = position(p, Step::Kind::transfer, sim0, 1);
  for (int u : p.steps()[static_cast<std::size_t>(load)].waits)
    EXPECT_NE(u, position(p, Step::Kind::launch, sim0, 0));
}

TEST(Pipeline, OffItKeepsOneBuffer) {
  const Using off(config().pipeline, false);
  const Plan p = rows(4, {sim0});
  EXPECT_LE(p.workspace(sim0), 2 * 448);
  EXPECT_GT(position(p, Step::Kind::transfer, sim0, 1), position(p, Step::Kind::launch, sim0, 0));
}

TEST(Pipeline, ResultsDoNotDependOnIt) {
  for (const bool on : {true, false})
    for (const bool sum : {true, false})
      for (const auto& devices : {std::vector{sim0}, {sim0, sim1}, {sim0, sim0, sim1, sim1}}) {
        const Using setting(config().pipeline, on);
        const Using delay(config().sim_delay_us, i64{20});
        const Plan p = rows(7, devices, sum);
        auto run = p.instance();
        const Array x = Array::empty({7, 100}, DType::f32, cpu).contiguous();
        for (int again = 0; again < 3; ++again) {
          for (i64 k = 0; k < 7; ++k) x.select(0, k).fill(Value(static_cast<double>(k + again)));
          const Array y =
              Array::empty(sum ? Shape{100} : Shape{7, 100}, DType::f32, cpu).contiguous();
          run(x, y);
          for (i64 k = 0; k < (sum ? 1 : 7); ++k) {
            const Array row = sum ? y : y.select(0, k);
            const double expected =
                sum ? 2.0 * (21 + 7 * again) : 2.0 * static_cast<double>(k + again);
            EXPECT_EQ(row.select(0, 99).item().as<double>(), expected);
            EXPECT_EQ(row.select(0, 0).item().as<double>(), expected);
          }
        }
      }
}

TEST(Pipeline, SlicesOfOneOutputDoNotWaitForEachOther) {
  const Plan p = rows(4, {sim0, sim1});
  const int first = position(p, Step::Kind::transfer, cpu, 0);
  const Step& second =
      p.steps()[static_cast<std::size_t>(position(p, Step::Kind::transfer, cpu, 1))];
  for (int u : second.waits) EXPECT_NE(u, first);
}

TEST(Pipeline, NothingIsWaitedForTwice) {
  for (const bool sum : {false, true}) {
    const Plan p = rows(7, {sim0, sim1}, sum);
    std::map<std::pair<int, int>, int> latest;  // by who waits for whom, lane by lane
    int waits = 0;
    for (const Step& s : p.steps())
      for (const int u : s.waits) {
        const int other = p.steps()[static_cast<std::size_t>(u)].lane;
        EXPECT_NE(other, s.lane);
        const auto [it, first] = latest.emplace(std::pair(s.lane, other), -1);
        EXPECT_LT(it->second, u);
        it->second = u;
        ++waits;
      }
    EXPECT_GE(waits, 14);  // each part for its input and for what it gives
  }
}

// What a part needs in the middle of its work, and nobody computes, is on its way before.
TEST(Pipeline, ArraysOfOperatorsAreFetchedAhead) {
  Recorder r;
  const View x = r.input(Layout::contiguous({3, 100}), DType::f32, cpu);
  const View y = r.output(Layout::contiguous({3, 100}), DType::f32, cpu);
  const Array w = Array::empty({3, 100}, DType::f32, cpu);
  {
    Recorder::Parts marks(r, cpu);
    const Recorder::Residence there(r, sim0, Recorder::Constants::fetched);
    for (i64 k = 0; k < 3; ++k) {
      marks.next();
      const View in = r.resident(sub_view(x, x.layout.select(0, k)), sim0);
      const View t = r.temporary({100}, DType::f32, sim0), u = r.temporary({100}, DType::f32, sim0);
      record::scale(r, Value(2.0), in, t);
      record::multiply(r, r.constant(w.select(0, k)), t, u);
      record::copy(r, u, sub_view(y, y.layout.select(0, k)));
    }
  }
  const Plan p(std::move(r), "fetched ahead");
  // Input and weight of part 1 are asked for before part 0 computes.
  EXPECT_LT(position(p, Step::Kind::transfer, sim0, 3), position(p, Step::Kind::launch, sim0, 0));
}

TEST(Pipeline, APlanThatAssumesItsConstantsDoesNotRun) {
  Recorder r;
  const View x = r.input(Layout::contiguous({3}), DType::f32, sim0);
  const View y = r.output(Layout::contiguous({3}), DType::f32, sim0);
  const Array w = Array::empty({3}, DType::f32, cpu);
  {
    const Recorder::Residence there(r, sim0, Recorder::Constants::assumed);
    record::multiply(r, r.constant(w), x, y);
  }
  const Plan p(std::move(r), "forecast");
  EXPECT_EQ(p.transferred_bytes(), 0);
  EXPECT_THROW(p.instance(), PlanError);
}

}  // namespace
}  // namespace tessera
