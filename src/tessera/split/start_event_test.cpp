// SPDX-License-Identifier: Apache-2.0
// The start event of operators: recorded by every application, awaited by what listens to it,
// shared by what is made of an operator and not by its deep copies.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/devices.hpp"
#include "support/distances.hpp"
#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

Array one_to(i64 n, Device d) {
  const Array a = Array::empty({n}, DType::f64, cpu);
  for (i64 i = 0; i < n; ++i) a.select(0, i).fill(Value(static_cast<double>(i + 1)));
  return a.to(d);
}

Array all_equal(double v, i64 n, Device d) {
  const Array a = Array::empty({n}, DType::f64, d);
  a.fill(Value(v));
  return a;
}

// x_i -> (i+1) x_i in three tiles on sim:1 and sim:2; input and output on sim:0.
NamedLinop in_tiles() {
  return create_batched_linop(Diagonal(one_to(6, cpu), dims("X")),
                              {.batch_sizes = {{"X", 2}},
                               .device_matrix = {RankDevice(sim_at(1)), RankDevice(sim_at(2))},
                               .base_device = sim_at(0)});
}

// The same by hand, with transfers there that listen to the whole.
NamedLinop listening(const RepeatedEvent& start) {
  std::vector<NamedLinop> tiles;
  for (int i = 0; i < 3; ++i) {
    const Device d = sim_at(1 + i % 2);
    tiles.push_back(ToDevice(d, sim_at(0), dims("X")) *
                    Diagonal(one_to(6, d).slice(0, 2 * i, 2 * i + 2), dims("X")) *
                    ToDevice(sim_at(0), d, dims("X"), start));
  }
  return concat(tiles, {.idim = "X", .odim = "X"}).with_start_event(start);
}

std::vector<RepeatedEvent> listeners_in(const NamedLinop& a) {
  std::vector<RepeatedEvent> all;
  if (const auto event = a.input_listener()) all.push_back(*event);
  for (const NamedLinop& part : a.parts())
    for (const RepeatedEvent& e : listeners_in(part)) all.push_back(e);
  return all;
}

TEST(StartEvent, EveryApplicationRecordsIt) {
  const NamedLinop b = in_tiles();
  const Array x = all_equal(1, 6, sim_at(0)), y = one_to(6, cpu);
  EXPECT_TRUE(b.start_events().empty());
  EXPECT_EQ(distance(b(x), y), 0);  // a plan from before it is asked for
  const NamedLinop twice = Value(2.0) * b;
  EXPECT_EQ(distance(twice(x), ops::multiply(y, 2.0)), 0);
  const RepeatedEvent start = b.start_event();
  EXPECT_EQ(start.records(), 0);
  EXPECT_FALSE(start.device());
  EXPECT_TRUE(start == b.start_event());
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(distance(b(x), y), 0);
    EXPECT_EQ(start.records(), i);
  }
  (void)twice(x);  // as a part of another operator
  EXPECT_EQ(start.records(), 4);
  (void)b.H()(x);
  (void)b.N()(x);
  EXPECT_EQ(start.records(), 6);
  const Plan p = b.plan({.shape = {6}, .dtype = DType::f64, .device = sim_at(0)});
  tessera::Run run = p.instance();
  const Array out = Array::empty({6}, DType::f64, sim_at(0));
  run(x, out);
  run(x, out);
  EXPECT_EQ(start.records(), 8);
  EXPECT_EQ(distance(out, y), 0);
  // On the host alone, and of an operator that is no container.
  const NamedLinop plain = Diagonal(y, dims("X"));
  const RepeatedEvent first = plain.start_event();
  (void)plain(y);
  first.sync();
  EXPECT_EQ(first.records(), 1);
}

// Of two runs of one operator the second is what a listener sees; whoever writes before the
// application starts is waited for, though the transfer does not know of it.
TEST(StartEvent, TransfersWaitForTheApplication) {
  const NamedLinop b = in_tiles();
  const Stream before = Stream::home(sim_at(0));
  const Array x = all_equal(1, 6, sim_at(0)), out = all_equal(0, 6, sim_at(0)),
              seen = all_equal(0, 1, sim_at(3)), told = all_equal(0, 1, sim_at(4));
  before.sync();
  for (int i = 3; i <= 4; ++i) Stream::home(sim_at(i)).sync();
  const NamedLinop listens = ToDevice(sim_at(3), sim_at(4), dims("X"), b.start_event());
  std::atomic<int> round{0}, go{0};
  struct Counters {
    std::atomic<int>*round, *go;
  };
  const Task write{[](const void* state, const Launch& launch) {
                     const Counters& c = *static_cast<const Counters*>(state);
                     const int mine = ++*c.round;
                     while (c.go->load() < mine) std::this_thread::yield();
                     *static_cast<double*>(launch.operand[0]) = mine;
                   },
                   std::make_shared<const Counters>(Counters{&round, &go})};
  Launch there;
  there.operand[0] = seen.data();
  for (const i64 delay : {0, 30}) {
    const Using<i64> delays(config().sim_delay_us, delay);
    for (int i = 0; i < 10; ++i) {
      const int number = go.load() + 1;
      before.launch(write, there);
      b(x, out);
      listens(seen, told);
      std::this_thread::sleep_for(std::chrono::microseconds(500));  // time to go wrong in
      go.store(number);
      EXPECT_EQ(told.to(cpu).item().as<double>(), number) << "delays up to " << delay;
    }
  }
}

TEST(StartEvent, PartsListenToTheWhole) {
  const RepeatedEvent start(sim_at(0));
  const NamedLinop a = listening(start), plain = in_tiles();
  const Array expected = one_to(6, cpu);
  const PlanOptions options{.shape = {6}, .dtype = DType::f64, .device = sim_at(0)};
  // The plan starts with the event: waiting for it once more would only forbid to send things once.
  EXPECT_EQ(a.plan(options).transferred_bytes(), plain.plan(options).transferred_bytes());
  EXPECT_EQ(a.plan(options).steps().size(), plain.plan(options).steps().size());
  const NamedLinop sums = sum({a, a, a});
  EXPECT_EQ(sums.plan(options).transferred_bytes(), a.plan(options).transferred_bytes());
  const Using<i64> delays(config().sim_delay_us, i64{30});
  const Array x = all_equal(0, 6, sim_at(0));
  std::vector<Array> forward, adjoint, normal;
  for (int k = 1; k <= 10; ++k) {  // the input is written over as soon as the call returns
    x.fill(Value(static_cast<double>(k)));
    forward.push_back(a(x));
    adjoint.push_back(a.H()(x));
    normal.push_back(a.N()(x));
  }
  for (int k = 1; k <= 10; ++k) {
    const std::size_t i = static_cast<std::size_t>(k - 1);
    const Array y = ops::multiply(expected, static_cast<double>(k));
    EXPECT_EQ(distance(forward[i], y), 0) << k;
    EXPECT_EQ(distance(adjoint[i], y), 0) << k;
    EXPECT_EQ(distance(normal[i], ops::multiply(y, expected)), 0) << k;
  }
  EXPECT_EQ(start.records(), 30);
  // Without the whole around it a part still waits for the event.
  const NamedLinop part = a.parts().front();
  EXPECT_TRUE(part.start_events().empty());
  const Plan alone = part.plan({.shape = {2}, .dtype = DType::f64, .device = sim_at(0)});
  EXPECT_EQ(alone.steps().front().listeners.size(), 1u);
}

TEST(StartEvent, IsSharedByWhatIsMadeOfTheOperator) {
  const RepeatedEvent start(sim_at(0));
  const NamedLinop a = listening(start);
  const NamedLinop made[] = {a.H(),    a.N(),           a.rename({{"X", "Y"}}), a.named("tiles"),
                             a.copy(), a.to(sim_at(0)), a.split({{"X", 1, 5}})};
  for (const NamedLinop& m : made) EXPECT_TRUE(m.start_event() == start) << m.tree();
  for (const NamedLinop& m : {a.H(), a.split({{"X", 1, 5}})})
    for (const RepeatedEvent& e : listeners_in(m)) EXPECT_TRUE(e == start) << m.tree();
  EXPECT_FALSE(listeners_in(a.H()).empty());
  (void)a.split({{"X", 1, 5}})(all_equal(1, 4, sim_at(0)));
  EXPECT_EQ(start.records(), 1);
  EXPECT_FALSE(in_tiles().start_event() == in_tiles().start_event());
}

TEST(StartEvent, DeepCopiesHaveTheirOwn) {
  const RepeatedEvent start(sim_at(0)), outside(sim_at(0));
  const Array x = all_equal(1, 6, sim_at(0));
  const NamedLinop hand = ToDevice(sim_at(0), sim_at(3), dims("X"), outside);
  const NamedLinop a = ToDevice(sim_at(3), sim_at(0), dims("X")) * hand * listening(start);
  const NamedLinop b = a.deep_copy();
  // Where the operator listened to itself, so does the copy; to others it still listens.
  const std::vector<RepeatedEvent> theirs = listeners_in(b);
  ASSERT_EQ(theirs.size(), listeners_in(a).size());
  for (const RepeatedEvent& e : theirs) EXPECT_FALSE(e == start);
  EXPECT_EQ(std::count(theirs.begin(), theirs.end(), outside), 1);
  ASSERT_EQ(b.start_events().size(), 1u);
  const RepeatedEvent own = b.start_events().front();
  EXPECT_EQ(std::count(theirs.begin(), theirs.end(), own), 3);
  EXPECT_EQ(own.device(), sim_at(0));
  EXPECT_EQ(distance(b(x), one_to(6, cpu)), 0);
  EXPECT_EQ(own.records(), 1);
  EXPECT_EQ(start.records(), 0);
  EXPECT_EQ(distance(a(x), b(x)), 0);
  EXPECT_EQ(start.records(), 1);
  // Nothing to copy but the event.
  const NamedLinop identity = ToDevice(sim_at(0), cpu, dims("X"));
  const RepeatedEvent first = identity.start_event();
  EXPECT_FALSE(identity.deep_copy().start_event() == first);
}

TEST(InputListener, OfAnyOperatorAndAtAnyTime) {
  const RepeatedEvent go(sim_at(6));
  const Array w = one_to(6, cpu), x = all_equal(1, 6, cpu);
  const NamedLinop d = Diagonal(w, dims("X")), chain = NamedLinop(Flip(dims("X"), dims("X"))) * d;
  const auto waits = [&](const NamedLinop& a) {
    const Plan plan = a.plan({.shape = {6}, .dtype = DType::f64});
    i64 count = 0;
    for (const Step& s : plan.steps())
      count += std::count(s.listeners.begin(), s.listeners.end(), go);
    return count;
  };
  const Array before = chain(x);
  EXPECT_EQ(waits(chain), 0);
  d.listen_to(go);
  EXPECT_EQ(waits(d), 1);
  EXPECT_EQ(waits(d.H()), 1);
  EXPECT_EQ(waits(chain), 1);  // made before, of two parts
  EXPECT_TRUE(chain.listens());
  EXPECT_FALSE(chain.input_listener().has_value());
  EXPECT_EQ(waits(d * d), 2);  // not merged: each product waits
  chain.listen_to(go);
  EXPECT_EQ(waits(chain), 2);  // once for each step
  EXPECT_EQ(distance(chain(x), before), 0);
  for (const NamedLinop& a : {d, chain}) a.listen_to(std::nullopt);
  EXPECT_EQ(waits(chain), 0);
  EXPECT_EQ(waits(d * d), 0);
}

// An application of a plan that is kept hears of a listener that was set since.
TEST(InputListener, IsWaitedFor) {
  const Device there = sim_at(6);
  const NamedLinop d = Diagonal(one_to(6, cpu), dims("X"));
  const Array x = all_equal(1, 6, cpu);
  (void)d(x);
  RepeatedEvent go(there);
  d.listen_to(go);
  std::atomic<bool> open{false};
  const Task hold{[](const void* state, const Launch&) {
                    while (!(*static_cast<std::atomic<bool>* const*>(state))->load())
                      std::this_thread::yield();
                  },
                  std::make_shared<std::atomic<bool>* const>(&open)};
  Stream::home(there).launch(hold, Launch{});
  go.record(Stream::home(there));
  std::atomic<bool> ended{false};
  std::thread other([&] {
    (void)d(x);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(ended);
  open = true;
  other.join();
  EXPECT_TRUE(ended);
}

TEST(StartEvent, OfAnotherDeviceIsRefused) {
  const NamedLinop a = in_tiles().with_start_event(RepeatedEvent(sim_at(5)));
  try {
    (void)a(all_equal(1, 6, sim_at(0)));
    FAIL() << "recorded on a stream of another device";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("sim:5"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("sim:0"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tessera
