// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/heartbeat.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "tessera/base/config.hpp"
#include "tessera/base/signals_blocked.hpp"
#include "tessera/base/text.hpp"
#include "tessera/comm/mpi/watch.hpp"

namespace tessera::mpi {
namespace {

constexpr double ask_every = 0.5, silence = 6, pause_in_asking = 2;
constexpr std::size_t machines_asked_at_start = 64;

struct Datagram {
  std::uint64_t token;
  std::uint32_t kind, rank;  // of the sender
};
constexpr std::uint32_t question = 1, answer = 2;

sockaddr_in to_sockaddr(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = port;
  to.sin_addr.s_addr = ipv4;
  return to;
}

std::array<std::uint32_t, 4> addresses_of_this_machine() {
  std::array<std::uint32_t, 4> found{};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  std::size_t n = 0;
  for (const ifaddrs* at = all; at != nullptr && n < found.size(); at = at->ifa_next)
    if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
        (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0)
      found[n++] = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr;
  freeifaddrs(all);
  return found;
}

}  // namespace

Heartbeat::Heartbeat(std::uint64_t host) {
  mine_.host = host;
  if (!config().comm_heartbeat) return;
  mine_.ipv4 = addresses_of_this_machine();
  if (mine_.ipv4[0] == 0) return;
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  sockaddr_in any = to_sockaddr(htonl(INADDR_ANY), 0);
  socklen_t size = sizeof any;
  if (bind(socket_, reinterpret_cast<sockaddr*>(&any), size) == 0 &&
      getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size) == 0)
    mine_.port = any.sin_port;
}

void Heartbeat::start(std::vector<Address> addresses, std::uint64_t token, int rank) {
  addresses_ = std::move(addresses);
  token_ = token;
  rank_ = rank;
  asked_.resize(addresses_.size());
  if (mine_.port == 0) return;
  {
    const SignalsBlocked quiet;
    std::thread([this] { listen(); }).detach();
  }

  std::vector<std::uint64_t> met{mine_.host};
  for (std::size_t step = 1; step < addresses_.size() && met.size() <= machines_asked_at_start;
       ++step) {
    const std::size_t q = (static_cast<std::size_t>(rank) + step) % addresses_.size();
    if (std::find(met.begin(), met.end(), addresses_[q].host) != met.end()) continue;
    met.push_back(addresses_[q].host);
    ping(static_cast<int>(q));
  }
}

void Heartbeat::ping(int rank) {
  const Address& to = addresses_[static_cast<std::size_t>(rank)];
  const Datagram words{token_, question, static_cast<std::uint32_t>(rank_)};
  for (const std::uint32_t ipv4 : to.ipv4) {
    if (ipv4 == 0) break;
    const sockaddr_in at = to_sockaddr(ipv4, to.port);
    sendto(socket_, &words, sizeof words, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&at),
           sizeof at);
  }
}

void Heartbeat::hear(int rank) {
  const std::lock_guard lock(mutex_);
  asked_[static_cast<std::size_t>(rank)].heard = seconds_now();
  const std::uint64_t host = addresses_[static_cast<std::size_t>(rank)].host;
  const auto at = std::lower_bound(answering_.begin(), answering_.end(), host);
  if (at == answering_.end() || *at != host) answering_.insert(at, host);
}

void Heartbeat::listen() {
  for (;;) {
    Datagram words;
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t n =
        recvfrom(socket_, &words, sizeof words, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0 && errno != EINTR && errno != ECONNREFUSED && errno != EAGAIN) return;
    if (n != static_cast<ssize_t>(sizeof words) || words.token != token_ ||
        words.rank >= addresses_.size())
      continue;
    if (words.kind == question) {
      const Datagram back{token_, answer, static_cast<std::uint32_t>(rank_)};
      sendto(socket_, &back, sizeof back, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&from),
             size);
    } else if (words.kind == answer) {
      hear(static_cast<int>(words.rank));
    }
  }
}

std::string Heartbeat::why_silent(int rank) {
  const Address& of = addresses_[static_cast<std::size_t>(rank)];
  if (mine_.port == 0 || of.port == 0) return {};
  const double now = seconds_now();
  {
    const std::lock_guard lock(mutex_);
    Asked& asked = asked_[static_cast<std::size_t>(rank)];
    if (now - asked.last > pause_in_asking) asked.since = now;
    const double silent = now - std::max(asked.since, asked.heard);
    if (silent > silence && std::binary_search(answering_.begin(), answering_.end(), of.host)) {
      std::array<char, INET_ADDRSTRLEN> text{};
      inet_ntop(AF_INET, of.ipv4.data(), text.data(), text.size());
      return cat("it has not answered for ", static_cast<int>(silent), " seconds: its machine (",
                 text.data(), ") or its process is stopped, gone or cut off from the network");
    }
    if (now - asked.last < ask_every) return {};
    asked.last = now;
  }
  ping(rank);
  return {};
}

}  // namespace tessera::mpi
