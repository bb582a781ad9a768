// SPDX-License-Identifier: Apache-2.0
#pragma once
// A group of ranks as a value: a shared handle over a transport that counts what leaves this rank
// and names the operation in errors. Payload is counted as it leaves a rank, whatever the algorithm
// underneath, as if it went straight to each rank that needs it: a broadcast of n bytes is n (p -
// 1) at its root, an allgather, alltoall or allreduce n (p - 1) at each rank, an exclusive scan n
// (p - 1 - r) at rank r, a barrier p - 1 messages of no bytes, a split() an allgather of 8 bytes.
// One message per rank that it goes to; messages to oneself and of no bytes are nothing. Handles
// may be copied to other threads, but the calls of one group are made by one thread at a time.
//   Communicator comm = Communicator::world();   comm.broadcast(&n, sizeof n, 0);

#include <span>
#include <vector>

#include "tessera/comm/transport.hpp"

namespace tessera {

struct Traffic {  // of this rank, since the group was made
  i64 messages = 0, bytes = 0;
  friend Traffic operator-(const Traffic& a, const Traffic& b) {
    return {a.messages - b.messages, a.bytes - b.bytes};
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

class TESSERA_API Communicator {
 public:
  Communicator();  // the world's: what a factory takes when no group was named
  explicit Communicator(std::unique_ptr<Transport> transport);
  static Communicator self();  // this rank alone
  // All ranks that mpirun started; one rank without it. The MPI plug-in is loaded at the first call
  // that needs it; NotAvailable with a sentence when it cannot be.
  static Communicator world();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  std::string_view transport() const;
  std::string str() const;  // "rank 1 of 4 (mpi)"
  const Traffic& traffic() const;
  Communicator split(int colour, int key) const;
  friend bool operator==(const Communicator& a, const Communicator& b) {
    return a.group_ == b.group_;
  }

  // For what ends this rank alone, an exception that nobody caught: see Transport.
  void give_up(const std::string& why) const;

  void exchange(std::span<const Block> sends, std::span<const Block> receives) const;
  // What came from each of `receives`, whose bytes are room; 0: nothing. See Transport.
  std::vector<i64> exchange_short(std::span<const Block> sends,
                                  std::span<const Block> receives) const;
  // How memory of such devices travels without the host, counted as exchange() is; nullptr: there
  // is no such way. All ranks call it with devices of one kind. The first call for a kind looks for
  // the way (small messages, which are not counted) and reads config().device_lanes; what it finds
  // holds as long as the group, for all devices of the kind.
  const DeviceLane* lane(Device device) const;
  void barrier() const;
  void broadcast(void* data, i64 bytes, int root) const;
  void allgather(const void* mine, i64 bytes, void* all) const;
  void allgather(const void* mine, std::span<const i64> bytes, void* all) const;
  void alltoall(const void* sends, i64 bytes_each, void* receives) const;
  void allreduce(void* data, i64 count, DType dtype, Combine op) const;
  void exclusive_scan(void* data, i64 count, DType dtype, Combine op) const;

  // An error of one rank becomes an error of all: every rank calls this with its own sentence
  // (empty: none); if any is not empty, all throw E with the text of the lowest such rank. One
  // allgather of a byte when all is well.
  template <class E>
  void agree(const std::string& problem) const {
    if (const std::string text = first_problem(problem); !text.empty()) throw E(text);
  }
  std::string first_problem(const std::string& mine) const;

 private:
  struct Group;
  std::shared_ptr<Group> group_;
  int rank_ = 0, size_ = 1;
};

}  // namespace tessera
