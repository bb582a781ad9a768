// SPDX-License-Identifier: Apache-2.0
// An exchange that rank 0 gives up while rank 1 is in the middle of it; then rank 1 goes on.
// Nothing of rank 1 may arrive in memory that rank 0 uses again, rank 1 may not see what rank 0
// does with it, and neither leaves requests of MPI behind. The first argument names the way that
// the block takes. Rank 0 tells what came of it; a group that was given up ends in an abort, so
// that the status of the program says nothing.
// MPI lets functions of a program stand before its own of the same name (PMPI): here they hold a
// rank at a certain point, and count.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/comm/communicator.hpp"

using namespace tessera;

namespace {

enum class Moment : std::uint8_t { never, before_send, after_receive };

// Requests that were begun and have neither ended nor been freed; what is to be done at the first
// such moment.
std::multiset<MPI_Request> sending, receiving;
Moment awaited = Moment::never;
std::function<void()> interruption;

void reached(Moment moment) {
  if (moment != awaited) return;
  awaited = Moment::never;
  interruption();
}

// Whether it was a receive.
bool ended(MPI_Request request) {
  if (const auto r = receiving.find(request); r != receiving.end()) {
    receiving.erase(r);
    return true;
  }
  if (const auto s = sending.find(request); s != sending.end()) sending.erase(s);
  return false;
}

}  // namespace

int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  reached(Moment::before_send);
  const int code = PMPI_Isend(data, count, type, rank, tag, comm, request);
  sending.insert(*request);
  return code;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int code = PMPI_Irecv(data, count, type, rank, tag, comm, request);
  receiving.insert(*request);
  return code;
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const MPI_Request before = *request;
  const int code = PMPI_Test(request, done, status);
  if (*done != 0 && ended(before)) reached(Moment::after_receive);
  return code;
}

int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int code = PMPI_Testall(count, requests, done, statuses);
  if (*done != 0) std::for_each(before.begin(), before.end(), ended);
  return code;
}

int MPI_Request_free(MPI_Request* request) {
  ended(*request);
  return PMPI_Request_free(request);
}

namespace {

constexpr i64 columns = 512;
constexpr i64 nothing_yet = -1, used_again = -3;
constexpr i64 wait_seconds = 3;

struct Case {
  const char* name;
  bool sends;    // rank 0 does; else it receives
  bool strided;  // the sender's block
  bool is_short;
  i64 rows;
  Moment held;  // where rank 1 waits until rank 0 has given up
};
constexpr Case cases[] = {
    {"staged", true, true, false, 120, Moment::after_receive},  // rank 1 reads the window
    {"offer", false, true, false, 120, Moment::before_send},    // rank 1 stages what nobody takes
    {"stream", false, false, false, 16, Moment::before_send},   // one message
    {"short", false, false, true, 16, Moment::before_send}};    // too long for the mailbox

MPI_Comm aside = MPI_COMM_NULL;  // for what the test itself says
void tell(int rank, int word) { PMPI_Send(&word, 1, MPI_INT, rank, 0, aside); }
int hear(int rank) {
  int word = 0;
  PMPI_Recv(&word, 1, MPI_INT, rank, 0, aside, MPI_STATUS_IGNORE);
  return word;
}

int faults = 0;
void expect(bool holds, const char* what, const std::string& seen = {}) {
  if (holds) return;
  std::printf("%s: not so: %s %s\n", Communicator::world().str().c_str(), what, seen.c_str());
  ++faults;
}

bool all_are(const i64* first, i64 count, i64 value) {
  return std::all_of(first, first + count, [&](i64 x) { return x == value; });
}

// Rows of the numbers from 0 on; where they are strided, twice as far apart.
bool counts_up(const i64* first, const Layout& layout) {
  for (i64 k = 0; k < layout.shape[0] * columns; ++k)
    if (first[k / columns * layout.strides[0] + k % columns] != k) return false;
  return true;
}

// What the exchange threw, or nothing.
std::string exchanged(const Case& c, const Communicator& comm, std::span<const Block> sends,
                      std::span<const Block> receives) {
  try {
    if (c.is_short)
      comm.exchange_short(sends, receives);
    else
      comm.exchange(sends, receives);
    return {};
  } catch (const CommError& e) {
    return e.what();
  }
}

void run_case(const Case& c, const Communicator& comm) {
  const int me = comm.rank();
  const bool sender = (me == 0) == c.sends;
  const Layout dense = Layout::contiguous({c.rows, columns});
  const Layout layout =
      sender && c.strided ? Layout::contiguous({c.rows, 2 * columns}).slice(1, 0, columns) : dense;
  const i64 count = c.rows * layout.strides[0];
  std::vector<i64> own(static_cast<std::size_t>(count), nothing_yet);
  i64* const data = own.data();
  for (i64 k = 0; sender && k < c.rows * columns; ++k)
    data[k / columns * layout.strides[0] + k % columns] = k;
  const std::vector<Block> block{{1 - me, reinterpret_cast<std::byte*>(data), 8, layout}}, none;

  comm.barrier();  // rank 0 waits so long for the exchange alone
  if (me == 0) {
    config().comm_timeout.set(wait_seconds);
  } else {
    awaited = c.held;
    interruption = [] { hear(0); };
  }
  const std::string said = exchanged(c, comm, sender ? block : none, sender ? none : block);
  expect(awaited == Moment::never, "the exchange comes to the point where it is interrupted");
  expect(sending.empty() && receiving.empty(), "every request has ended or is given back");
  if (me == 1) {
    expect(said.empty() || c.held == Moment::before_send, "rank 1 has all that it needs:", said);
    if (!sender) expect(counts_up(data, layout), "rank 1 reads what was sent");
    tell(0, faults);
    hear(0);
    return;
  }
  const std::string why = cat("nothing came within ", wait_seconds);
  expect(said.find(why) != std::string::npos, "rank 0 says why it gives up:", said);
  std::fill(data, data + count, used_again);
  tell(1, 0);
  faults += hear(1);
  expect(all_are(data, count, used_again), "nobody writes into memory that is used again");
  std::printf("%s: %s\n", c.name, faults == 0 ? "as it should be" : "faults");
  std::fflush(nullptr);
  tell(1, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const c = std::find_if(std::begin(cases), std::end(cases), [&](const Case& x) {
    return argc == 2 && std::strcmp(x.name, argv[1]) == 0;
  });
  const Communicator comm = Communicator::world();
  if (c == std::end(cases) || comm.size() != 2) return 2;
  PMPI_Comm_dup(MPI_COMM_WORLD, &aside);
  run_case(*c, comm);
  return 0;
}
