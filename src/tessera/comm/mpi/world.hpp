// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this process knows of all ranks: MPI's start and end, who lives on the same machine, the
// memory that those ranks share, and the notes that ranks leave when they end or give up. Every call of MPI is
// made under one lock, so that groups on several threads need no more than MPI_THREAD_SERIALIZED;
// no call of ours blocks while another rank may be gone, except under a Watch.
//   World& world = World::start();   world.call([&] { return MPI_Test(&r, &done, &status); });

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/comm/mpi/heartbeat.hpp"
#include "tessera/comm/mpi/intranode/shared_window.hpp"
#include "tessera/comm/mpi/process.hpp"

namespace tessera::mpi {

struct Peer {
  Process process;
  bool same_host = false;  // its process can be seen from here
};

// What a rank has said of itself: it is at its end, or waits for nobody any more, and why.
struct Note {
  bool left = false, lost = false;
  std::string why;
};

class World {
 public:
  // Starts MPI unless somebody has; ends it at exit. NotAvailable when MPI sees other ranks than
  // the launcher named.
  static World& start();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  bool crowded() const { return crowded_; }  // more ranks here than cores

  // How busy the machine was found to be: waits that should sleep instead of yielding.
  std::atomic<int>& sleeps() { return sleeps_; }

  // One call of MPI under the lock: its code, or CommError with MPI's own words if it fails.
  template <class F>
  int attempt(F&& f) {
    const std::lock_guard lock(mutex_);
    return f();
  }
  template <class F>
  void call(F&& f) {
    if (const int code = attempt(f); code != MPI_SUCCESS) fail(code);
  }
  bool test(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE);

  void read_notes();
  Note note(int rank);
  // With ranks of this machine; null where there are none, or config().comm_shared_window is off.
  SharedWindow* window() const { return window_; }
  // Of ranks on other machines; null where there are none.
  Heartbeat* heartbeat() const { return heartbeat_; }
  // This process cannot go on with some group: the others are told, and its end will be an abort.
  void lose(const std::string& why);
  // Leaves the others and ends MPI, unless somebody has. Not in children that were forked.
  void finish();

 private:
  void start_mpi();
  void meet();
  void start_heartbeat();
  void join();
  void send_notes(char kind, const std::string& text);
  bool others_are_at_their_end();
  void leave();
  [[noreturn]] void end_all();
  [[noreturn]] static void fail(int code);

  int rank_ = 0;
  bool ours_ = false, crowded_ = false;
  MPI_Comm notes_ = MPI_COMM_NULL;
  std::vector<Peer> peers_;
  std::vector<Note> said_;
  SharedWindow* window_ = nullptr;
  Heartbeat* heartbeat_ = nullptr;
  std::string lost_;
  std::mutex mutex_;
  std::atomic<int> sleeps_{0};
};

}  // namespace tessera::mpi
