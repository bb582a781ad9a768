// SPDX-License-Identifier: Apache-2.0
// usage: tessera_scaling [NUMBERS_PER_RANK]: what a rank sends as ranks are added (2 to 64, as
// threads), each with as many numbers as before: messages and bytes of the rank that sends most,
// counted; for keys also what explain() said before. A markdown table per quantity, a row per
// operation; docs/guide/scaling.md holds them beside the model.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/comm/thread.hpp"
#include "tessera/distributed.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;

namespace {

struct Case {
  std::string name;
  // Runs once on every rank of `comm` with n numbers each; gives what explain() forecast, if asked.
  std::function<std::optional<dist::Explanation>(const Communicator& comm, i64 n)> run;
};

struct Sent {
  i64 messages = 0, bytes = 0;        // counted, of the rank that sends most
  i64 told_messages = -1, told = -1;  // by explain(): messages of a rank on average, bytes at most
};

DNDarray numbers(const Communicator& comm, i64 n) {
  return dist::arange(n * comm.size(), {.split = 0, .comm = comm}).astype(DType::f64);
}

DNDarray shuffled(const Communicator& comm, i64 n) {
  Random random(7);
  return dist::permutation(random, n * comm.size(), {.split = 0, .comm = comm});
}

std::optional<dist::Explanation> read(const DNDarray& x, const dist::DistIndex& key) {
  const dist::Explanation e = dist::explain(x, key);
  (void)x[key];
  return e;
}

dist::DistIndex keyed(const auto& item) {
  dist::DistIndex key;
  key.add(item);
  return key;
}

std::vector<Case> cases() {
  const auto silent = [](auto f) {
    return [f](const Communicator& comm, i64 n) -> std::optional<dist::Explanation> {
      f(comm, n);
      return std::nullopt;
    };
  };
  return {
      {"`x[5]`", [](const Communicator& c, i64 n) { return read(numbers(c, n), keyed(i64{5})); }},
      {"`x[10:]`",
       [](const Communicator& c, i64 n) {
         return read(numbers(c, n), keyed(Slice{10, {}, {}}));
       }},
      {"`x[::-1]`",
       [](const Communicator& c, i64 n) {
         return read(numbers(c, n), keyed(Slice{{}, {}, -1}));
       }},
      {"`x[mask]`, distributed as x is",
       [](const Communicator& c, i64 n) {
         const DNDarray x = numbers(c, n);
         const DNDarray odd = dist::greater(x, full({}, Value(double(n)), DType::f64));
         return read(x, keyed(odd));
       }},
      {"`x[permutation]`, distributed",
       [](const Communicator& c, i64 n) { return read(numbers(c, n), keyed(shuffled(c, n))); }},
      {"`sum(x)`", silent([](const Communicator& c, i64 n) {
         (void)dist::reduce(ReduceOp::sum, numbers(c, n));
       })},
      {"`cumsum(x)`",
       silent([](const Communicator& c, i64 n) { (void)dist::cumsum(numbers(c, n), 0); })},
      {"`roll(x, 1)`",
       silent([](const Communicator& c, i64 n) { (void)dist::roll(numbers(c, n), {1}, {0}); })},
      {"`resplit` of a square", silent([](const Communicator& c, i64 n) {
         (void)dist::ones({c.size(), n}, DType::f64, {.split = 0, .comm = c}).resplit(1);
       })},
      {"`sort(x)`",
       silent([](const Communicator& c, i64 n) { (void)dist::sort(shuffled(c, n), 0); })},
      {"`unique(x)`",
       silent([](const Communicator& c, i64 n) { (void)dist::unique(shuffled(c, n)); })},
      {"`topk(x, 10)`",
       silent([](const Communicator& c, i64 n) { (void)dist::topk(shuffled(c, n), 10, 0); })},
  };
}

Sent measured(const Case& op, int ranks, i64 n) {
  Sent most;
  std::mutex lock;
  run_ranks(ranks, [&](const Communicator& comm) {
    const Traffic before = comm.traffic();
    const auto told = op.run(comm, n);
    const Traffic sent = comm.traffic() - before;
    const std::scoped_lock hold(lock);
    most.messages = std::max(most.messages, sent.messages);
    most.bytes = std::max(most.bytes, sent.bytes);
    if (told) {
      most.told_messages = (told->messages + ranks - 1) / ranks;
      most.told = *std::max_element(told->sent.begin(), told->sent.end());
    }
  });
  return most;
}

}  // namespace

int main(int count, char** words) {
  const i64 n = count > 1 ? std::atoll(words[1]) : 1024;
  const std::vector<int> ranks{2, 4, 8, 16, 32, 64};
  std::string heads, rules;
  for (const int p : ranks) heads += fmt::format(" {} |", p), rules += "---|";
  std::vector<std::string> tables{"messages", "bytes", "messages that explain() says",
                                  "bytes that explain() says"};
  for (std::string& t : tables)
    t = fmt::format("\n{} a rank, {} numbers each\n\n| ranks |{}\n|---|{}\n", t, n, heads, rules);
  for (const Case& op : cases()) {
    std::vector<std::string> row(4);
    bool told = false;
    for (const int p : ranks) {
      const Sent s = measured(op, p, n);
      row[0] += fmt::format(" {} |", s.messages);
      row[1] += fmt::format(" {} |", s.bytes);
      row[2] += fmt::format(" {} |", s.told_messages);
      row[3] += fmt::format(" {} |", s.told);
      told = told || s.told >= 0;
    }
    for (std::size_t t = 0; t < (told ? 4U : 2U); ++t)
      tables[t] += fmt::format("| {} |{}\n", op.name, row[t]);
  }
  for (const std::string& t : tables) fmt::print("{}", t);
  return 0;
}
