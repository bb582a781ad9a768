// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/nccl/nccl_lane.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/device/storage.hpp"

namespace tessera::nccl {
namespace {

struct Library {
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(CommHandle*, int, UniqueId, int) = nullptr;
  int (*destroy)(CommHandle) = nullptr;
  int (*send)(const void*, std::size_t, int, int, CommHandle, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, CommHandle, void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_text)(int) = nullptr;

  // Whether everything was found. The library stays open: its threads may be running.
  bool open(const std::string& file) {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    return find("ncclGetUniqueId", get_unique_id) && find("ncclCommInitRank", init_rank) &&
           find("ncclCommDestroy", destroy) && find("ncclSend", send) &&
           find("ncclRecv", receive) && find("ncclGroupStart", group_start) &&
           find("ncclGroupEnd", group_end) && find("ncclGetErrorString", error_text);
  }
  void check(int status, std::string_view doing) const {
    require<CommError>(status == success, "nccl: ", doing, ": ", error_text(status), " (status ",
                       status, ")");
  }
};

// The GPU of every rank once; names that do not fit are told apart by what fits of them.
bool all_apart(Transport& transport, const std::string& gpu) {
  using Name = std::array<char, 160>;
  Name mine{};
  gethostname(mine.data(), 64);
  mine[63] = '\0';
  std::strncpy(mine.data() + 64, gpu.c_str(), mine.size() - 65);
  std::vector<Name> all(static_cast<std::size_t>(transport.size()));
  transport.allgather(mine.data(), sizeof mine, all.data());
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) == all.end();
}

class Lane {
 public:
  Lane(Transport& transport, Device device, const Library& library, RankDevice place)
      : transport_(transport), device_(device), nccl_(library), place_(std::move(place)) {}
  ~Lane() {
    if (!comm_) return;
    try {
      const auto gpu = place_.enter();
      nccl_.destroy(comm_);
    } catch (const std::exception&) {  // a device that is lost: nothing is left to free
    }
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Collective; whether all ranks are in, and hear each other.
  bool join() {
    struct {
      UniqueId id{};
      char made = 0;
    } ticket;
    if (transport_.rank() == 0) ticket.made = nccl_.get_unique_id(&ticket.id) == success;
    transport_.broadcast(&ticket, sizeof ticket, 0);
    if (!ticket.made) return false;
    const auto gpu = place_.enter();
    const bool in =
        nccl_.init_rank(&comm_, transport_.size(), ticket.id, transport_.rank()) == success;
    if (!all_agree(transport_, in)) return false;
    const DeviceLane trial{"nccl", [this](const auto&... given) { move(given...); }};
    return lane_delivers(trial, transport_, device_);
  }

  void exchange(const Stream& stream, std::span<const Block> sends,
                std::span<const Block> receives) {
    try {
      move(stream, sends, receives);
    } catch (const Error& e) {  // the others wait for what does not come
      transport_.give_up(e.what());
      throw;
    }
  }

 private:
  void move(const Stream& stream, std::span<const Block> sends, std::span<const Block> receives) {
    meet(sends, receives);
    copy_own_block(transport_.rank(), stream, sends, receives);
    place_.here(stream.device()) ? enqueue(stream, sends, receives)
                                 : detour(stream, sends, receives);
  }
  bool travels(const Block& b) const { return b.rank != transport_.rank() && b.bytes() > 0; }

  // A receive that is never sent to would keep the GPU for ever: those that name each other first
  // say over the host how much, and a rank that has ended is noticed there.
  void meet(std::span<const Block> sends, std::span<const Block> receives) {
    std::vector<i64> told, heard(receives.size());
    std::vector<Block> out, in;
    told.reserve(sends.size());
    for (const Block& b : sends)
      if (travels(b)) {
        told.push_back(b.bytes());
        out.push_back(Block::dense(b.rank, &told.back(), sizeof(i64)));
      }
    for (std::size_t k = 0; k < receives.size(); ++k)
      if (travels(receives[k]))
        in.push_back(Block::dense(receives[k].rank, &heard[k], sizeof(i64)));
    transport_.exchange(out, in);
    for (std::size_t k = 0; k < receives.size(); ++k)
      require<CommError>(!travels(receives[k]) || heard[k] == receives[k].bytes(),
                         "exchange between devices: rank ", receives[k].rank, " sends ", heard[k],
                         " bytes to rank ", transport_.rank(), ", which expects ",
                         receives[k].bytes());
  }

  void enqueue(const Stream& stream, std::span<const Block> sends,
               std::span<const Block> receives) {
    const auto gpu = place_.enter();
    nccl_.check(nccl_.group_start(), "beginning a group of transfers");
    int status = success;
    const auto add = [&](int result) { status = status == success ? result : status; };
    for (const Block& b : sends)
      if (travels(b))
        add(nccl_.send(b.first, static_cast<std::size_t>(b.bytes()), byte_type, b.rank, comm_,
                       stream.native()));
    for (const Block& b : receives)
      if (travels(b))
        add(nccl_.receive(b.first, static_cast<std::size_t>(b.bytes()), byte_type, b.rank, comm_,
                          stream.native()));
    add(nccl_.group_end());
    nccl_.check(status, "sending and receiving");
  }

  // Memory of another GPU than the one that is a member goes over that one.
  void detour(const Stream& stream, std::span<const Block> sends, std::span<const Block> receives) {
    const Stream here = Stream::home(device_);
    std::vector<Storage> rooms;
    const auto moved = [&](std::span<const Block> blocks, bool filled) {
      std::vector<Block> there;
      for (const Block& b : blocks) {
        if (!travels(b)) continue;
        rooms.push_back(Storage::allocate(device_, b.bytes()));
        there.push_back(Block::dense(b.rank, rooms.back().data(), b.bytes()));
        if (filled) here.copy(rooms.back().data(), device_, b.first, stream.device(), b.bytes());
      }
      return there;
    };
    here.wait(stream.record());
    const std::vector<Block> out = moved(sends, true), in = moved(receives, false);
    enqueue(here, out, in);
    std::size_t k = 0;
    for (const Block& b : receives)
      if (travels(b)) here.copy(b.first, stream.device(), in[k++].first, device_, b.bytes());
    stream.wait(here.record());
  }

  Transport& transport_;
  const Device device_;
  const Library nccl_;
  const RankDevice place_;
  CommHandle comm_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceLane> nccl_lane(Transport& transport, Device device,
                                      const std::string& library, RankDevice place) {
  Library nccl;
  if (!all_agree(transport, !place.gpu.empty() && nccl.open(library))) return nullptr;
  if (!all_apart(transport, place.gpu)) return nullptr;
  const auto lane = std::make_shared<Lane>(transport, device, nccl, std::move(place));
  if (!lane->join()) return nullptr;
  return std::make_unique<DeviceLane>(DeviceLane{
      "nccl",
      [lane](const Stream& stream, std::span<const Block> sends, std::span<const Block> receives) {
        lane->exchange(stream, sends, receives);
      }});
}

}  // namespace tessera::nccl
