// SPDX-License-Identifier: Apache-2.0
// Rung 3: events order two streams and the host.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder03Event, OrdersTwoStreams) {
  const Device d = test_device();
  const Stream first(d), second(d);
  constexpr i64 bytes = i64{32} << 20;
  const Storage a = Storage::allocate(first, bytes), b = Storage::allocate(first, bytes);
  b.record_stream(second);
  a.record_stream(second);
  for (int round = 1; round <= 8; ++round) {
    first.fill(a.data(), round, bytes);
    const Event filled = first.record();
    second.wait(filled);
    second.copy(b.data(), d, a.data(), d, bytes);
    const Event copied = second.record();
    first.wait(copied);  // the next fill must not overtake the copy
    copied.wait();
    EXPECT_TRUE(copied.done());
    unsigned char last = 0;
    second.copy(&last, cpu, static_cast<std::byte*>(b.data()) + bytes - 1, d, 1);
    second.sync();
    EXPECT_EQ(last, round);
  }
}

TEST(Ladder03Event, RepeatedEventMeansTheLatestRecord) {
  const Device d = test_device();
  const Stream producer(d), consumer(d);
  RepeatedEvent ready(d);
  ready.wait(consumer);  // nothing recorded: nothing to wait for
  const Storage a = Storage::allocate(producer, 1 << 20);
  a.record_stream(consumer);
  for (int round = 0; round < 100; ++round) {
    producer.fill(a.data(), round, 1 << 20);
    ready.record(producer);
    ready.wait(consumer);
  }
  EXPECT_EQ(ready.records(), 100);
  consumer.sync();
  ready.sync();
}

}  // namespace
}  // namespace tessera::ladder
