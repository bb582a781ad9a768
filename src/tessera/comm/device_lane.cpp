// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/device_lane.hpp"

#include <algorithm>
#include <vector>

#include "tessera/comm/self.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {
namespace {

// One message that any network sends at once, and one that it has to agree on first.
constexpr i64 probes[] = {64, i64{1} << 20};

struct Probe {
  Storage out, in[2], host;

  bool allocate(Device device, i64 bytes) {
    try {
      for (Storage* s : {&out, &in[0], &in[1]}) *s = Storage::allocate(device, bytes);
      host = Storage::pinned(device.kind, bytes);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
};

int sign_of(int rank) { return 1 + rank % 250; }

bool all_bytes_are(const Storage& storage, int byte) {
  const auto* p = static_cast<const unsigned char*>(storage.data());
  return std::all_of(p, p + storage.bytes(), [&](unsigned char c) { return c == byte; });
}

bool delivers(const DeviceLane& lane, const Transport& transport, Device device, Probe& probe) {
  const int me = transport.rank(), size = transport.size();
  const Stream stream = Stream::home(device);
  const i64 bytes = probe.out.bytes();
  std::vector<int> near = {(me + 1) % size, (me + size - 1) % size};
  if (near[0] == near[1]) near.pop_back();
  std::vector<Block> sends, receives;
  stream.fill(probe.out.data(), sign_of(me), bytes);
  for (std::size_t k = 0; k < near.size(); ++k) {
    stream.fill(probe.in[k].data(), 0, bytes);
    sends.push_back(Block::dense(near[k], probe.out.data(), bytes));
    receives.push_back(Block::dense(near[k], probe.in[k].data(), bytes));
  }
  try {
    lane.exchange(stream, sends, receives);
  } catch (const Error&) {
    return false;
  }
  bool right = true;
  for (std::size_t k = 0; k < near.size(); ++k) {
    stream.copy(probe.host.data(), cpu, probe.in[k].data(), device, bytes);
    stream.sync();
    right = right && all_bytes_are(probe.host, sign_of(near[k]));
  }
  return right;
}

const LanePlugin* plugin_of(Kind kind) {
  const PluginFile file = find_plugin_file(cat("libtessera_", name(kind), ".so"));
  if (file.path.empty()) return nullptr;
  const PluginSymbol symbol = open_plugin(file.path, lane_plugin_symbol);
  if (symbol.address == nullptr) return nullptr;
  const LanePlugin* plugin = reinterpret_cast<LanePluginEntry>(symbol.address)();
  return plugin && plugin->abi_tag && plugin->abi_tag == lane_abi_tag() ? plugin : nullptr;
}

}  // namespace

bool all_agree(Transport& transport, bool mine) {
  const char answer = mine ? 1 : 0;
  std::string all(static_cast<std::size_t>(transport.size()), '\0');
  transport.allgather(&answer, 1, all.data());
  return all.find('\0') == std::string::npos;
}

bool lane_delivers(const DeviceLane& lane, Transport& transport, Device device) {
  for (const i64 bytes : probes) {
    Probe probe;
    if (!all_agree(transport, probe.allocate(device, bytes))) return false;
    if (!all_agree(transport, delivers(lane, transport, device, probe))) return false;
  }
  return true;
}

void copy_own_block(int rank, const Stream& stream, std::span<const Block> sends,
                    std::span<const Block> receives) {
  if (const auto [from, to] = own_blocks(rank, sends, receives); from)
    stream.copy(to->first, stream.device(), from->first, stream.device(), from->bytes());
}

std::unique_ptr<DeviceLane> Transport::lane(Device device) {
  const LanePlugin* plugin = device.kind == Kind::cuda ? plugin_of(device.kind) : nullptr;
  if (!all_agree(*this, plugin != nullptr)) return nullptr;
  return plugin->lane(*this, device);
}

}  // namespace tessera
