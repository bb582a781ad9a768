// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/topology.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

void check(const Topology& t) {
  const std::vector<Device> all = devices();
  EXPECT_EQ(t.links.size(), all.size() * all.size());
  for (Device from : all)
    for (Device to : all) {
      const Link& link = t.link(from, to);
      EXPECT_GT(link.bytes_per_second, 0);
      EXPECT_GT(link.latency_seconds, 0);
      const bool staged = from.kind != to.kind && from.kind != Kind::cpu && to.kind != Kind::cpu;
      if (staged) {
        EXPECT_FALSE(link.direct);
      }
      if (from.kind == Kind::sim && to.kind == Kind::sim) {
        EXPECT_TRUE(link.direct);
      }
    }
}

TEST(Topology, EveryPairIsMeasuredOutsideThePools) {
  const i64 held = memory_stats(Device{Kind::sim, 0}).reserved;
  const Topology t = measure_topology();
  check(t);
  EXPECT_EQ(memory_stats(Device{Kind::sim, 0}).reserved, held);
  EXPECT_THROW((void)t.link(cpu, Device{Kind::sim, 500}), DeviceError);
  EXPECT_NE(t.str().find("sim:0"), std::string::npos);
}

TEST(Topology, SmallDevicesAreMeasuredWithLess) {
  Using<i64> memory(config().sim_memory, 100 << 10);
  EXPECT_GT(measure_topology().link(cpu, Device{Kind::sim, 0}).bytes_per_second, 0);
}

TEST(Topology, CacheIsWrittenReadAndRepaired) {
  const std::string path = scratch_folder() + "/deep/er/topology.json";
  check(cached_topology(path));
  ASSERT_TRUE(std::filesystem::exists(path));
  // A value planted in the file comes back: it is read, not measured again.
  nlohmann::json cache;
  std::ifstream(path) >> cache;
  const auto plant = [&](const nlohmann::json& value) {
    for (auto& [key, list] : cache.items())
      for (auto& link : list)
        if (link["from"] == "cpu" && link["to"] == "sim:0") link["bytes_per_second"] = value;
    std::ofstream(path) << cache.dump();
  };
  plant(123.0);
  EXPECT_EQ(cached_topology(path).link(cpu, Device{Kind::sim, 0}).bytes_per_second, 123.0);
  for (const nlohmann::json& bad :
       {nlohmann::json(-1.0), nlohmann::json("fast"), nlohmann::json(nullptr)}) {
    plant(bad);
    check(cached_topology(path));
  }
  for (const char* damage : {"", "{", "[1,2]", "{\"a\": 3}", "\x01\xff\x80"}) {
    std::ofstream(path) << damage;
    check(cached_topology(path));
    plant(7.0);
    const nlohmann::json rewritten = nlohmann::json::parse(std::ifstream(path), nullptr, false);
    EXPECT_TRUE(rewritten.is_object()) << damage;
  }
  check(
      cached_topology("/proc/nowhere/topology.json"));  // cannot be written: measured all the same
}

TEST(Topology, PathFollowsTheEnvironment) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", "/tmp/some", 1);
  EXPECT_EQ(cache_path("topology.json"), "/tmp/some/tessera/topology.json");
  before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tessera
