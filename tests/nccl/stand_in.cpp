// SPDX-License-Identifier: Apache-2.0
// Stands in for libnccl in tests: the functions that the lane asks for, between threads of one
// process and on sim devices. A group of transfers ends when all of them are done. Sends of 13
// bytes fail, so that failures can be seen.
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/device/registry.hpp"

namespace {

using namespace tessera;

struct Id {
  char bytes[128];
};
struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, const void*> boxes;  // what one rank offers to another
};
struct Member {
  Group* group;
  int rank;
};
struct Transfer {
  Member* member;
  int peer;
  const void* from;
  void* to;
  i64 bytes;
  void* stream;
};
thread_local std::vector<Transfer> transfers;

constexpr Device sim{Kind::sim, 0};
std::pair<int, int> way(const Transfer& t) {
  return t.from ? std::pair(t.member->rank, t.peer) : std::pair(t.peer, t.member->rank);
}

void offer(const Transfer& t) {
  compute_device(Kind::sim).sync_stream(0, t.stream);
  const std::lock_guard lock(t.member->group->mutex);
  t.member->group->boxes[way(t)] = t.from;
  t.member->group->changed.notify_all();
}

void take(const Transfer& t) {
  Group& group = *t.member->group;
  std::unique_lock lock(group.mutex);
  group.changed.wait(lock, [&] { return group.boxes.count(way(t)) > 0; });
  const void* from = group.boxes[way(t)];
  ComputeDevice& device = compute_device(Kind::sim);
  device.copy(
      0, t.stream,
      {.to = t.to, .to_device = sim, .from = from, .from_device = sim, .row_bytes = t.bytes});
  device.sync_stream(0, t.stream);
  group.boxes.erase(way(t));
  group.changed.notify_all();
}

void wait_until_taken(const Transfer& t) {
  Group& group = *t.member->group;
  std::unique_lock lock(group.mutex);
  group.changed.wait(lock, [&] { return group.boxes.count(way(t)) == 0; });
}

std::mutex groups_mutex;
std::map<int, Group> groups;
int next_group = 0;

}  // namespace

extern "C" {

TESSERA_API int ncclGetUniqueId(Id* id) {
  const std::lock_guard lock(groups_mutex);
  std::memcpy(id->bytes, &++next_group, sizeof next_group);
  return 0;
}

TESSERA_API int ncclCommInitRank(void** comm, int, Id id, int rank) {
  const std::lock_guard lock(groups_mutex);
  int number = 0;
  std::memcpy(&number, id.bytes, sizeof number);
  *comm = new Member{&groups[number], rank};
  return 0;
}

TESSERA_API int ncclCommDestroy(void* comm) {
  delete static_cast<Member*>(comm);
  return 0;
}

TESSERA_API int ncclGroupStart() { return 0; }

TESSERA_API int ncclSend(const void* from, std::size_t bytes, int type, int peer, void* comm,
                         void* stream) {
  if (type != 1 || bytes == 13) return 3;
  transfers.push_back(
      {static_cast<Member*>(comm), peer, from, nullptr, static_cast<i64>(bytes), stream});
  return 0;
}

TESSERA_API int ncclRecv(void* to, std::size_t bytes, int type, int peer, void* comm,
                         void* stream) {
  if (type != 1 || bytes == 13) return 3;
  transfers.push_back(
      {static_cast<Member*>(comm), peer, nullptr, to, static_cast<i64>(bytes), stream});
  return 0;
}

TESSERA_API int ncclGroupEnd() {
  const std::vector<Transfer> all = std::exchange(transfers, {});
  for (const Transfer& t : all)
    if (t.from) offer(t);
  for (const Transfer& t : all)
    if (t.to) take(t);
  for (const Transfer& t : all)
    if (t.from) wait_until_taken(t);
  return 0;
}

TESSERA_API const char* ncclGetErrorString(int) { return "a failure that a test asked for"; }
}
