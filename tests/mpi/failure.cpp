// SPDX-License-Identifier: Apache-2.0
// Rank 1 fails in the middle, in the way that the first argument names; every other rank must end
// with a sentence. Run by failure.sh, which looks at the clock and at what was said.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/comm/communicator.hpp"

using namespace tessera;

namespace {

void fail(const char* how) {
  std::fflush(nullptr);
  if (std::strcmp(how, "kill") == 0) raise(SIGKILL);
  if (std::strcmp(how, "stop") == 0) raise(SIGSTOP);
  if (std::strcmp(how, "raise") == 0) throw IndexError("index 9 is out of bounds");
  if (std::strcmp(how, "silent") == 0) sleep(3600);
}

// Blocks of about 2 MB, half of them strided, round and round.
void talk(const Communicator& comm, std::vector<i64>& memory) {
  const int p = comm.size();
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    auto* first = reinterpret_cast<std::byte*>(memory.data());
    sends.push_back({q, first, 8, Layout::contiguous({500, 1000}).slice(1, 0, 500)});
    receives.push_back({q, first + 8 * (500000 + q * 250000), 8, Layout::contiguous({250000})});
  }
  comm.exchange(sends, receives);
}

void body(const Communicator& comm, const char* how, const char* where) {
  std::vector<i64> memory(static_cast<std::size_t>(500000 + comm.size() * 250000), comm.rank());
  std::vector<i64> small(static_cast<std::size_t>(comm.size()));
  for (int k = 0; k < 20; ++k) {
    if (k == 10 && comm.rank() == 1) fail(how);
    if (std::strcmp(how, "return") == 0 && k == 10 && comm.rank() == 1) return;
    if (std::strcmp(where, "exchange") == 0) talk(comm, memory);
    if (std::strcmp(where, "alltoall") == 0) comm.alltoall(memory.data(), 8, small.data());
    if (std::strcmp(where, "barrier") == 0) comm.barrier();
    if (std::strcmp(where, "split") == 0) comm.split(comm.rank() / 2, k);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) return 2;
    if (std::strcmp(argv[1], "silent") == 0) config().comm_timeout.set(3);
    body(Communicator::world(), argv[1], argv[2]);
    return 0;
  } catch (const Error& e) {
    std::printf("%s: %s\n", Communicator::world().str().c_str(), e.what());
    return 1;
  }
}
