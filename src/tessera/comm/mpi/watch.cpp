// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include "tessera/base/signals_blocked.hpp"

namespace tessera::mpi {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

// Of "… it has given up (… it has given up (why))" the innermost why: the first link of a chain.
std::string first_cause(const std::string& text) {
  constexpr std::string_view link = "it has given up (";
  const std::size_t at = text.rfind(link);
  if (at == std::string::npos) return text;
  const std::size_t begin = at + link.size();
  return text.substr(begin, std::min(text.find_first_of(')', begin), text.size()) - begin);
}

}  // namespace

std::string why_silent(World& world, int rank, double& stopped_since) {
  constexpr double stopped_seconds = 3;
  const Peer& peer = world.peer(rank);
  const Note note = world.note(rank);
  if (note.left) return cat("its process ", peer.process.id, " has left: it is past its last call");
  if (note.lost) return cat("it has given up (", first_cause(note.why), ")");
  if (!peer.same_host) return world.heartbeat() ? world.heartbeat()->why_silent(rank) : "";
  switch (health(peer.process)) {
    case Health::ended: return cat("its process ", peer.process.id, " has ended");
    case Health::runs: stopped_since = 0; return {};
    case Health::stopped: break;
  }
  const double now = seconds_now();
  if (stopped_since == 0) stopped_since = now;
  if (now - stopped_since < stopped_seconds) return {};
  return cat("its process ", peer.process.id, " is stopped");
}

Watch::Watch(World& world, std::span<const int> ranks, std::string_view what, double limit)
    : ranks_(ranks.begin(), ranks.end()) {
  const SignalsBlocked quiet;
  thread_ =
      std::thread([this, &world, text = std::string(what), limit] { look(world, text, limit); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  signal_.notify_all();
  thread_.join();
}

void Watch::look(World& world, const std::string& what, double limit) {
  const double start = seconds_now();
  std::vector<double> stopped(ranks_.size(), 0);
  std::unique_lock lock(mutex_);
  while (!signal_.wait_for(lock, std::chrono::milliseconds(250), [this] { return over_; })) {
    const double passed = seconds_now() - start;
    std::string why;
    if (limit > 0 && passed > limit) why = cat("nothing came within ", limit, " seconds");
    for (std::size_t k = 0; k < ranks_.size() && why.empty() && passed > 1; ++k)
      if (ranks_[k] != world.rank())
        if (const std::string text = why_silent(world, ranks_[k], stopped[k]); !text.empty())
          why = cat("waited for rank ", ranks_[k], ": ", text);
    if (why.empty()) continue;
    std::fprintf(stderr, "tessera: rank %d of %d ends in %s: %s\n", world.rank(), world.size(),
                 what.c_str(), why.c_str());
    std::fflush(stderr);
    _exit(1);
  }
}

}  // namespace tessera::mpi
