// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/intranode/shared_window.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tessera::mpi {
namespace {

constexpr i64 page = 4 << 10;
// Of all segments of a machine: what MPI takes from /dev/shm has to fit where containers have the
// usual 64 MiB there. A page takes memory when it is first written to.
constexpr i64 most_of_a_machine = 48 << 20;

i64 segment_bytes(i64 ranks) {
  return std::clamp<i64>(most_of_a_machine / ranks, 512 << 10, 8 << 20) / page * page;
}

// Segments start wherever MPI puts them, at the same distance from a page in every process.
std::byte* aligned(void* base) {
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  return reinterpret_cast<std::byte*>((address + page - 1) / page * page);
}

// The segments of the ranks of `node`, in their order; empty on all of them if one has none.
std::vector<std::byte*> allocate(MPI_Comm node, i64 ranks) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each rank's pages near its core
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  char mine = MPI_Win_allocate_shared(segment_bytes(ranks) + page, 1, info, node, &base, &window) ==
              MPI_SUCCESS;
  MPI_Info_free(&info);
  if (mine != 0) MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  // One epoch for as long as the window lasts: ranks load and store, and order that by atomics.
  mine = mine != 0 && MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS;
  std::vector<std::byte*> segments;
  for (int q = 0; q < ranks && mine != 0; ++q) {
    MPI_Aint bytes = 0;
    int unit = 0;
    mine = MPI_Win_shared_query(window, q, &bytes, &unit, &base) == MPI_SUCCESS;
    segments.push_back(aligned(base));
  }
  char all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_MIN, node);
  if (all == 0) segments.clear();
  return segments;
}

}  // namespace

SharedWindow* SharedWindow::make(MPI_Comm all, bool wanted) {
  int rank = 0, size = 1, here = 1;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Comm node = MPI_COMM_NULL;
  const int kind = wanted ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED;
  if (MPI_Comm_split_type(all, kind, rank, MPI_INFO_NULL, &node) != MPI_SUCCESS ||
      node == MPI_COMM_NULL)
    return nullptr;
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  MPI_Comm_size(node, &here);
  std::vector<int> ranks(static_cast<std::size_t>(here));
  MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, node);
  std::vector<std::byte*> segments;
  if (here > 1) segments = allocate(node, here);
  MPI_Comm_free(&node);
  if (segments.empty()) return nullptr;
  std::vector<std::byte*> of_all(static_cast<std::size_t>(size));
  for (std::size_t k = 0; k < ranks.size(); ++k)
    of_all[static_cast<std::size_t>(ranks[k])] = segments[k];
  return new SharedWindow(std::move(of_all), segment_bytes(here));
}

SharedWindow::SharedWindow(std::vector<std::byte*> segments, i64 bytes)
    : segments_(std::move(segments)), free_{{0, bytes}} {}

bool SharedWindow::reaches(std::span<const int> ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](int r) { return reaches(r); });
}

i64 SharedWindow::take(i64 bytes) {
  bytes = (bytes + page - 1) / page * page;
  const std::lock_guard lock(mutex_);
  std::erase_if(leaving_, [&](const auto& part) {
    if (part.second->load(std::memory_order_acquire) > 0) return false;
    give_locked(part.first);
    return true;
  });
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& hole) { return hole.second >= bytes; });
  if (found == free_.end()) return -1;
  const auto [offset, length] = *found;
  free_.erase(found);
  if (length > bytes) free_[offset + bytes] = length - bytes;
  taken_[offset] = bytes;
  return offset;
}

void SharedWindow::give(i64 offset) {
  const std::lock_guard lock(mutex_);
  give_locked(offset);
}

void SharedWindow::give_when_unused(i64 offset, const std::atomic<int>& users) {
  const std::lock_guard lock(mutex_);
  leaving_.emplace_back(offset, &users);
}

void SharedWindow::give_locked(i64 offset) {
  i64 bytes = taken_.extract(offset).mapped();
  const auto after = free_.find(offset + bytes);
  if (after != free_.end()) {
    bytes += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

}  // namespace tessera::mpi
