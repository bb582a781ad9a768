// SPDX-License-Identifier: Apache-2.0
// Plans as text, and plans of other distributions beside what is really sent.
#include "tessera/distributed/exchange/exchange_plan.hpp"

#include "support/distributions.hpp"
#include "tessera/distributed/indexing/explain.hpp"

namespace tessera::dist {
namespace {

TEST(ExchangePlan, TextHasALineForEachTransfer) {
  ExchangePlan plan(3);
  plan.route = Route::unordered;
  plan.reason = "because";
  EXPECT_EQ(plan.str(), "unordered: because");
  plan.transfers.to_all(Content::flags, 1);
  plan.transfers.from_owner(2, 40, false);
  plan.transfers.pairs(Content::ids);  // nothing is sent: no line
  Transfer& numbers = plan.transfers.pairs(Content::numbers);
  numbers.send(0, 1, 5);
  numbers.send(2, 2, 7);
  numbers.send(1, 0, 9);  // no message
  EXPECT_EQ(plan.str(),
            "unordered: because\n"
            "flags, every rank to all: 6 messages, 6 bytes\n"
            "rows, the owner to all: at most 2 messages, 80 bytes\n"
            "numbers of entries, between pairs of ranks: 3 messages, 12 bytes");
  EXPECT_EQ(numbers.sent, (std::vector<i64>{5, 0, 7}));
  EXPECT_FALSE(plan.transfers.exact());
}

TEST(ExchangePlan, OneRankSendsNothing) {
  ExchangePlan plan(1);
  plan.reason = "alone";
  plan.transfers.to_all(Content::counts, 8, false);
  plan.transfers.from_owner(0, 40, false);
  EXPECT_EQ(plan.str(), "local: alone");
  EXPECT_TRUE(plan.transfers.exact());
}

TEST(ExchangePlan, TextOfRoutesOverThreeRanks) {
  run_ranks(3, [](Communicator comm) {
    const DNDarray x = distribute(counted({6}), {0, Partition::even(6, 3)}, comm);
    const ExchangePlan one = plan_index(x, DistIndex(3));
    EXPECT_EQ(one.str(),
              cat("scalar: ", one.reason, "\nrows, the owner to all: 2 messages, 16 bytes"));
    const std::string moves = "relayout: each element goes straight to the rank that gets it\n";
    EXPECT_EQ(plan_relayout(x, {}).str(), moves + "rows, every rank to all: 6 messages, 96 bytes");
    EXPECT_EQ(plan_relayout(x, {0, Partition::all_on(6, 3, 1)}).str(),
              moves + "rows, between pairs of ranks: 2 messages, 32 bytes");
    EXPECT_EQ(plan_relayout(x, x.distribution()).str(),
              "relayout: the array has this distribution");
    const Array there = comm.rank() == 2 ? counted({6}) : Array();
    const DNDarray row = DNDarray::owned_by_one_rank(there, {6}, DType::i64, cpu, 2, comm);
    EXPECT_EQ(plan_relayout(row, {0, Partition::even(6, 3)}).str(),
              moves + "rows, between pairs of ranks: 2 messages, 32 bytes");
    (void)row.local();  // now all ranks have it
    EXPECT_EQ(plan_relayout(row, {0, Partition::even(6, 3)}).transfers.list()[0].bytes(), 0);
  });
}

// resplit, balance, redistribute and gathered are distributed_as: its plan and its traffic.
TEST(ExchangePlan, OtherDistributionsSendWhatTheirPlanSays) {
  for (const DType dtype : {DType::u8, DType::i16, DType::c128})
    for (const Shape& shape : {Shape{7}, Shape{0, 3}, Shape{5, 4}, Shape{1, 8, 2}})
      on_ranks([&](Communicator comm) {
        const Array whole = counted(shape, dtype, test_device());
        for (const Distribution& from : distributions_of(shape, comm.size()))
          for (const Distribution& to : distributions_of(shape, comm.size())) {
            const DNDarray x = distribute(whole, from, comm);
            const ExchangePlan plan = plan_relayout(x, to);
            const Explanation explained = explain_relayout(x, to);
            const Traffic before = comm.traffic();
            const DNDarray y = x.distributed_as(to);
            const Traffic used = comm.traffic() - before;
            expect_distributed(y, whole, to);
            EXPECT_TRUE(plan.transfers.exact() && explained.exact);
            EXPECT_EQ(explained.sent[static_cast<std::size_t>(comm.rank())], used.bytes)
                << plan.str();
            EXPECT_EQ(plan.distribution, to);
            EXPECT_EQ(plan.shape, shape);
            i64 all[] = {used.bytes, used.messages};
            comm.allreduce(all, 2, DType::i64, Combine::sum);
            EXPECT_EQ(explained.data_bytes, all[0]);
            EXPECT_EQ(explained.messages, all[1]);
            EXPECT_EQ(explained.index_bytes, 0);
          }
      });
}

}  // namespace
}  // namespace tessera::dist
