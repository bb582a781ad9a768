// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/thread.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/comm/block.hpp"
#include "tessera/comm/device_lane.hpp"
#include "tessera/comm/self.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
// Another rank met the fault: what it was told is the reason, this only its echo.
struct GroupLost final : CommError {
  using CommError::CommError;
};
// Every rank waits and nothing has changed for so long: nothing ever will.
constexpr auto circle_patience = std::chrono::seconds(5);
constexpr auto look_around = std::chrono::milliseconds(200);

// What all groups of one run share: one lock, and what each rank is doing.
struct World {
  struct Rank {
    std::condition_variable signal;    // something changed that this rank may wait for
    std::optional<std::string> ended;  // why; empty: it returned
    int waits = 0;                     // threads of the rank that wait
    i64 seen = 0;                      // the change that its last look took in
    int waits_for = 0;                 // with the operation: what a circle of waits is told by
    std::string_view operation;
  };
  std::mutex mutex;
  i64 changes = 0;
  Clock::time_point changed_at = Clock::now();
  std::vector<Rank> ranks;
  std::exception_ptr first, first_echo;

  explicit World(int size) : ranks(static_cast<std::size_t>(size)) {}
  void changed(Rank& rank) {
    ++changes;
    changed_at = Clock::now();
    rank.signal.notify_all();
  }
  void changed_for_all() {
    for (Rank& r : ranks) changed(r);
  }
  // Asked by a rank that has just looked in vain and is about to wait again.
  bool in_circle(const Rank& me) const {
    return Clock::now() - changed_at > circle_patience &&
           std::all_of(ranks.begin(), ranks.end(), [&](const Rank& r) {
             return &r == &me || r.ended || (r.waits > 0 && r.seen == changes);
           });
  }
  std::string circle_text() const {
    std::vector<std::string> waits;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (!ranks[r].ended)
        waits.push_back(
            cat("rank ", r, " for rank ", ranks[r].waits_for, " in ", ranks[r].operation));
    return cat("all ranks wait for one another: ", join(waits));
  }
};
using Lock = std::unique_lock<std::mutex>;

// One way between two ranks of a group. The sender's block stays its own: a sender that gives up
// withdraws it, unless it is being copied. A block of device memory comes with the sender's stream:
// the receiver enqueues the copy after `ready`, and the sender goes on after `done`.
enum class Way : std::uint8_t { free, offered, copying, done };
struct Slot {
  Way way = Way::free;
  const Block* block = nullptr;
  const Stream* stream = nullptr;
  Event ready, done;
};

// What the ranks of one group share.
struct Hub {
  std::shared_ptr<World> world;
  std::vector<int> members;  // their ranks in the world
  std::vector<Slot> slots;   // [from * size + to]
  std::string lost;          // why the group cannot be used any more
  struct Child {
    std::shared_ptr<Hub> hub;
    std::size_t fetched = 0;
  };
  std::map<std::tuple<i64, int>, Child> children;  // by number of the split and colour

  Hub(std::shared_ptr<World> w, std::vector<int> m)
      : world(std::move(w)), members(std::move(m)), slots(members.size() * members.size()) {}
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  std::string_view name() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->members.size()); }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    exchange(nullptr, sends, receives);
  }
  std::unique_ptr<Transport> split(int colour, int key) override;
  std::unique_ptr<DeviceLane> lane(Device) override {
    return std::make_unique<DeviceLane>(DeviceLane{
        "threads",
        [this](const Stream& stream, std::span<const Block> sends,
               std::span<const Block> receives) { exchange(&stream, sends, receives); }});
  }

 private:
  // `stream`: of device memory; null: of the host's.
  void exchange(const Stream* stream, std::span<const Block> sends,
                std::span<const Block> receives);
  Slot& slot(int from, int to) {
    return hub_->slots[static_cast<std::size_t>(i64{from} * size() + to)];
  }
  World::Rank& in_world(int rank) {
    return hub_->world
        ->ranks[static_cast<std::size_t>(hub_->members[static_cast<std::size_t>(rank)])];
  }
  void take(Lock& lock, const Stream* stream, std::vector<const Block*>& receives);
  void copy(Lock& lock, const Stream* stream, Slot& slot, const Block& to);
  void wait_for_sends(Lock& lock, const Stream* stream, std::span<const Block> sends);
  void withdraw(Lock& lock, const std::string& why, std::span<const Block> sends);
  // Sleeps until something changed; `open` are the ranks that the caller still waits for.
  void sleep(Lock& lock, std::span<const int> open, Clock::time_point since);
  [[noreturn]] void fail(const std::string& text);

  std::shared_ptr<Hub> hub_;
  int rank_;
  i64 splits_ = 0;
};

void ThreadTransport::fail(const std::string& text) {
  if (hub_->lost.empty()) hub_->lost = text;
  hub_->world->changed_for_all();
  throw CommError(text);
}

void ThreadTransport::sleep(Lock& lock, std::span<const int> open, Clock::time_point since) {
  World& world = *hub_->world;
  const auto give_up = [&](int rank, const auto&... why) {
    fail(cat("waited for rank ", rank, " in ", operation_, ": ", why...));
  };
  for (const int q : open)
    if (const auto& why = in_world(q).ended)
      give_up(q, "it has ", why->empty() ? "returned" : cat("ended with '", *why, "'"));
  if (!hub_->lost.empty())
    throw GroupLost(cat("waited for rank ", open.front(), " in ", operation_,
                        ": the group is lost (", hub_->lost, ")"));
  const i64 limit = config().comm_timeout;
  if (limit > 0 && Clock::now() - since > std::chrono::seconds(limit))
    give_up(open.front(), "nothing came within ", limit, " seconds");
  World::Rank& me = in_world(rank_);
  me.seen = world.changes;
  me.waits_for = hub_->members[static_cast<std::size_t>(open.front())];
  me.operation = operation_;
  if (world.in_circle(me)) give_up(open.front(), world.circle_text());
  ++me.waits;
  me.signal.wait_for(lock, look_around);
  --me.waits;
}

// Copies one offered block, or enqueues that.
void ThreadTransport::copy(Lock& lock, const Stream* stream, Slot& s, const Block& to) {
  if (s.block->bytes() != to.bytes())
    fail(cat(operation_, ": rank ", to.rank, " sends ", s.block->bytes(), " bytes to rank ", rank_,
             ", which expects ", to.bytes()));
  if ((s.stream == nullptr) != (stream == nullptr))
    fail(cat(operation_, ": one of the ranks ", to.rank, " and ", rank_,
             " has its block in host memory, the other on a device"));
  s.way = Way::copying;
  lock.unlock();
  try {
    if (stream) {
      stream->wait(s.ready);
      stream->copy(to.first, stream->device(), s.block->first, s.stream->device(), to.bytes());
      s.done = stream->record();
    } else {
      copy_block(*s.block, to);
    }
  } catch (...) {  // of the device
    lock.lock();
    s.way = Way::offered;
    throw;
  }
  lock.lock();
  s.way = Way::done;
  hub_->world->changed(in_world(to.rank));
}

// Copies what is offered, in whatever order it comes.
void ThreadTransport::take(Lock& lock, const Stream* stream, std::vector<const Block*>& receives) {
  const Clock::time_point since = Clock::now();
  while (!receives.empty()) {
    const auto ready = std::find_if(receives.begin(), receives.end(), [&](const Block* b) {
      return slot(b->rank, rank_).way == Way::offered;
    });
    if (ready == receives.end()) {
      std::vector<int> open;
      open.reserve(receives.size());
      for (const Block* b : receives) open.push_back(b->rank);
      sleep(lock, open, since);
      continue;
    }
    copy(lock, stream, slot((*ready)->rank, rank_), **ready);
    receives.erase(ready);
  }
}

void ThreadTransport::wait_for_sends(Lock& lock, const Stream* stream,
                                     std::span<const Block> sends) {
  const Clock::time_point since = Clock::now();
  for (;;) {
    std::vector<int> open;
    for (const Block& b : sends) {
      Slot& s = slot(rank_, b.rank);
      if (s.block != &b) continue;
      if (s.way != Way::done) {
        open.push_back(b.rank);
        continue;
      }
      const Event done = s.done;
      s = {};
      if (stream) stream->wait(done);
    }
    if (open.empty()) return;
    sleep(lock, open, since);
  }
}

// After a failure, which may be one of this rank's device: nobody comes to an end any more.
void ThreadTransport::withdraw(Lock& lock, const std::string& why, std::span<const Block> sends) {
  if (hub_->lost.empty()) hub_->lost = cat(operation_, ": rank ", rank_, ": ", why);
  hub_->world->changed_for_all();
  std::vector<Event> reads;  // of the sender's memory, which may be gone soon
  for (const Block& b : sends) {
    Slot& s = slot(rank_, b.rank);
    if (s.block != &b) continue;
    in_world(rank_).signal.wait(lock, [&] { return s.way != Way::copying; });
    reads.push_back(s.done);
    s = {};
  }
  lock.unlock();
  for (const Event& e : reads) {
    try {
      e.wait();
    } catch (const std::exception&) {  // of another rank's device, which does not read any more
    }
  }
}

void ThreadTransport::exchange(const Stream* stream, std::span<const Block> sends,
                               std::span<const Block> receives) {
  Lock lock(hub_->world->mutex);
  if (!hub_->lost.empty())
    throw GroupLost(cat(operation_, ": the group is lost (", hub_->lost, ")"));
  try {
    lock.unlock();
    stream ? copy_own_block(rank_, *stream, sends, receives)
           : copy_own_block(rank_, sends, receives);
    const Event ready = stream ? stream->record() : Event();
    lock.lock();
    for (const Block& b : sends) {
      if (b.rank == rank_ || b.bytes() == 0) continue;
      slot(rank_, b.rank) = {Way::offered, &b, stream, ready, {}};
      hub_->world->changed(in_world(b.rank));
    }
    std::vector<const Block*> open;
    for (const Block& b : receives)
      if (b.rank != rank_ && b.bytes() > 0) open.push_back(&b);
    take(lock, stream, open);
    wait_for_sends(lock, stream, sends);
  } catch (const std::exception& e) {
    if (!lock.owns_lock()) lock.lock();
    withdraw(lock, e.what(), sends);
    throw;
  }
}

std::unique_ptr<Transport> ThreadTransport::split(int colour, int key) {
  const std::array<int, 2> mine = {colour, key};
  std::vector<std::array<int, 2>> all(static_cast<std::size_t>(size()));
  allgather(mine.data(), sizeof mine, all.data());
  std::vector<std::pair<int, int>> order;  // (key, rank) of my colour
  for (int q = 0; q < size(); ++q)
    if (all[static_cast<std::size_t>(q)][0] == colour)
      order.emplace_back(all[static_cast<std::size_t>(q)][1], q);
  std::sort(order.begin(), order.end());
  const auto place = std::find(order.begin(), order.end(), std::pair{key, rank_});
  std::vector<int> members;
  members.reserve(order.size());
  for (const auto& [k, q] : order) members.push_back(hub_->members[static_cast<std::size_t>(q)]);

  Lock lock(hub_->world->mutex);
  const std::tuple<i64, int> id{splits_++, colour};
  Hub::Child& child = hub_->children[id];
  if (!child.hub) child.hub = std::make_shared<Hub>(hub_->world, members);
  const std::shared_ptr<Hub> hub = child.hub;
  if (++child.fetched == members.size()) hub_->children.erase(id);
  return std::make_unique<ThreadTransport>(hub, static_cast<int>(place - order.begin()));
}

}  // namespace

void run_ranks(int ranks, const std::function<void(Communicator)>& body) {
  require<ArgumentError>(ranks > 0, "run_ranks: ", ranks, " ranks; expected at least one");
  const auto world = std::make_shared<World>(ranks);
  std::vector<int> members(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) members[static_cast<std::size_t>(r)] = r;
  const auto hub = std::make_shared<Hub>(world, members);
  const auto run = [&](int rank) {
    std::string why;
    std::exception_ptr thrown, echo;
    try {
      body(Communicator(std::make_unique<ThreadTransport>(hub, rank)));
    } catch (const GroupLost& e) {
      why = e.what();
      echo = std::current_exception();
    } catch (const std::exception& e) {
      why = e.what();
      thrown = std::current_exception();
    } catch (...) {
      why = "an unknown exception";
      thrown = std::current_exception();
    }
    const Lock lock(world->mutex);
    world->ranks[static_cast<std::size_t>(rank)].ended = why;
    if (!world->first) world->first = thrown;
    if (!world->first_echo) world->first_echo = echo;
    world->changed_for_all();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) threads.emplace_back(run, r);
  for (std::thread& t : threads) t.join();
  if (world->first) std::rethrow_exception(world->first);
  if (world->first_echo) std::rethrow_exception(world->first_echo);
}

}  // namespace tessera
