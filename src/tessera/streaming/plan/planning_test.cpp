// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/planning.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "support/text.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

const store::TileGrid some_tiles({8, 4}, {4, 4}, DType::f64);

TEST(Planning, StoresCountInThePlanningThatMadeThem) {
  const i64 bytes = store::tiled_file_bytes(some_tiles);
  StorePtr first, second;
  {
    Planning p;
    first = p.store("first", some_tiles);
    second = p.store("second", some_tiles);
    EXPECT_EQ(p.disk_peak(), 2 * bytes);
    second = nullptr;
    second = p.store("third", some_tiles);
    EXPECT_EQ(p.disk_peak(), 2 * bytes);
  }
  second = nullptr;  // within none
  Planning other;
  const StorePtr mine = other.store("mine", some_tiles);
  first = nullptr;  // of another planning
  const StorePtr next = other.store("next", some_tiles);
  EXPECT_EQ(other.disk_peak(), 2 * bytes);
}

TEST(Planning, ItsStoresHaveNoNumbersOutside) {
  StorePtr made;
  const Box box{{0, 0}, {2, 2}};
  const Array numbers = Array::empty({2, 2}, DType::f64);
  const auto refused = [&] {
    return has(thrown_text<ArgumentError>([&] { read_box(made, box); }), "result of a plan") &&
           has(thrown_text<ArgumentError>([&] { made->write(box, numbers); }), "result of a plan");
  };
  {
    Planning p;
    made = p.store("made", some_tiles);
    made->read(box, numbers).wait();
    EXPECT_EQ(numbers.host<double>()[3], 0.0);
  }
  EXPECT_TRUE(refused());
  Planning other;
  EXPECT_THROW(made->read(box, numbers), ArgumentError);
}

TEST(Planning, TakesNoStoresOfAnotherOne) {
  const Box box{{0, 0}, {2, 2}};
  const Array numbers = Array::empty({2, 2}, DType::f64);
  StorePtr other;
  const auto refused = [](const auto& call) {
    return has(thrown_text<ArgumentError>(call), "result of a plan");
  };
  {
    Planning p;
    other = p.store("other", some_tiles);
    p.add({}, {other});
    read_box(other, box);
    EXPECT_EQ(p.passes().size(), 2u);
  }
  Planning p;
  EXPECT_TRUE(refused([&] { read_box(other, box); }));
  EXPECT_TRUE(refused([&] { write_box(other, box, numbers); }));
  EXPECT_TRUE(refused([&] { p.note_read({{p.store("own", some_tiles), box}, {other, box}}); }));
  EXPECT_TRUE(refused([&] { p.add({}, {p.store("own", some_tiles), other}); }));
  EXPECT_TRUE(refused([&] { p.require_own(other); }));
  EXPECT_TRUE(p.passes().empty());
  p.require_own(store::memory_store(numbers, {2, 2}));
}

TEST(Planning, KeysAreCountedAndMoveNothing) {
  const Array x = Array::empty({8, 4}, DType::f64);
  x.fill(Value(2.0));
  const StorePtr memory = store::memory_store(x, {8, 4});
  const Box box{{2, 0}, {3, 4}};
  std::optional<Planning> p(std::in_place);
  const Array got = read_box(memory, box);
  EXPECT_EQ(got.host<double>()[5], 0.0);
  write_box(memory, box, got);
  ASSERT_EQ(p->passes().size(), 2u);
  EXPECT_EQ(p->passes()[0].host().read, 96);
  EXPECT_EQ(p->passes()[1].host().written, 96);
  EXPECT_THROW(write_box(memory, box, Array::empty({1, 4}, DType::f64)), ShapeError);
  p.reset();
  EXPECT_EQ(read_box(memory, box).host<double>()[5], 2.0);
}

TEST(PassFigures, SaysByteAndBytes) {
  EXPECT_EQ(exact_bytes(1), "1 byte");
  EXPECT_EQ(exact_bytes(0), "0 bytes");
  EXPECT_EQ(exact_and_short_bytes(2048), "2048 bytes (2.00 KiB)");
}

}  // namespace
}  // namespace tessera::streaming
