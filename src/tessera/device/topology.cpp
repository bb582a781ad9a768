// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/text_file.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Raw memory for a measurement: outside the pools, so that budgets and peaks do not see it.
struct Scratch {
  ComputeDevice& backend;
  Device device;
  i64 bytes;
  bool pinned;
  void* data;

  Scratch(Device d, i64 n, ComputeDevice* pin_for)
      : backend(pin_for ? *pin_for : compute_device(d)),
        device(d),
        bytes(n),
        pinned(pin_for != nullptr),
        data(pinned ? backend.allocate_pinned(n) : backend.allocate(d.index, n)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (pinned)
      backend.release_pinned(data, bytes);
    else
      backend.release(device.index, data, bytes);
  }
};

struct ScratchStream {
  ComputeDevice& backend;
  int index;
  void* native;
  explicit ScratchStream(Device d)
      : backend(compute_device(d)), index(d.index), native(backend.make_stream(d.index)) {}
  ScratchStream(const ScratchStream&) = delete;
  ScratchStream& operator=(const ScratchStream&) = delete;
  ~ScratchStream() { backend.drop_stream(index, native); }
};

Link measure(Device from, Device to, i64 bytes) {
  const Device mine = from.kind == Kind::cpu ? to : from;  // the end that has a stream of its own
  ComputeDevice& backend = compute_device(mine);
  const auto pin = [&](Device d) { return d.kind != mine.kind ? &backend : nullptr; };
  const Scratch source(from, bytes, pin(from)), target(to, bytes, pin(to));
  const ScratchStream stream(mine);
  const auto best = [&](int times, i64 n) {
    double seconds = 1e30;
    for (int i = 0; i < times; ++i) {
      const auto start = Clock::now();
      backend.copy(mine.index, stream.native,
                   {.to = target.data,
                    .to_device = to,
                    .from = source.data,
                    .from_device = from,
                    .row_bytes = n});
      backend.sync_stream(mine.index, stream.native);
      seconds = std::min(seconds, seconds_since(start));
    }
    return std::max(seconds, 1e-9);
  };
  (void)best(1, bytes);  // touches the pages
  Link link{from, to};
  link.latency_seconds = best(8, 1);
  link.bytes_per_second =
      static_cast<double>(bytes) / std::max(best(3, bytes) - link.latency_seconds, 1e-9);
  link.direct = mine.kind == Kind::cpu || from.kind != to.kind || from == to ||
                backend.peer_access(from.index, to.index);
  return link;
}

// Large blocks where there is room for them; a device with a tiny memory is measured with less.
Link measure(Device from, Device to) {
  for (const i64 bytes : {i64{8} << 20, i64{1} << 20, i64{64} << 10}) try {
      return measure(from, to, bytes);
    } catch (const OutOfMemory&) {
    }
  trim_pool(from);
  trim_pool(to);
  return measure(from, to, 4096);
}

Link staged(Device from, Device to, const Link& up, const Link& down) {
  return {from, to, 1 / (1 / up.bytes_per_second + 1 / down.bytes_per_second),
          up.latency_seconds + down.latency_seconds, false};
}

const Link* find(const std::vector<Link>& links, Device from, Device to) {
  for (const Link& link : links)
    if (link.from == from && link.to == to) return &link;
  return nullptr;
}

// The sim devices are alike: the first stands for all.
Device representative(Device d, bool second) {
  if (d.kind != Kind::sim) return d;
  return {Kind::sim,
          static_cast<std::int16_t>(second && compute_device(Kind::sim).count() > 1 ? 1 : 0)};
}

std::optional<Topology> from_json(const json& list) {
  Topology t;
  for (const json& item : list)
    t.links.push_back({Device::parse(item.at("from").get<std::string>()),
                       Device::parse(item.at("to").get<std::string>()),
                       item.at("bytes_per_second").get<double>(),
                       item.at("latency_seconds").get<double>(), item.at("direct").get<bool>()});
  const std::vector<Device> all = devices();
  for (const Device from : all)
    for (const Device to : all) {
      const Link* link = find(t.links, from, to);
      if (!link || !(link->bytes_per_second > 0) || !(link->latency_seconds >= 0))
        return std::nullopt;
    }
  return t;
}

json to_json(const Topology& t) {
  json list = json::array();
  for (const Link& link : t.links)
    list.push_back({{"from", link.from.str()},
                    {"to", link.to.str()},
                    {"bytes_per_second", link.bytes_per_second},
                    {"latency_seconds", link.latency_seconds},
                    {"direct", link.direct}});
  return list;
}

json read_cache(const std::string& path) {
  const json cache = json::parse(read_text(path).value_or(""), nullptr, false);
  return cache.is_object() ? cache : json::object();
}

}  // namespace

double Topology::seconds(Device from, Device to, i64 bytes) const {
  const Link& l = link(from, to);
  return l.latency_seconds + static_cast<double>(bytes) / l.bytes_per_second;
}

const Link& Topology::link(Device from, Device to) const {
  const Link* found = find(links, from, to);
  require<DeviceError>(found != nullptr, "topology: no link from ", from, " to ", to,
                       "; one of them is not a device of this process");
  return *found;
}

std::string Topology::str() const {
  std::string text =
      fmt::format("{:8} {:8} {:>12} {:>12}  {}\n", "from", "to", "GB/s", "latency us", "way");
  for (const Link& l : links)
    text += fmt::format("{:8} {:8} {:12.2f} {:12.2f}  {}\n", l.from.str(), l.to.str(),
                        l.bytes_per_second / 1e9, l.latency_seconds * 1e6,
                        l.direct ? "direct" : "through the host");
  return text;
}

Topology measure_topology() {
  const std::vector<Device> all = devices();
  std::vector<Link> measured;
  const auto once = [&](Device from, Device to) {
    if (const Link* known = find(measured, from, to)) return *known;
    measured.push_back(measure(from, to));
    return measured.back();
  };
  Topology t;
  for (const Device from : all)
    for (const Device to : all) {
      const Device a = representative(from, false),
                   b = representative(to, from.kind == Kind::sim && from != to);
      Link link;
      if (a.kind != b.kind && a.kind != Kind::cpu && b.kind != Kind::cpu)
        link = staged(from, to, once(a, cpu), once(cpu, b));
      else
        link = once(a, b);
      link.from = from;
      link.to = to;
      t.links.push_back(link);
    }
  return t;
}

Topology cached_topology(const std::string& path) {
  if (path.empty()) return measure_topology();
  const std::string key = machine_key();
  json cache = read_cache(path);
  if (cache.contains(key)) try {
      if (auto known = from_json(cache[key])) return *known;
    } catch (const std::exception&) {
      // A damaged entry: measured again and replaced below.
    }
  Topology fresh = measure_topology();
  cache[key] = to_json(fresh);
  replace_text(path, cache.dump(1) + "\n");
  return fresh;
}

std::string cache_path(std::string_view file) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return cat(cache, "/tessera/", file);
  if (const char* home = std::getenv("HOME"); home && *home)
    return cat(home, "/.cache/tessera/", file);
  return "";
}

std::string machine_key() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string key = cat(host.data(), " / ", num_threads(), " threads / sim delay ",
                        static_cast<i64>(config().sim_delay_us));
  for (const Device d : devices()) key += cat(" / ", d, " ", compute_device(d).info(d.index).name);
  return key;
}

const Topology& topology() {
  static const auto* known = new Topology(cached_topology(cache_path("topology.json")));
  return *known;
}

}  // namespace tessera
