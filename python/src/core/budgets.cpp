// SPDX-License-Identifier: Apache-2.0
// Budgets, use and peaks of each tier: conversion only. What people call is in tessera/_budgets.py.
#include "core/budgets.hpp"

#include <algorithm>

#include "core/sequence.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/store/tiers/backing_file.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// A tier: memory of a device, pinned memory of the host, or the disk with the backing folder.
struct Tier {
  enum class Kind : std::uint8_t { device, pinned, disk } kind = Kind::device;
  Device device = cpu;

  std::string str() const {
    return kind == Kind::pinned ? "pinned" : kind == Kind::disk ? "disk" : device.str();
  }
  MemoryStats stats() const {
    return kind == Kind::pinned ? pinned_stats()
           : kind == Kind::disk ? store::disk_stats()
                                : memory_stats(device);
  }
  i64 total() const {
    return kind == Kind::disk ? store::disk_total()
                              : memory_total(kind == Kind::pinned ? cpu : device);
  }
  // Bytes that could be had now if there were no budget.
  i64 available() const {
    if (kind == Kind::disk) return store::disk_left();
    if (kind == Kind::pinned || device == cpu) return host_memory_available();
    return compute_device(device).info(device.index).memory_free;
  }
  i64 budget_set() const {
    return kind == Kind::pinned ? pinned_budget_set()
           : kind == Kind::disk ? store::disk_budget_set()
                                : memory_budget_set(device);
  }
  void set_budget(i64 bytes) const {
    if (kind == Kind::pinned) return set_pinned_budget(bytes);
    if (kind == Kind::disk) return store::set_disk_budget(bytes);
    set_memory_budget(device, bytes);
  }
};

Tier tier_from(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) {
    const auto text = nb::cast<std::string>(h);
    if (text == "pinned") return {Tier::Kind::pinned};
    if (text == "disk") return {Tier::Kind::disk};
    if (text == "host") return {};
  }
  return {Tier::Kind::device, device_from(h)};
}

// Bytes, text, a share of what the tier has, or "default": what the settings say.
i64 amount_from(nb::handle given, const Tier& tier, std::string_view role) {
  const std::string who = cat("set_memory_budget: ", role);
  if (!PyUnicode_Check(given.ptr())) {
    const i64 bytes = int_from(given, who);
    require<ArgumentError>(bytes >= 0, who, " is ", bytes,
                           " bytes; expected a number from 0 on (0: no limit), or text as "
                           "\"2GiB\", \"50%\", \"default\"");
    return bytes;
  }
  const auto text = nb::cast<std::string>(given);
  if (text == "default") return config_decides;
  try {
    const i64 budget = parse_budget(text);
    return budget >= 0 ? budget : budget_bytes(budget, tier.total());
  } catch (const ArgumentError& e) {
    throw ArgumentError(cat(who, ": ", e.what()));
  }
}

// Everything is read before anything is set: (tier, bytes) in the order in which they were given.
nb::list budgets_of(nb::handle host, nb::handle device, nb::handle pinned, nb::handle disk) {
  nb::list all;
  auto add = [&](nb::handle given, const Tier& tier, std::string_view role) {
    if (!given.is_none()) all.append(nb::make_tuple(tier.str(), amount_from(given, tier, role)));
  };
  add(host, {}, "host");
  if (PyDict_Check(device.ptr())) {
    for (auto [where, bytes] : nb::borrow<nb::dict>(device)) {
      const Tier tier{Tier::Kind::device, device_from(where)};
      (void)memory_total(tier.device);  // a device that is not there is said now
      add(bytes, tier, cat("device ", tier.str()));
    }
  } else if (!device.is_none()) {
    for (const Device d : devices())
      if (d.kind != Kind::cpu) add(device, {Tier::Kind::device, d}, "device");
  }
  add(pinned, {Tier::Kind::pinned}, "pinned");
  add(disk, {Tier::Kind::disk}, "disk");
  return all;
}

nb::dict stats_of(nb::handle where) {
  const Tier tier = tier_from(where);
  MemoryStats s = tier.stats();
  if (tier.kind == Tier::Kind::disk) s.reserved = store::disk_occupied();
  nb::dict d;
  d["in_use"] = s.in_use;
  d["peak"] = s.peak;
  d["reserved"] = s.reserved;
  d["budget"] = s.budget;
  return d;
}

// What a request could still get: the rest of the budget, and no more than there is.
i64 left_of(nb::handle where) {
  const Tier tier = tier_from(where);
  const MemoryStats s = tier.stats();
  const i64 there = tier.available();
  return s.budget > 0 ? std::clamp<i64>(s.budget - s.in_use, 0, there) : there;
}

void reset_peak_of(nb::handle where) {
  const Tier tier = tier_from(where);
  require<ArgumentError>(tier.kind != Tier::Kind::pinned,
                         "reset_peak: expected a device or 'disk', got 'pinned'");
  if (tier.kind == Tier::Kind::disk) return store::reset_disk_peak();
  reset_peak(tier.device);
}

void bind_folder(nb::module_& m) {
  m.def(
      "_set_backing_dir",
      [](nb::handle path) {
        const std::string folder = path.is_none() ? "" : path_from(path);
        require<ArgumentError>(path.is_none() || !folder.empty(),
                               "set_backing_dir: the path of a folder is empty; None takes back "
                               "what was set");
        released([&] { store::set_backing_dir(folder); });
      },
      "path"_a.none());
  m.def("_backing_dir_set", &store::backing_dir_set);
  m.def("backing_dir", &store::backing_dir,
        "The folder for files of arrays that memory does not hold: the one of "
        "`ts.set_backing_dir`, else of the\nenvironment (TESSERA_BACKING_DIR, then TMPDIR), else "
        "/var/tmp.\n\n>>> import os; os.path.isabs(ts.backing_dir())\nTrue\n");
}

}  // namespace

void bind_budgets(nb::module_& m) {
  m.def("memory_stats", &stats_of, "device"_a.none() = "cpu",
        nb::sig("def memory_stats(device: DeviceLike = 'cpu') -> dict[str, int]"),
        "Bytes in use, at the peak, reserved from the device, and the budget (0: none); of "
        "'pinned' memory and of the\n'disk' as well.\n\n"
        ">>> sorted(ts.memory_stats('cpu'))\n['budget', 'in_use', 'peak', 'reserved']\n");
  m.def("reset_peak", &reset_peak_of, "device"_a.none() = "cpu",
        nb::sig("def reset_peak(device: DeviceLike = 'cpu') -> None"),
        "The peak starts again from what is in use, on a device or on the 'disk'.\n\n"
        ">>> ts.reset_peak('cpu')\n");
  m.def(
      "trim_pool", [](nb::handle d) { trim_pool(device_from(d)); }, "device"_a.none() = "cpu",
      nb::sig("def trim_pool(device: DeviceLike = 'cpu') -> None"),
      "Cached blocks go back to the device.\n\n>>> ts.trim_pool('cpu')\n");
  m.def("_budgets_of", &budgets_of, "host"_a.none(), "device"_a.none(), "pinned"_a.none(),
        "disk"_a.none(),
        nb::sig("def _budgets_of(host: typing.Any, device: typing.Any, pinned: typing.Any, disk: "
                "typing.Any) -> list[tuple[str, int]]"));
  m.def(
      "_budget_set", [](nb::handle tier) { return tier_from(tier).budget_set(); }, "tier"_a);
  m.def(
      "_set_budget", [](nb::handle tier, i64 bytes) { tier_from(tier).set_budget(bytes); },
      "tier"_a, "bytes"_a);
  m.def("_memory_left", &left_of, "tier"_a);
  m.def("_bytes_text", &bytes_text, "bytes"_a);
  bind_folder(m);
}

}  // namespace tessera::python
