// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a rank waits: it looks again at once for some microseconds, then gives the core away between
// looks, then sleeps; and while it sleeps it asks whether those it waits for can still come. When
// one cannot, CommError names it.
//   WaitPolicy wait(world, members, "alltoall");
//   while (!done()) moved() ? wait.progress() : wait.pause(open_ranks);

#include <span>
#include <string_view>
#include <vector>

#include "tessera/comm/mpi/world.hpp"

namespace tessera::mpi {

class WaitPolicy {
 public:
  // members[r]: the world's rank of rank r of the group.
  WaitPolicy(World& world, std::span<const int> members, std::string_view operation);
  void progress();
  // Ready to sleep: the caller may find out whom it waits for, which `pause` is cheaper without.
  bool long_wait() const { return looks_ >= short_looks; }
  // After a look in vain; `open`: the ranks of the group that are waited for.
  void pause(std::span<const int> open);
  // The same where `word` is `seen` no more once it is worth looking again, and whoever makes it so
  // wakes those who sleep on it: then the core is given away until that happens.
  void pause(std::span<const int> open, const std::atomic<int>& word, int seen);
  static void wake(std::atomic<int>& word);

 private:
  static constexpr int short_looks = 200;
  void give_way(double now);
  void check_silent_ranks(std::span<const int> open, double now);

  World& world_;
  std::span<const int> members_;
  std::string_view operation_;
  int looks_ = 0;
  double since_ = 0;     // of the last progress; 0: none needed yet
  double checked_ = 0;   // when the others were last looked at
  double doomed_ = 0;    // since when it is known that nothing can come
  std::string verdict_;  // and why
  std::vector<double> stopped_;
};

}  // namespace tessera::mpi
