// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "support/ranks.hpp"
#include "tessera/base/trace.hpp"

namespace tessera {
namespace {

using Ints = std::vector<i64>;
std::size_t at(i64 k) { return static_cast<std::size_t>(k); }

// What rank r has at place k: different everywhere, and not a power of anything.
i64 number(int rank, i64 k) { return 1000003 * (rank + 1) + 31 * k; }
Ints numbers(int rank, i64 count) {
  Ints v;
  for (i64 k = 0; k < count; ++k) v.push_back(number(rank, k));
  return v;
}
i64 bytes(i64 count) { return count * static_cast<i64>(sizeof(i64)); }

TEST(Ranks, BroadcastFromEveryRoot) {
  on_ranks([](Communicator comm) {
    for (int root = 0; root < comm.size(); ++root)
      for (const i64 n : {0, 1, 1000, 200001}) {
        Ints v = comm.rank() == root ? numbers(root, n) : Ints(at(n), -1);
        const Traffic before = comm.traffic();
        comm.broadcast(v.data(), bytes(n), root);
        EXPECT_EQ(v, numbers(root, n));
        const i64 others = comm.rank() == root && n > 0 ? comm.size() - 1 : 0;
        EXPECT_EQ(comm.traffic() - before, (Traffic{others, others * bytes(n)}));
      }
  });
}

TEST(Ranks, ShortBlocksTellTheirLengths) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), me = comm.rank();
    const auto count = [&](int from, int to) { return i64{1} + 3 * from + 7 * to; };
    std::vector<Ints> out(at(p)), in(at(p), Ints(200, -1));
    std::vector<Block> sends, receives;
    i64 sent = 0;
    for (int q = 0; q < p; ++q) {
      if (q == me) continue;
      out[at(q)] = numbers(me, count(me, q));
      sent += bytes(count(me, q));
      sends.push_back(Block::dense(q, out[at(q)].data(), bytes(count(me, q))));
      receives.push_back(Block::dense(q, in[at(q)].data(), bytes(200)));
    }
    const Traffic before = comm.traffic();
    const Ints lengths = comm.exchange_short(sends, receives);
    EXPECT_EQ(comm.traffic() - before, (Traffic{p - 1, sent}));
    for (std::size_t k = 0; k < receives.size(); ++k) {
      const int q = receives[k].rank;
      EXPECT_EQ(lengths[k], bytes(count(q, me)));
      Ints& came = in[at(q)];
      EXPECT_EQ(came[at(count(q, me))], -1);
      came.resize(at(count(q, me)));
      EXPECT_EQ(came, numbers(q, count(q, me)));
    }
    const Block own = Block::dense(me, out.data(), 8);
    EXPECT_THROW(comm.exchange_short({&own, 1}, {}), ArgumentError);
  });
}

TEST(Ranks, AllgatherOfEqualAndOfUnequalShares) {
  on_ranks([](Communicator comm) {
    const int p = comm.size();
    for (const i64 n : {0, 1, 700, 70001}) {
      Ints all(at(p * n), -1), expected;
      for (int r = 0; r < p; ++r) {
        const Ints v = numbers(r, n);
        expected.insert(expected.end(), v.begin(), v.end());
      }
      Traffic before = comm.traffic();
      comm.allgather(numbers(comm.rank(), n).data(), bytes(n), all.data());
      EXPECT_EQ(all, expected);
      EXPECT_EQ(comm.traffic() - before, (Traffic{n > 0 ? p - 1 : 0, bytes(n) * (p - 1)}));

      Ints shares, joined;
      for (int r = 0; r < p; ++r) {  // rank 1 has none
        const Ints v = numbers(r, r == 1 ? 0 : n + 3 * r);
        shares.push_back(bytes(static_cast<i64>(v.size())));
        joined.insert(joined.end(), v.begin(), v.end());
      }
      const i64 mine = shares[at(comm.rank())];
      Ints got(joined.size(), -1);
      before = comm.traffic();
      comm.allgather(numbers(comm.rank(), mine / bytes(1)).data(), shares, got.data());
      EXPECT_EQ(got, joined);
      EXPECT_EQ(comm.traffic() - before, (Traffic{mine > 0 ? p - 1 : 0, mine * (p - 1)}));
    }
  });
}

TEST(Ranks, AllgatherInPlace) {
  on_ranks([](Communicator comm) {
    Ints all(at(comm.size() * 5), -1);
    for (i64 k = 0; k < 5; ++k) all[at(comm.rank() * 5 + k)] = number(comm.rank(), k);
    comm.allgather(all.data() + comm.rank() * 5, bytes(5), all.data());
    for (int r = 0; r < comm.size(); ++r)
      for (i64 k = 0; k < 5; ++k) EXPECT_EQ(all[at(r * 5 + k)], number(r, k));
  });
}

TEST(Ranks, Alltoall) {
  on_ranks([](Communicator comm) {
    const int p = comm.size();
    for (const i64 n : {0, 1, 513, 40001}) {
      Ints out(at(p * n)), in(at(p * n), -1);
      for (int q = 0; q < p; ++q)
        for (i64 k = 0; k < n; ++k) out[at(q * n + k)] = number(comm.rank() * 100 + q, k);
      const Traffic before = comm.traffic();
      comm.alltoall(out.data(), bytes(n), in.data());
      for (int q = 0; q < p; ++q)
        for (i64 k = 0; k < n; ++k) ASSERT_EQ(in[at(q * n + k)], number(q * 100 + comm.rank(), k));
      EXPECT_EQ(comm.traffic() - before, (Traffic{n > 0 ? p - 1 : 0, (p - 1) * bytes(n)}));
    }
  });
}

template <class T>
void check_reductions(const Communicator& comm, Combine op, i64 n, T (*f)(T, T)) {
  const int p = comm.size();
  const auto value = [](int r, i64 k) {
    return static_cast<T>((r * 5 + k * 3) % 4 + (r == k % 3));
  };
  std::vector<T> total(at(n)), scan(at(n)), mine(at(n));
  for (i64 k = 0; k < n; ++k) {
    T sum{}, before{};
    for (int r = 0; r < p; ++r) {
      if (r == comm.rank()) before = r > 0 ? sum : T{};
      sum = r > 0 ? f(sum, value(r, k)) : value(r, k);
    }
    total[at(k)] = sum;
    scan[at(k)] = before;
    mine[at(k)] = value(comm.rank(), k);
  }
  std::vector<T> reduced = mine, scanned = mine;
  const i64 size = n * static_cast<i64>(sizeof(T));
  Traffic before = comm.traffic();
  comm.allreduce(reduced.data(), n, dtype_of<T>, op);
  EXPECT_EQ(comm.traffic() - before, (Traffic{n > 0 ? p - 1 : 0, size * (p - 1)}));
  before = comm.traffic();
  comm.exclusive_scan(scanned.data(), n, dtype_of<T>, op);
  const i64 later = p - 1 - comm.rank();
  EXPECT_EQ(comm.traffic() - before, (Traffic{n > 0 ? later : 0, size * later}));
  EXPECT_TRUE(reduced == total) << name(dtype_of<T>) << " " << n << " op " << static_cast<int>(op);
  EXPECT_TRUE(scanned == scan) << name(dtype_of<T>) << " " << n << " op " << static_cast<int>(op);
}

template <class T>
void check_all_reductions(const Communicator& comm, i64 n) {
  check_reductions<T>(comm, Combine::sum, n, [](T a, T b) { return static_cast<T>(a + b); });
  check_reductions<T>(comm, Combine::prod, n, [](T a, T b) { return static_cast<T>(a * b); });
  check_reductions<T>(comm, Combine::min, n, [](T a, T b) { return a < b ? a : b; });
  check_reductions<T>(comm, Combine::max, n, [](T a, T b) { return a < b ? b : a; });
  check_reductions<T>(comm, Combine::logical_and, n,
                      [](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
  check_reductions<T>(comm, Combine::logical_or, n,
                      [](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
}

TEST(Ranks, AllreduceAndExclusiveScan) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {0, 1, 5, 3001}) {
      check_all_reductions<double>(comm, n);
      check_all_reductions<std::int64_t>(comm, n);
      check_all_reductions<std::uint8_t>(comm, n);
      check_all_reductions<float>(comm, n);
    }
    check_reductions<double>(comm, Combine::sum, 700001, [](double a, double b) { return a + b; });
  });
}

TEST(Ranks, SumsHaveTheSameBitsOnAllRanks) {
  on_ranks([](Communicator comm) {
    for (const i64 n : {3, 5000}) {
      std::vector<float> v(at(n));
      for (i64 k = 0; k < n; ++k) v[at(k)] = 1.0f / static_cast<float>(3 + k + 7 * comm.rank());
      comm.allreduce(v.data(), n, DType::f32, Combine::sum);
      std::vector<float> first = v;
      comm.broadcast(first.data(), n * 4, 0);
      EXPECT_TRUE(first == v);
    }
  });
}

// A matrix of rows x columns elements is distributed by columns, then by rows: strided on both
// sides.
TEST(Ranks, ExchangeOfStridedBlocks) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), me = comm.rank();
    for (const i64 wide : {3, 97, 3000, 5000}) {  // a message, a slot, runs that are read
      const i64 rows = 13, columns = wide * p;    // rows of each rank
      Ints source(at(rows * columns)), target(at(rows * p * (wide + 2)), -7);
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < columns; ++j) source[at(i * columns + j)] = number(me, i * columns + j);
      std::vector<Block> sends, receives;
      for (int q = 0; q < p; ++q) {
        sends.push_back({q, reinterpret_cast<std::byte*>(source.data()), 8,
                         Layout::contiguous({rows, columns}).slice(1, q * wide, wide)});
        receives.push_back({q, reinterpret_cast<std::byte*>(target.data()), 8,
                            Layout::contiguous({rows * p, wide + 2})
                                .slice(0, q * rows + rows - 1, rows, -1)  // upside down
                                .slice(1, 1, wide)});
      }
      const Traffic before = comm.traffic();
      comm.exchange(sends, receives);
      EXPECT_EQ(comm.traffic() - before, (Traffic{p - 1, bytes(rows * wide) * (p - 1)}));
      i64 wrong = 0;
      for (i64 i = 0; i < rows * p; ++i)
        for (i64 j = 0; j < wide + 2; ++j) {
          const int q = static_cast<int>(i / rows);
          const i64 row = rows - 1 - i % rows;
          const bool gap = j == 0 || j == wide + 1;
          const i64 expected = gap ? -7 : number(q, row * columns + me * wide + j - 1);
          wrong += target[at(i * (wide + 2) + j)] != expected;
        }
      EXPECT_EQ(wrong, 0);
    }
  });
}

TEST(Ranks, ExchangeOfLargeBlocksBothWays) {
  on_ranks({1, 2, 3}, [](Communicator comm) {
    const int p = comm.size();
    const i64 rows = 611, columns = 1201;  // about 6 MB a block
    Ints source(at(rows * columns)), dense(at(rows * columns * p), -1);
    Ints turned(at(rows * columns * p), -1);
    for (std::size_t k = 0; k < source.size(); ++k)
      source[k] = number(comm.rank(), static_cast<i64>(k));
    const i64 axes[] = {1, 0};
    std::vector<Block> sends, receives, scattered;
    for (int q = 0; q < p; ++q) {
      std::byte* place = reinterpret_cast<std::byte*>(dense.data() + q * rows * columns);
      std::byte* other = reinterpret_cast<std::byte*>(turned.data() + q * rows * columns);
      const Layout by_columns = Layout::contiguous({rows, columns}).permute(axes);
      sends.push_back({q, reinterpret_cast<std::byte*>(source.data()), 8, by_columns});
      receives.push_back({q, place, 8, Layout::contiguous({columns, rows})});
      scattered.push_back({q, other, 8, by_columns});
    }
    comm.exchange(sends, receives);
    comm.exchange(sends, scattered);
    for (int q = 0; q < p; ++q) {
      i64 wrong = 0;
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < columns; ++j) {
          const i64 expected = number(q, i * columns + j), base = q * rows * columns;
          wrong += dense[at(base + j * rows + i)] != expected;
          wrong += turned[at(base + i * columns + j)] != expected;
        }
      EXPECT_EQ(wrong, 0) << q;
    }
  });
}

TEST(Ranks, ExchangeConcernsOnlyTheRanksItNames) {
  on_ranks({2, 3, 4, 7}, [](Communicator comm) {
    if (comm.size() < 2) return;
    const Traffic before = comm.traffic();
    i64 sent = 42, got = -1;
    const int last = comm.size() - 1;
    if (comm.rank() == 0) {
      const Block out = Block::dense(last, &sent, 8);
      comm.exchange({&out, 1}, {});
      EXPECT_EQ(comm.traffic() - before, (Traffic{1, 8}));
    } else if (comm.rank() == last) {
      const Block in = Block::dense(0, &got, 8);
      comm.exchange({}, {&in, 1});
      EXPECT_EQ(got, 42);
      EXPECT_EQ(comm.traffic(), before);
    }
    comm.exchange({}, {});
  });
}

TEST(Ranks, BlocksOfNoBytesAreNotSent) {
  on_ranks([](Communicator comm) {
    const int p = comm.size();
    const Traffic before = comm.traffic();
    std::vector<Block> empty;
    for (int q = 0; q < p; ++q) empty.push_back({q, nullptr, 8, Layout::contiguous({3, 0})});
    comm.exchange(empty, {});
    comm.exchange({}, empty);
    EXPECT_EQ(comm.traffic(), before);
  });
}

TEST(Ranks, ManyMessagesInARow) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), next = (comm.rank() + 1) % p, last = (comm.rank() + p - 1) % p;
    i64 token = comm.rank(), got = -1;
    for (int k = 0; k < 300; ++k) {
      const Block out = Block::dense(next, &token, 8), in = Block::dense(last, &got, 8);
      comm.exchange({&out, 1}, {&in, 1});
      token = got;
    }
    EXPECT_EQ(token, ((comm.rank() - 300) % p + p) % p);
    EXPECT_EQ(comm.traffic().messages > 0, p > 1);
  });
}

TEST(Ranks, BarrierHoldsAllBack) {
  on_ranks([](Communicator comm) {
    const Traffic before = comm.traffic();
    for (int k = 0; k < 20; ++k) comm.barrier();
    EXPECT_EQ(comm.traffic() - before, (Traffic{20 * (comm.size() - 1), 0}));
  });
}

TEST(Ranks, SplitOrdersByKeyThenRank) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), me = comm.rank();
    Traffic before = comm.traffic();
    const Communicator backwards = comm.split(-3, -me);
    EXPECT_EQ(comm.traffic() - before, (Traffic{p - 1, 8 * (p - 1)}));
    EXPECT_EQ(backwards.size(), p);
    EXPECT_EQ(backwards.rank(), p - 1 - me);
    EXPECT_EQ(backwards.traffic(), Traffic{});
    EXPECT_FALSE(backwards == comm);

    const Communicator half = comm.split(me % 2, 0);
    EXPECT_EQ(half.size(), me % 2 == 0 ? (p + 1) / 2 : p / 2);
    EXPECT_EQ(half.rank(), me / 2);
    // The halves talk at the same time, different amounts, and the whole between them.
    before = comm.traffic();
    for (int k = 0; k < 20 + 30 * (me % 2); ++k) {
      i64 sum = me + k;
      half.allreduce(&sum, 1, DType::i64, Combine::sum);
      i64 expected = 0;
      for (int r = me % 2; r < p; r += 2) expected += r + k;
      EXPECT_EQ(sum, expected);
    }
    EXPECT_EQ(comm.traffic(), before);
    const Communicator again = half.split(half.rank() / 2, me);
    i64 ranks = 1;
    again.allreduce(&ranks, 1, DType::i64, Combine::sum);
    EXPECT_EQ(ranks, again.size());
    comm.barrier();
  });
}

TEST(Ranks, GroupsDoNotHearEachOther) {
  on_ranks([](Communicator comm) {
    const Communicator twin = comm.split(0, comm.rank());
    const int p = comm.size(), me = comm.rank();
    for (int root = 0; root < p; ++root) {
      i64 a = me == root ? 1 : 0, b = me == root ? 2 : 0;
      // Rank 0 starts with the twin's own copy of the message pattern: order within a group counts.
      comm.broadcast(&a, 8, root);
      twin.broadcast(&b, 8, root);
      EXPECT_EQ(a, 1);
      EXPECT_EQ(b, 2);
    }
  });
}

TEST(Ranks, TwoGroupsOnTwoThreadsOfEachRank) {
  on_ranks({1, 3}, [](Communicator comm) {
    const Communicator other = comm.split(0, 0);
    const auto work = [](const Communicator& c, int rounds) {
      i64 wrong = 0;
      for (int k = 0; k < rounds; ++k) {
        Ints v(2000, c.rank() + k);
        c.allreduce(v.data(), 2000, DType::i64, Combine::sum);
        wrong += v[1999] != c.size() * (c.size() - 1) / 2 + c.size() * k;
      }
      EXPECT_EQ(wrong, 0);
    };
    std::thread beside([&] { work(other, 40); });
    work(comm, 60);
    beside.join();
  });
}

// Rows that lie on each other: more bytes than a signed 32-bit count has, in little memory.
TEST(Ranks, BlocksBeyondTwoToThe31) {
  on_ranks({2}, [](Communicator comm) {
    for (const i64 row : {i64{4} << 20, i64{4} << 10}) {
      const i64 rows = (i64{1} << 31) / row + 1;
      std::vector<char> memory(at(2 * row), static_cast<char>(comm.rank() + 1));
      Layout l = Layout::contiguous({rows, row});
      l.strides[0] = 0;
      auto* data = reinterpret_cast<std::byte*>(memory.data());
      const Block out{1, data, 1, l}, in{0, data + row, 1, l};
      const Traffic before = comm.traffic();
      if (comm.rank() == 0) comm.exchange({&out, 1}, {});
      if (comm.rank() == 1) comm.exchange({}, {&in, 1});
      EXPECT_EQ(comm.traffic() - before, comm.rank() == 0 ? (Traffic{1, rows * row}) : Traffic{});
      if (comm.rank() == 1) {
        EXPECT_EQ(memory[at(row - 1)], 2);
        EXPECT_TRUE(std::all_of(memory.begin() + row, memory.end(), [](char c) { return c == 1; }));
      }
    }
  });
}

TEST(Ranks, AProblemOfOneIsAProblemOfAll) {
  on_ranks([](Communicator comm) {
    const int p = comm.size(), me = comm.rank();
    Traffic before = comm.traffic();
    EXPECT_EQ(comm.first_problem(""), "");
    EXPECT_EQ(comm.traffic() - before, (Traffic{p - 1, p - 1}));
    comm.agree<IndexError>("");
    for (int who = 0; who < p; ++who) {
      std::string text;
      try {
        comm.agree<IndexError>(me >= who ? cat("index ", 100 + me, " is out of bounds") : "");
      } catch (const IndexError& e) {
        text = e.what();
      }
      EXPECT_EQ(text, cat("index ", 100 + who, " is out of bounds"));
    }
  });
}

TEST(Ranks, CountersOfTheProcess) {
  on_ranks({3}, [](Communicator comm) {
    comm.barrier();  // none is counting yet when the others have stopped
    static i64 messages, sent;
    if (comm.rank() == 0) {
      messages = counter(Counter::messages);
      sent = counter(Counter::bytes_sent);
    }
    comm.barrier();
    char x = 1;
    comm.broadcast(&x, 1, 0);
    if (comm.rank() == 0) {
      EXPECT_GE(counter(Counter::messages) - messages, comm.size() - 1);
      EXPECT_GE(counter(Counter::bytes_sent) - sent, comm.size() - 1);
    }
    comm.barrier();
  });
}

TEST(Ranks, WrongArgumentsAreSentences) {
  on_ranks([](Communicator comm) {
    char x = 0;
    const int p = comm.size();
    EXPECT_THROW(comm.broadcast(&x, 1, p), ArgumentError);
    EXPECT_THROW(comm.broadcast(&x, 1, -1), ArgumentError);
    const Ints shares(at(p + 1), 1);
    EXPECT_THROW(comm.allgather(&x, shares, &x), ArgumentError);
    const Block far = Block::dense(p, &x, 1), own = Block::dense(comm.rank(), &x, 1);
    EXPECT_THROW(comm.exchange({&far, 1}, {}), ArgumentError);
    EXPECT_THROW(comm.exchange({&own, 1}, {}), ArgumentError);
    const Block twice[] = {own, own};
    EXPECT_THROW(comm.exchange(twice, {&own, 1}), ArgumentError);
  });
}

TEST(Self, OneRankAlone) {
  const Communicator comm = Communicator::self();
  EXPECT_EQ(comm.str(), "rank 0 of 1 (self)");
  EXPECT_TRUE(comm.alone());
  EXPECT_TRUE(comm == Communicator::self());
  i64 a = 5, b = 0;
  const Block out = Block::dense(0, &a, 8), in = Block::dense(0, &b, 8);
  comm.exchange({&out, 1}, {&in, 1});
  EXPECT_EQ(b, 5);
  comm.exclusive_scan(&a, 1, DType::i64, Combine::sum);
  EXPECT_EQ(a, 0);
  EXPECT_EQ(comm.traffic(), Traffic{});
  EXPECT_EQ(comm.split(7, 7).size(), 1);
}

}  // namespace
}  // namespace tessera
