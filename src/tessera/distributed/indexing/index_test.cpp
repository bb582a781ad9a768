// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value over ranks as threads, against the same key on a whole local array.
#include <gtest/gtest.h>

#include "support/distributions.hpp"
#include "support/rng.hpp"
#include "tessera/base/config.hpp"
#include "tessera/comm/thread.hpp"
#include "tessera/distributed/indexing/explain.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

// Any partition: even, everything on one rank, ragged.
Partition any_part(Rng& rng, i64 n, int ranks) {
  if (below(rng, 2) == 0) return Partition::even(n, ranks);
  std::vector<i64> counts(static_cast<std::size_t>(ranks));
  for (i64 i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(below(rng, ranks))];
  return Partition::of(counts);
}

DNDarray distributed_at_random(Rng& rng, const Array& whole, const Communicator& comm) {
  const i64 axis = below(rng, whole.ndim() + 1) - 1;
  if (axis < 0) return DNDarray::replicated(whole.to(test_device()).copy(), comm);
  const Partition part = any_part(rng, whole.shape(axis), comm.size());
  const Array mine = whole.slice(axis, part.begin(comm.rank()), part.end(comm.rank()));
  return DNDarray(mine.to(test_device()).copy(), whole.shape(), {axis, part}, comm);
}

struct Keys {
  Index local;
  DistIndex dist;
  std::string text;
};

// A key of every class over an array of this shape; mostly valid.
Keys any_key(Rng& rng, const Shape& shape, const Communicator& comm) {
  Keys k;
  const auto both = [&](const auto& item) {
    k.local.add(item);
    k.dist.add(item);
  };
  const auto array = [&](const Array& a) {
    k.local.add(a);
    if (below(rng, 2) == 0)
      k.dist.add(a);
    else
      k.dist.add(distributed_at_random(rng, a, comm));
  };
  Shape lead;
  for (i64 a = 0, n = below(rng, 3); a < n; ++a)
    lead.push_back(below(rng, 5) + (below(rng, 6) > 0));
  i64 axis = 0;
  bool dots = false;
  while (axis < shape.size()) {
    const i64 n = shape[axis];
    switch (below(rng, 11)) {
      case 0:
        if (n > 0) both(below(rng, 2 * n) - n), ++axis;
        break;
      case 1:
      case 2: {
        Slice s;
        if (below(rng, 2) == 0) s.start = below(rng, 2 * n + 3) - n - 1;
        if (below(rng, 2) == 0) s.stop = below(rng, 2 * n + 3) - n - 1;
        if (below(rng, 2) == 0) s.step = (below(rng, 2) == 0 ? 1 : -1) * (1 + below(rng, 3));
        both(s);
        ++axis;
        break;
      }
      case 3:
        if (k.local.items().size() < 8) both(new_axis);
        break;
      case 4:
        if (!dots) {
          both(ellipsis);
          dots = true;
          axis += below(rng, 2);
        }
        break;
      case 5:
        if (below(rng, 4) == 0) both(below(rng, 3) > 0);
        break;
      case 6: {  // a mask over one or two axes
        const i64 covered = std::min<i64>(shape.size() - axis, 1 + below(rng, 2));
        Shape over;
        for (i64 a = 0; a < covered; ++a) over.push_back(shape[axis + a]);
        const Array m = empty_dense(over, DType::b1);
        const i64 chance = 1 + below(rng, 4);
        for (i64 i = 0; i < m.size(); ++i) m.host<bool>()[i] = below(rng, 4) < chance;
        array(m);
        axis += covered;
        break;
      }
      default: {  // positions that broadcast with the others, mostly within bounds
        Shape own = lead;
        for (i64 a = 0; a < own.size(); ++a)
          if (below(rng, 4) == 0) own[a] = 1;
        while (own.size() > 1 && below(rng, 4) == 0) own.erase(0);
        if (own.empty()) own = {1 + below(rng, 4)};
        if (n == 0) break;
        const Array p = empty_dense(own, DType::i64);
        const bool sorted = below(rng, 3) == 0, wild = below(rng, 40) == 0;
        for (i64 i = 0; i < p.size(); ++i)
          p.host<i64>()[i] = wild && i == p.size() - 1 ? n + 2 : below(rng, 2 * n) - n;
        if (sorted) {
          for (i64 i = 0; i < p.size(); ++i)
            if (p.host<i64>()[i] < 0) p.host<i64>()[i] += n;
          std::sort(p.host<i64>(), p.host<i64>() + p.size());
        }
        array(p);
        ++axis;
      }
    }
    if (below(rng, 5) == 0) break;
  }
  k.text = k.local.str();
  return k;
}

std::string what_is_thrown(const std::function<void()>& f) {
  try {
    f();
  } catch (const IndexError& e) {
    return cat("IndexError ", e.what());
  } catch (const ShapeError& e) {
    return cat("ShapeError ", e.what());
  } catch (const DTypeError& e) {
    return cat("DTypeError ", e.what());
  } catch (const ArgumentError& e) {
    return cat("ArgumentError ", e.what());
  }
  return "";
}

// The first word: texts of errors that only one array of a key has may name another element.
std::string kind_of(const std::string& text) { return text.substr(0, text.find(' ')); }

Shape any_shape(Rng& rng) {
  Shape s;
  for (i64 a = 0, n = 1 + below(rng, 3); a < n; ++a)
    s.push_back(below(rng, 12) == 0 ? 0 : 1 + below(rng, 7));
  return s;
}

// What was sent is what was said before, or no more where only bounds were known.
void expect_predicted(const Explanation& e, const Communicator& comm, const Traffic& sent,
                      const std::string& at) {
  const i64 said = e.sent[static_cast<std::size_t>(comm.rank())];
  if (e.exact)
    ASSERT_EQ(sent.bytes, said) << at << "\n" << e.str();
  else
    ASSERT_LE(sent.bytes, said) << at << "\n" << e.str();
}

void check_get(Rng& rng, const Communicator& comm, const std::string& where) {
  const Array whole = counted(any_shape(rng), DType::i64);
  const DNDarray x = distributed_at_random(rng, whole, comm);
  const Keys key = any_key(rng, whole.shape(), comm);
  const std::string at =
      cat(where, " x", whole.shape(), " split ", x.split().value_or(-1), " key ", key.text);
  Array expected;
  const std::string local_error = what_is_thrown([&] { expected = whole[key.local]; });
  DNDarray y;
  const Distribution before = x.distribution();
  Explanation predicted;
  const Traffic silent = comm.traffic();
  const std::string refused = what_is_thrown([&] { predicted = explain(x, key.dist); });
  ASSERT_TRUE(comm.traffic() == silent) << at;
  const std::string error = what_is_thrown([&] { y = x[key.dist]; });
  ASSERT_EQ(kind_of(error), kind_of(local_error)) << at << "\n" << error << "\n" << local_error;
  ASSERT_TRUE(x.distribution() == before);
  if (!error.empty()) return;
  ASSERT_EQ(y.shape(), expected.shape()) << at;
  if (y.owner()) (void)y.local();  // what was asked of its owner travels when it is read
  expect_predicted(predicted, comm, comm.traffic() - silent, at);
  ASSERT_EQ(predicted.distribution.split.value_or(-1), y.split().value_or(-1)) << at;
  const Array got = y.gathered().to(cpu);
  ASSERT_TRUE(same_bits(got, expected)) << at << "\ngot " << y.split().value_or(-1);
}

void check_set(Rng& rng, const Communicator& comm, const std::string& where) {
  const DType dtype = below(rng, 3) == 0 ? DType::f32 : DType::i64;
  const Array whole = counted(any_shape(rng), dtype);
  const DNDarray x = distributed_at_random(rng, whole, comm);
  const Keys key = any_key(rng, whole.shape(), comm);
  Array target;
  if (!what_is_thrown([&] { target = whole[key.local]; }).empty()) return;
  Shape shape = target.shape();
  for (i64 a = 0; a < shape.size(); ++a)
    if (below(rng, 6) == 0) shape[a] = 1;
  while (!shape.empty() && below(rng, 5) == 0) shape.erase(0);
  if (below(rng, 30) == 0) shape.push_back(2);
  const Array v =
      ops::add(counted(shape).astype(below(rng, 2) == 0 ? DType::i8 : DType::f64), Value(100));
  const DNDarray value = below(rng, 2) == 0 ? DNDarray::replicated(v.to(test_device()), comm)
                                            : distributed_at_random(rng, v, comm);
  const std::string at = cat(where, " x", whole.shape(), " split ", x.split().value_or(-1), " key ",
                             key.text, " value ", v.shape(), " split ", value.split().value_or(-1));
  const std::string local_error = what_is_thrown([&] { whole.assign(key.local, v); });
  Explanation predicted;
  const Traffic silent = comm.traffic();
  const std::string refused = what_is_thrown([&] { predicted = explain(x, key.dist, value); });
  ASSERT_TRUE(comm.traffic() == silent) << at;
  const std::string error = what_is_thrown([&] { x.assign(key.dist, value); });
  ASSERT_EQ(kind_of(error), kind_of(local_error)) << at << "\n" << error << "\n" << local_error;
  if (error.empty()) expect_predicted(predicted, comm, comm.traffic() - silent, at);
  ASSERT_TRUE(same_bits(x.gathered().to(cpu), whole)) << at;
}

class DistIndexing : public testing::TestWithParam<int> {};

TEST_P(DistIndexing, ReadsAsALocalArray) {
  run_ranks(GetParam(), [](Communicator comm) {
    Rng rng(17);
    for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i)
      check_get(rng, comm, cat("case ", i));
  });
}
TEST_P(DistIndexing, ReadsInPieces) {
  const Using small(config().staging_bytes, i64{64});
  run_ranks(GetParam(), [](Communicator comm) {
    Rng rng(19);
    for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i)
      check_get(rng, comm, cat("case ", i));
  });
}
TEST_P(DistIndexing, WritesAsALocalArray) {
  run_ranks(GetParam(), [](Communicator comm) {
    Rng rng(18);
    for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i)
      check_set(rng, comm, cat("case ", i));
  });
}
// The same key a second time, and on another array that is distributed alike: rows only.
TEST_P(DistIndexing, KeysRememberWhomTheyAsked) {
  run_ranks(GetParam(), [](Communicator comm) {
    const Array whole = counted({40, 3}, DType::f64), list = counted({17}, DType::i64);
    Rng rng(20);
    const auto distribute = [&](const Array& a) {
      const Partition part = Partition::even(a.shape(0), comm.size());
      return DNDarray(a.slice(0, part.begin(comm.rank()), part.end(comm.rank())).copy(), a.shape(),
                      {0, part}, comm);
    };
    const DNDarray x = distribute(whole), y = distribute(ops::negative(whole).astype(DType::f32));
    const DNDarray k = distribute(ops::remainder(ops::multiply(list, Value(23)), Value(40)));
    const auto bytes = [&](const auto& f) {
      const Traffic before = comm.traffic();
      f();
      i64 sent = (comm.traffic() - before).bytes;
      comm.allreduce(&sent, 1, DType::i64, Combine::sum);
      return sent;
    };
    const i64 first = bytes([&] { (void)x[k]; }), second = bytes([&] { (void)x[k]; });
    const i64 other = bytes([&] { (void)y[k]; });
    EXPECT_EQ(second, 2 * other);  // half the bytes per element, and nothing else
    if (comm.size() > 1) {
      EXPECT_GT(first, second);
    }
    EXPECT_EQ(bytes([&] { x.assign(k, Array::scalar(Value(7.0), DType::f64)); }), 0);
    k.assign(DistIndex(0), Array::scalar(Value(39), DType::i64));
    if (comm.size() > 1) {
      EXPECT_GT(bytes([&] { (void)x[k]; }), second);
    }
    EXPECT_EQ(x[k].gathered()[Index(0)].copy().shape(), Shape{3});
  });
}
// A mask over two axes, the second of them split, and a value split along the third.
TEST_P(DistIndexing, ValuesOfMasksMayBeSplitAlongAnotherAxis) {
  run_ranks(GetParam(), [](Communicator comm) {
    const auto distribute = [&](const Array& a, i64 axis) {
      const Partition part = Partition::even(a.shape(axis), comm.size());
      return DNDarray(a.slice(axis, part.begin(comm.rank()), part.end(comm.rank())).copy(),
                      a.shape(), {axis, part}, comm);
    };
    const Array whole = counted({4, 6, 5}, DType::i64);
    const Array mask =
        ops::not_equal(ops::remainder(counted({4, 6}, DType::i64), Value(3)), Value(1));
    const DNDarray x = distribute(whole, 1), m = distribute(mask, 1);
    const Array v = ops::add(counted({16, 5}, DType::i64), Value(1000));
    whole.assign(Index(mask), v);
    x.assign(DistIndex(m), distribute(v, 1));
    EXPECT_TRUE(same_bits(x.gathered(), whole));
  });
}
TEST_P(DistIndexing, ValuesMayBeThePlaceItself) {
  run_ranks(GetParam(), [](Communicator comm) {
    const auto run = [&](const Index& key, const Index& from) {
      const Array whole = counted({30}, DType::i64);
      const Partition part = Partition::even(30, comm.size());
      const DNDarray x(whole.slice(0, part.begin(comm.rank()), part.end(comm.rank())).copy(), {30},
                       {0, part}, comm);
      whole.assign(key, whole[from].copy());
      x.assign(key, x[from]);
      EXPECT_TRUE(same_bits(x.gathered(), whole)) << key.str();
    };
    run(Index(Slice{10, {}, {}}), Index(Slice{{}, -10, {}}));
    run(Index(Slice{{}, {}, -1}), Index(Slice{}));
    run(Index(Slice{{}, 20, {}}), Index(Slice{10, {}, {}}));
    const Array turned = ops::subtract(Value(29), counted({30}, DType::i64));
    run(Index(turned), Index(Slice{}));
  });
}
TEST_P(DistIndexing, StrictRefusesWhatItWouldMove) {
  const auto run = [](Communicator comm, bool strict) {
    const auto distribute = [&](const Array& a, i64 axis) {
      const Partition part = Partition::even(a.shape(axis), comm.size());
      return DNDarray(a.slice(axis, part.begin(comm.rank()), part.end(comm.rank())).copy(),
                      a.shape(), {axis, part}, comm);
    };
    const DNDarray x = distribute(counted({6, 5}, DType::i64), 0);
    const DNDarray turned = distribute(counted({6, 5}, DType::i64), 1);
    const DNDarray rows = distribute(Array::of<i64>({4, 1, 2}), 0);
    const DNDarray whole = DNDarray::replicated(counted({3, 5}, DType::i64), comm);
    if (strict) {
      EXPECT_THROW(x.assign(DistIndex(Slice{}), turned), SplitError);
      EXPECT_THROW(x.assign(DistIndex(rows), whole), ArgumentError);
    } else {
      x.assign(DistIndex(Slice{}), turned);
      x.assign(DistIndex(rows), whole);
    }
  };
  run_ranks(GetParam(), [&](Communicator comm) { run(comm, false); });
  const Using strict(config().strict, true);
  run_ranks(GetParam(), [&](Communicator comm) { run(comm, true); });
}
// A row belongs to its owner: writes through the row and through the array meet.
TEST_P(DistIndexing, RowsAreHandles) {
  run_ranks(GetParam(), [](Communicator comm) {
    const Array whole = counted({6, 4}, DType::i64);
    const Partition part = Partition::even(6, comm.size());
    const DNDarray x(whole.slice(0, part.begin(comm.rank()), part.end(comm.rank())).copy(), {6, 4},
                     {0, part}, comm);
    const DNDarray row = x[DistIndex(4)];
    EXPECT_EQ(row.gathered()[Index(1)].item().as<i64>(), 17);
    x.assign(DistIndex(4, 1), Array::scalar(Value(-5), DType::i64));
    EXPECT_EQ(row.local()[Index(1)].item().as<i64>(), -5);
    row.assign(DistIndex(0), Array::scalar(Value(77), DType::i64));
    EXPECT_EQ(x.gathered()[Index(4, 0)].item().as<i64>(), 77);
    x.assign(DistIndex(4), x[DistIndex(4)]);  // a row that nobody has read yet, to its own place
    x.assign(DistIndex(1), x[DistIndex(4)]);
    EXPECT_EQ(x.gathered()[Index(1, 1)].item().as<i64>(), -5);
    const DNDarray number = x[DistIndex(4, 0)];
    x.assign(DistIndex(4, 0), Array::scalar(Value(1), DType::i64));
    EXPECT_EQ(number.item().as<i64>(), 77);  // a number is not a handle
  });
}
INSTANTIATE_TEST_SUITE_P(Ranks, DistIndexing, testing::Values(1, 2, 3, 4, 7),
                         [](const auto& info) { return cat("p", info.param); });

}  // namespace
}  // namespace tessera::dist
