// SPDX-License-Identifier: Apache-2.0
// An array of doubles goes from rows over ranks to columns over ranks and back: one exchange of
// strided blocks, beside MPI_Alltoallv with the packing or unpacking that it needs.
//   mpirun -n 4 relayout_bench 1024 8192      (mebibytes and rows of the whole array)
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/device/storage.hpp"

using namespace tessera;

namespace {

// New memory in huge pages, given back to the system at the end.
struct Room {
  explicit Room(std::size_t count)
      : bytes((count * sizeof(double) + huge - 1) / huge * huge),
        data(static_cast<double*>(std::aligned_alloc(huge, bytes))) {
    madvise(data, bytes, MADV_HUGEPAGE);
  }
  ~Room() { std::free(data); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  double* get() const { return data; }
  double& operator[](std::size_t k) const { return data[k]; }
  static constexpr std::size_t huge = 2 << 20;
  std::size_t bytes;
  double* data;
};

struct Case {
  Communicator comm;
  int p, me;
  i64 rows, columns, high, wide;  // of the array; of a part
  double *by_rows, *by_columns;   // (high, columns) and (rows, wide)
};

std::vector<Block> row_parts(const Case& c) {  // of by_rows: the columns of each rank
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(c.p));
  for (int q = 0; q < c.p; ++q)
    blocks.push_back({q, reinterpret_cast<std::byte*>(c.by_rows), 8,
                      Layout::contiguous({c.high, c.columns}).slice(1, q * c.wide, c.wide)});
  return blocks;
}
std::vector<Block> column_parts(const Case& c) {  // of by_columns: the rows of each rank
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(c.p));
  for (int q = 0; q < c.p; ++q)
    blocks.push_back({q, reinterpret_cast<std::byte*>(c.by_columns), 8,
                      Layout::contiguous({c.rows, c.wide}).slice(0, q * c.high, c.high)});
  return blocks;
}

void alltoallv(const Case& c, const double* from, double* to) {
  std::vector<int> counts(static_cast<std::size_t>(c.p), static_cast<int>(c.high * c.wide)), at;
  for (int q = 0; q < c.p; ++q) at.push_back(static_cast<int>(q * c.high * c.wide));
  MPI_Alltoallv(from, counts.data(), at.data(), MPI_DOUBLE, to, counts.data(), at.data(),
                MPI_DOUBLE, MPI_COMM_WORLD);
}

void move_rows(const Case& c, double* packed, bool in) {
  const auto bytes = static_cast<std::size_t>(c.wide * 8);
  for (int q = 0; q < c.p; ++q)
    for (i64 i = 0; i < c.high; ++i) {
      double* dense = packed + (q * c.high + i) * c.wide;
      double* strided = c.by_rows + i * c.columns + q * c.wide;
      in ? std::memcpy(strided, dense, bytes) : std::memcpy(dense, strided, bytes);
    }
}

// Best of some runs, the slowest rank counting.
template <class F>
double seconds(const Case& c, F&& f) {
  double best = 1e9;
  for (int k = 0; k < 7; ++k) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    f();
    double mine = MPI_Wtime() - start, slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = std::min(best, slowest);
  }
  (void)c;
  return best;
}

void say(const Case& c, const char* what, double ours, double theirs) {
  if (c.me == 0)
    std::printf("%-22s exchange %7.1f ms   Alltoallv %7.1f ms   ratio %.2f\n", what, ours * 1e3,
                theirs * 1e3, theirs / ours);
}

}  // namespace

int main(int argc, char** argv) {
  const Communicator comm = Communicator::world();
  const i64 bytes = (argc > 1 ? std::atoll(argv[1]) : 1024) << 20;
  Case c{comm, comm.size(), comm.rank(), 0, 0, 0, 0, nullptr, nullptr};
  c.rows = (argc > 2 ? std::atoll(argv[2]) : 8192) / c.p * c.p;
  c.columns = bytes / 8 / c.rows / c.p * c.p;
  c.high = c.rows / c.p;
  c.wide = c.columns / c.p;
  const auto part = static_cast<std::size_t>(c.high * c.columns);
  const auto part_bytes = static_cast<i64>(part * sizeof(double));
  const Storage rows = Storage::allocate(cpu, part_bytes),
                columns = Storage::allocate(cpu, part_bytes);
  const Room t(part);
  double* const a = c.by_rows = static_cast<double*>(rows.data());
  double* const b = c.by_columns = static_cast<double*>(columns.data());
  for (std::size_t k = 0; k < part; ++k) {
    a[k] = static_cast<double>(k) + 1e10 * c.me;
    b[k] = t[k] = 0;
  }
  const double ours = seconds(c, [&] { comm.exchange(row_parts(c), column_parts(c)); });
  const std::vector<double> kept(b, b + part);
  const double theirs = seconds(c, [&] {
    move_rows(c, t.get(), false);
    alltoallv(c, t.get(), c.by_columns);
  });
  say(c, "rows to columns", ours, theirs);
  const double fresh = seconds(c, [&] {
    const Room room(part);
    move_rows(c, room.get(), false);
    alltoallv(c, room.get(), c.by_columns);
  });
  say(c, "  with a new buffer", ours, fresh);
  bool same = std::equal(kept.begin(), kept.end(), b);
  const std::vector<double> before(a, a + part);
  std::fill(a, a + part, 0);
  const double back = seconds(c, [&] { comm.exchange(column_parts(c), row_parts(c)); });
  same = same && std::equal(before.begin(), before.end(), a);
  const double their_back = seconds(c, [&] {
    alltoallv(c, c.by_columns, t.get());
    move_rows(c, t.get(), true);
  });
  say(c, "columns to rows", back, their_back);
  if (!same) std::printf("rank %d: the results differ\n", c.me);
  return same ? 0 : 1;
}
