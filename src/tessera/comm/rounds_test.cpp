// SPDX-License-Identifier: Apache-2.0
// Many small collectives in a row, of every kind and with ranks that are late: what one round
// leaves behind must not be seen in the next.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "support/ranks.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera {
namespace {

using Words = std::vector<unsigned char>;
std::size_t spot(i64 k) { return static_cast<std::size_t>(k); }

// What `from` says to `to` in a round; the length is its own.
Words words(int round, int from, int to, i64 length) {
  std::mt19937 draw(static_cast<unsigned>(round * 10007 + from * 101 + to));
  Words v(spot(length));
  for (unsigned char& c : v) c = static_cast<unsigned char>(draw());
  return v;
}

class Rounds {
 public:
  explicit Rounds(const Communicator& comm) : comm_(comm), p_(comm.size()), me_(comm.rank()) {}

  void broadcast(int k, int root, i64 n) {
    Words v = me_ == root ? words(k, root, 0, n) : Words(spot(n), 0xAA);
    comm_.broadcast(v.data(), n, root);
    EXPECT_EQ(v, words(k, root, 0, n)) << "round " << k;
  }
  void allgather(int k, i64 n) {
    Words all(spot(p_ * n), 0xAA), expected;
    for (int q = 0; q < p_; ++q) add(expected, words(k, q, 0, n));
    comm_.allgather(words(k, me_, 0, n).data(), n, all.data());
    EXPECT_EQ(all, expected) << "round " << k;
  }
  void shares(int k, i64 n) {  // some ranks have none
    std::vector<i64> lengths;
    Words expected;
    for (int q = 0; q < p_; ++q) {
      lengths.push_back((q + k) % 3 == 0 ? 0 : n + q);
      add(expected, words(k, q, 0, lengths.back()));
    }
    Words all(expected.size(), 0xAA);
    comm_.allgather(words(k, me_, 0, lengths[spot(me_)]).data(), lengths, all.data());
    EXPECT_EQ(all, expected) << "round " << k;
  }
  void alltoall(int k, i64 n) {
    Words out, in(spot(p_ * n), 0xAA), expected;
    for (int q = 0; q < p_; ++q) {
      add(out, words(k, me_, q, n));
      add(expected, words(k, q, me_, n));
    }
    comm_.alltoall(out.data(), n, in.data());
    EXPECT_EQ(in, expected) << "round " << k;
  }
  // Between some pairs alone, up to `most` bytes each; who is silent is not known before.
  void short_blocks(int k, i64 most) {
    const auto talks = [&](int from, int to) { return from != to && (from + 2 * to + k) % 4 != 0; };
    const auto length = [&](int from, int to) {
      return 1 + (from * 7919 + to * 104729 + k * 31) % most;
    };
    std::vector<Words> out(spot(p_)), in(spot(p_), Words(spot(most), 0xAA));
    std::vector<Block> sends, receives;
    for (int q = 0; q < p_; ++q) {
      out[spot(q)] = words(k, me_, q, length(me_, q));
      if (talks(me_, q)) sends.push_back(Block::dense(q, out[spot(q)].data(), length(me_, q)));
      if (q != me_) receives.push_back(Block::dense(q, in[spot(q)].data(), most));
    }
    const std::vector<i64> lengths = comm_.exchange_short(sends, receives);
    for (std::size_t r = 0; r < receives.size(); ++r) {
      const int q = receives[r].rank;
      ASSERT_EQ(lengths[r], talks(q, me_) ? length(q, me_) : 0) << "round " << k;
      if (lengths[r] == 0) {
        EXPECT_EQ(in[spot(q)], Words(spot(most), 0xAA)) << "round " << k;
        continue;
      }
      Words came(in[spot(q)].begin(), in[spot(q)].begin() + lengths[r]);
      EXPECT_EQ(came, words(k, q, me_, lengths[r])) << "round " << k;
    }
  }

 private:
  static void add(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }
  Communicator comm_;
  int p_, me_;
};

TEST(Ranks, CollectivesOfAllKindsInARow) {
  on_ranks([](const Communicator& comm) {
    Rounds rounds(comm);
    std::mt19937 draw(7);  // the same on all ranks
    for (int k = 0; k < 400; ++k) {
      const i64 n = 1 + static_cast<i64>(draw() % (k % 10 == 0 ? 5000 : 60));
      const int root = static_cast<int>(draw() % static_cast<unsigned>(comm.size()));
      if (k % 16 == 5 && comm.rank() == root)
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      switch (draw() % 6) {
        case 0: rounds.broadcast(k, root, n); break;
        case 1: rounds.allgather(k, n); break;
        case 2: rounds.shares(k, n); break;
        case 3: rounds.alltoall(k, n); break;
        case 4: rounds.short_blocks(k, n); break;
        default: comm.barrier();
      }
    }
  });
}

// One root says much while the others are slow to listen.
TEST(Ranks, BroadcastsThatNobodyWaitsFor) {
  on_ranks([](const Communicator& comm) {
    Rounds rounds(comm);
    for (int k = 0; k < 60; ++k) {
      if (comm.rank() != 0 && k % 20 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      rounds.broadcast(k, 0, 100 + k);
    }
  });
}

// Together they are more than any memory that ranks share for short words.
TEST(Ranks, ShortBlocksThatAreLongTogether) {
  on_ranks([](const Communicator& comm) {
    Rounds rounds(comm);
    for (int k = 0; k < 12; ++k) rounds.short_blocks(k, Transport::short_bytes - k);
  });
}

}  // namespace
}  // namespace tessera
