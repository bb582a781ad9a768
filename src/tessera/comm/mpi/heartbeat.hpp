// SPDX-License-Identifier: Apache-2.0
#pragma once
// Are the ranks of other machines still there? MPI does not say when a machine loses its power or
// its cable, and /proc shows the processes of one machine only. So each process answers short
// datagrams (UDP) from a thread of its own, however busy it is, and a rank that waits long for one
// on another machine asks. MPI is not called: programs may call it themselves, from one thread.
// Silence means something only where the machine has answered before: where datagrams do not pass,
// config().comm_timeout is what is left.
//   Heartbeat beat;   beat.start(addresses_of_all_ranks, token, rank);
//   if (auto why = beat.why_silent(5); !why.empty()) throw CommError(why);

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::mpi {

class Heartbeat {
 public:
  // Where a rank can be asked; port 0: nowhere. In the byte order of the network.
  struct Address {
    std::uint64_t host = 0;               // equal for ranks of one machine
    std::array<std::uint32_t, 4> ipv4{};  // of its interfaces; 0: no more
    std::uint16_t port = 0;
  };

  explicit Heartbeat(std::uint64_t host);  // opens a socket
  ~Heartbeat() = delete;  // lives as long as the process: its thread is never joined
  const Address& address() const { return mine_; }

  // addresses[r]: of rank r; `token` is what the datagrams of this job carry. Asks a rank of each
  // other machine at once (of some, where there are many).
  void start(std::vector<Address> addresses, std::uint64_t token, int rank);

  // Called again and again while `rank`, on another machine, is waited for: asks it, and says why
  // it will not come once it has been silent for some seconds; empty until then.
  std::string why_silent(int rank);

 private:
  struct Asked {
    double last = 0, since = 0;  // the last question; when this row of questions began
    double heard = 0;            // the last answer
  };
  void listen();
  void ping(int rank);
  void hear(int rank);

  int socket_ = -1;
  Address mine_;
  std::uint64_t token_ = 0;
  int rank_ = 0;
  std::vector<Address> addresses_;
  std::mutex mutex_;  // of what follows
  std::vector<Asked> asked_;
  std::vector<std::uint64_t> answering_;  // machines that have answered, sorted
};

}  // namespace tessera::mpi
