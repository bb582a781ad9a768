// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/world.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "tessera/base/config.hpp"
#include "tessera/comm/mpi/watch.hpp"
#include "tessera/comm/plugin.hpp"

namespace tessera::mpi {
namespace {

constexpr int note_tag = 1;
constexpr std::size_t note_length = 1000;
// Seconds that a rank which has given up leaves to the others to say why they do.
constexpr double last_words = 2.5;

// What each rank tells of itself at the start.
struct Introduction {
  Process process;
  std::uint64_t host;
};

// Components of Open MPI look for its symbols in the whole process; we were opened locally.
void make_mpi_global() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace

void World::fail(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(
      cat("MPI failed (", std::string_view(text, static_cast<std::size_t>(length)), ")"));
}

bool World::test(MPI_Request& request, MPI_Status* status) {
  if (request == MPI_REQUEST_NULL) return true;
  int done = 0;
  call([&] { return MPI_Test(&request, &done, status); });
  return done != 0;
}

World& World::start() {
  // Never destroyed: groups of static objects may outlive main. Tried again if it throws.
  static World* const world = [] {
    auto fresh = std::make_unique<World>();
    fresh->start_mpi();
    fresh->meet();
    fresh->window_ = SharedWindow::make(fresh->notes_, config().comm_shared_window);
    fresh->start_heartbeat();
    fresh->join();
    return fresh.release();
  }();
  return *world;
}

void World::start_mpi() {
  int started = 0, level = MPI_THREAD_SINGLE;
  make_mpi_global();
  MPI_Initialized(&started);
  if (started != 0) {
    MPI_Query_thread(&level);
  } else {
    require<NotAvailable>(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS,
        "mpi: MPI could not start");
    ours_ = true;
  }
  require<NotAvailable>(level >= MPI_THREAD_SERIALIZED,
                        "mpi: this MPI allows calls from one thread only; tessera needs"
                        " MPI_THREAD_SERIALIZED");
}

void World::meet() {
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int launched = launched_ranks();
  require<NotAvailable>(launched == 0 || launched == size, "mpi: the launcher started ", launched,
                        " ranks, but the MPI that the plug-in is built for sees ", size,
                        "; start with the mpirun of Open MPI");
  MPI_Comm_dup(MPI_COMM_WORLD, &notes_);
  MPI_Comm_set_errhandler(notes_, MPI_ERRORS_RETURN);

  const Introduction mine{this_process(), host_key()};
  std::vector<Introduction> all(static_cast<std::size_t>(size));
  call([&] {
    return MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, notes_);
  });
  int here = 0;
  for (const Introduction& other : all) {
    peers_.push_back({other.process, other.host == mine.host});
    here += peers_.back().same_host;
  }
  said_.resize(peers_.size());
  crowded_ = here > static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void World::start_heartbeat() {
  if (std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.same_host; }))
    return;
  auto* beat = new Heartbeat(host_key());  // as this object, never destroyed
  std::vector<Heartbeat::Address> addresses(peers_.size());
  call([&] {
    return MPI_Allgather(&beat->address(), sizeof(Heartbeat::Address), MPI_BYTE, addresses.data(),
                         sizeof(Heartbeat::Address), MPI_BYTE, notes_);
  });
  std::uint64_t token = std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  call([&] { return MPI_Bcast(&token, sizeof token, MPI_BYTE, 0, notes_); });
  beat->start(std::move(addresses), token, rank_);
  heartbeat_ = beat;
}

// From now on this process is one of the group, and will say when it leaves it: MPI_Finalize,
// whoever calls it, first deletes the attributes of MPI_COMM_SELF.
void World::join() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(
      MPI_COMM_NULL_COPY_FN,
      [](MPI_Comm, int, void* world, void*) {
        static_cast<World*>(world)->leave();
        return MPI_SUCCESS;
      },
      &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, this);
  std::atexit([] { start().finish(); });
}

void World::send_notes(char kind, const std::string& text) {
  auto* note = new std::string(1, kind);  // MPI reads it until the process ends
  note->append(text, 0, note_length);
  for (int q = 0; q < size(); ++q) {
    if (q == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    const std::lock_guard lock(mutex_);
    MPI_Isend(note->data(), static_cast<int>(note->size()), MPI_CHAR, q, note_tag, notes_,
              &request);
    MPI_Request_free(&request);
  }
}

void World::read_notes() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    std::string note(note_length + 1, '\0');
    const std::lock_guard lock(mutex_);
    if (MPI_Iprobe(MPI_ANY_SOURCE, note_tag, notes_, &there, &status) != MPI_SUCCESS || !there)
      return;
    int length = 0;
    MPI_Recv(note.data(), static_cast<int>(note.size()), MPI_CHAR, status.MPI_SOURCE, note_tag,
             notes_, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    Note& said = said_[static_cast<std::size_t>(status.MPI_SOURCE)];
    (note[0] == 'x' ? said.lost : said.left) = true;
    if (length > 1) said.why = note.substr(1, static_cast<std::size_t>(length) - 1);
  }
}

Note World::note(int rank) {
  const std::lock_guard lock(mutex_);
  return said_[static_cast<std::size_t>(rank)];
}

void World::lose(const std::string& why) {
  if (!lost_.empty()) return;
  lost_ = why;
  send_notes('x', why);
}

bool World::others_are_at_their_end() {
  for (int q = 0; q < size(); ++q) {
    if (q == rank_) continue;
    const Note said = note(q);
    const bool silent = peer(q).same_host && health(peer(q).process) != Health::runs;
    if (!said.left && !said.lost && !silent) return false;
  }
  return true;
}

// Prints why, leaves the others a moment to do the same, and ends the job.
void World::end_all() {
  std::fprintf(stderr, "tessera: rank %d of %d cannot end in order: %s\n", rank_, size(),
               lost_.c_str());
  std::fflush(nullptr);
  for (const double start = seconds_now(); seconds_now() - start < last_words;) {
    if (others_are_at_their_end()) break;
    usleep(20000);
    read_notes();
  }
  const Watch watch(*this, {}, "MPI_Abort", 3);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

// The way out. MPI_Finalize waits for all ranks, so all say that they are there, too, before it
// goes on; who sees that one cannot come ends the job.
void World::leave() {
  if (!lost_.empty()) end_all();
  send_notes('l', "");
  std::vector<double> stopped(peers_.size(), 0);
  for (int look = 0;; look = look < 1000 ? look + 1 : 0) {
    read_notes();
    bool all = true;
    for (int q = 0; q < size() && lost_.empty(); ++q) {
      const Note said = note(q);
      if (q == rank_ || (said.left && !said.lost)) continue;
      all = false;
      if (!said.lost && look % 64 != 63) continue;
      const std::string why = why_silent(*this, q, stopped[static_cast<std::size_t>(q)]);
      if (!why.empty()) lose(cat("waited for rank ", q, " at the end: ", why));
    }
    if (!lost_.empty()) end_all();
    if (all) return;
    usleep(look < 100 ? 100 : 2000);
  }
}

void World::finish() {
  int over = 0;
  MPI_Finalized(&over);
  if (over != 0 || this_process().id != peer(rank_).process.id) return;
  if (!lost_.empty()) end_all();
  if (ours_) MPI_Finalize();
}

}  // namespace tessera::mpi
