// SPDX-License-Identifier: Apache-2.0
// Each function against plain index arithmetic on the whole array.
#include "tessera/distributed/functions/moves.hpp"

#include "support/cases.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {
namespace {

// The array of `shape` whose element at an index is x at f(index), or `otherwise` where f gives
// none.
Array picked(const Array& x, const Shape& shape,
             const std::function<std::optional<Shape>(const Shape&)>& f, double otherwise = 0) {
  const auto numbers = numbers_of(x);
  std::vector<double> values;
  for_each_offset(Layout::contiguous(shape), [&](i64 k, i64) {
    Shape index = shape;
    for (i64 a = shape.size() - 1; a >= 0; --a) {
      index[a] = k % shape[a];
      k /= shape[a];
    }
    const std::optional<Shape> from = f(index);
    i64 flat = 0;
    for (i64 a = 0; from && a < x.ndim(); ++a) flat = flat * x.shape(a) + (*from)[a];
    values.push_back(from ? numbers[static_cast<std::size_t>(flat)].real() : otherwise);
  });
  return laid_out(x.dtype(), shape, values, Lay::dense);
}

TEST(DistMoves, ViewsOfAxes) {
  const Array x = sample({5, 3, 4}, DType::i64);
  for_each_distribution({5, 3, 4}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const i64 order[] = {2, 0, 1};
    const auto view = [&](auto&& f, const Array& want, i64 split) {
      const DNDarray y = silent(c.comm, f);
      expect_same(y, want);
      expect_split(y, c.distribution.split ? std::optional(split) : std::nullopt);
      if (d.local().size() > 0) {
        EXPECT_EQ(y.local().data(), d.local().data());
      }
    };
    const i64 s = c.distribution.split.value_or(0);
    view([&] { return dist::transpose(d); }, x.transpose(), 2 - s);
    view([&] { return dist::permute(d, {2, 0, -2}); }, x.permute(order), (s + 1) % 3);
    view([&] { return dist::swapaxes(d, 0, -1); }, x.swap_axes(0, 2), s == 1 ? 1 : 2 - s);
    view([&] { return dist::moveaxis(d, {2}, {0}); }, x.permute(order), (s + 1) % 3);
    view([&] { return dist::moveaxis(d, {0, 1}, {1, 2}); }, x.permute(order), (s + 1) % 3);
    for (i64 a = 0; a < 4; ++a)
      view([&] { return dist::expand_dims(d, a); }, x.expand_dims(a), s + (a <= s));
  });
}

TEST(DistMoves, ViewsShareWrites) {
  run_ranks(3, [](const Communicator& comm) {
    const Array x = sample({5, 4});
    const DNDarray d = distribute(x, {0, Partition::even(5, 3)}, comm);
    const DNDarray t = dist::transpose(d);
    t.local().fill(Value(7.0));
    t.touch();
    expect_same(d, full({5, 4}, Value(7.0), DType::f64));
  });
}

TEST(DistMoves, Squeeze) {
  const Array x = sample({1, 4, 1, 3}, DType::i64);
  for_each_distribution({1, 4, 1, 3}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const auto squeezed = [&](auto&& f, const Array& want, std::optional<i64> split) {
      const DNDarray y = silent(c.comm, f);
      expect_split(y, split);
      expect_same(y, want);
    };
    const std::optional<i64> s = c.distribution.split;
    squeezed([&] { return dist::squeeze(d); }, x.squeeze(),
             s == 1   ? std::optional<i64>(0)
             : s == 3 ? std::optional<i64>(1)
                      : std::nullopt);
    squeezed([&] { return dist::squeeze(d, Shape{2}); }, x.squeeze(2),
             s == 2   ? std::nullopt
             : s == 3 ? std::optional<i64>(2)
                      : s);
    EXPECT_THROW(dist::squeeze(d, Shape{1}), ShapeError);
    EXPECT_THROW(dist::squeeze(d, Shape{4}), IndexError);
  });
}

TEST(DistMoves, BroadcastTo) {
  const Array x = sample({4, 1, 3}, DType::i64);
  for_each_distribution({4, 1, 3}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const auto distribution = [&] { return dist::broadcast_to(d, {2, 4, 5, 3}); };
    const DNDarray y = c.distribution.split == 1 ? distribution() : silent(c.comm, distribution);
    expect_split(y, c.distribution.split ? std::optional(*c.distribution.split + 1) : std::nullopt);
    expect_same(y, x.broadcast_to({2, 4, 5, 3}));
    expect_same_error<ShapeError>(
        [&] {
          x.broadcast_to({4, 2, 2});
        },
        [&] {
          dist::broadcast_to(d, {4, 2, 2});
        });
  });
}

TEST(DistMoves, Flip) {
  const Array x = sample({7, 5}, DType::i64);
  for_each_distribution({7, 5}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    expect_same(dist::flip(d), flip(x, {0, 1}));
    for (i64 a = 0; a < 2; ++a) {
      const DNDarray y = c.distribution.split == a
                             ? dist::flip(d, Shape{a})
                             : silent(c.comm, [&] { return dist::flip(d, Shape{a}); });
      EXPECT_EQ(y.distribution(), d.distribution());
      expect_same(y, flip(x, {a}));
    }
    expect_same_error<IndexError>([&] { flip(x, {2}); }, [&] { dist::flip(d, Shape{2}); });
  });
}

TEST(DistMoves, FlipMovesWhatChangesItsRank) {
  run_ranks(3, [](const Communicator& comm) {
    const DNDarray d = distribute(sample({20}), {0, Partition::even(20, 3)}, comm);
    const Traffic before = comm.traffic();
    (void)dist::flip(d);
    const i64 counts[] = {7, 2, 6};  // all of the first and last rank but one; the middle keeps 5
    EXPECT_LE((comm.traffic() - before).bytes, 8 * counts[comm.rank()]);
  });
}

TEST(DistMoves, Roll) {
  const Array x = sample({7, 5}, DType::i64);
  for_each_distribution({7, 5}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (const i64 shift : {0, 1, -2, 6, 7, 100}) {
      for (i64 a = 0; a < 2; ++a) {
        const DNDarray y = dist::roll(d, {shift}, {a});
        expect_same(y, roll(x, {shift}, {a}));
        EXPECT_EQ(y.distribution(), d.distribution());
        EXPECT_FALSE(may_share_memory(y.local(), d.local()));
        if (c.distribution.split != a) silent(c.comm, [&] { return dist::roll(d, {shift}, {a}); });
      }
      expect_same(dist::roll(d, {shift, 3}, {0, 1}), roll(x, {shift, 3}, {0, 1}));
      expect_same(dist::roll(d, {shift, 3, 1}, {0, 1, 0}), roll(x, {shift, 3, 1}, {0, 1, 0}));
      expect_same(dist::roll(d, {shift}, {0, 1}), roll(x, {shift}, {0, 1}));
      const DNDarray flat = dist::roll(d, {shift}, {});
      expect_same(flat, roll(x, {shift}, {}));
      expect_split(flat, c.distribution.split);
    }
    expect_same_error<ArgumentError>(
        [&] {
          roll(x, {1, 2}, {});
        },
        [&] {
          dist::roll(d, {1, 2}, {});
        });
    expect_same_error<IndexError>([&] { roll(x, {1}, {5}); }, [&] { dist::roll(d, {1}, {5}); });
  });
}

// NumPy's continuations of 0 1 2 3 to both sides, by hand.
TEST(DistMoves, PadOfALine) {
  const Array x = Array::of<i64>({0, 1, 2, 3});
  const std::pair<dist::PadMode, Array> cases[] = {
      {dist::PadMode::constant, Array::of<i64>({9, 9, 9, 9, 9, 0, 1, 2, 3, 9, 9})},
      {dist::PadMode::edge, Array::of<i64>({0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3})},
      {dist::PadMode::reflect, Array::of<i64>({1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1})},
      {dist::PadMode::symmetric, Array::of<i64>({3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2})},
      {dist::PadMode::wrap, Array::of<i64>({3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1})}};
  for_each_distribution({4}, [&](const Case& c) {
    for (const auto& [mode, want] : cases)
      expect_same(dist::pad(c.of(x), {{5, 2}}, mode, Value(9)), want);
    silent(c.comm, [&] { return dist::pad(c.of(x), {{5, 2}}, dist::PadMode::constant); });
  });
}

TEST(DistMoves, PadOfMatrices) {
  const Array x = sample({5, 4}, DType::f32);
  for_each_distribution({5, 4}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const auto inside = [](const Shape& i) -> std::optional<Shape> {
      const bool in = i[0] >= 2 && i[0] < 7 && i[1] < 4;
      return in ? std::optional(Shape{i[0] - 2, i[1]}) : std::nullopt;
    };
    expect_same(silent(c.comm,
                       [&] {
                         return dist::pad(d, {{2, 0}, {0, 3}}, dist::PadMode::constant, Value(2.5));
                       }),
                picked(x, {7, 7}, inside, 2.5));
    expect_same(dist::pad(d, {{1, 2}}, dist::PadMode::edge), picked(x, {8, 7}, [](const Shape& i) {
                  return Shape{std::clamp<i64>(i[0] - 1, 0, 4), std::clamp<i64>(i[1] - 1, 0, 3)};
                }));
    expect_same(dist::pad(d, {{1, 2}}, dist::PadMode::wrap), picked(x, {8, 7}, [](const Shape& i) {
                  return Shape{(i[0] + 4) % 5, (i[1] + 3) % 4};
                }));
    expect_split(dist::pad(d, {{1, 2}}), c.distribution.split);
    EXPECT_THROW(dist::pad(d, {{1, 2}, {0, 0}, {0, 0}}), ShapeError);
    EXPECT_THROW(dist::pad(d, {{-1, 2}}), ArgumentError);
  });
  for_each_distribution({0, 4}, [&](const Case& c) {
    const DNDarray d = c.of(sample({0, 4}));
    expect_same(dist::pad(d, {{1, 2}}), zeros({3, 7}, DType::f64));
    EXPECT_THROW(dist::pad(d, {{1, 0}}, dist::PadMode::edge), ArgumentError);
  });
}

TEST(DistMoves, Repeat) {
  const Array x = sample({5, 3}, DType::i64);
  const Array times = Array::of<i64>({0, 2, 1, 0, 3});
  const i64 from[] = {1, 1, 2, 4, 4, 4};
  for_each_distribution({5, 3}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (const i64 n : {0, 1, 3}) {
      const DNDarray y = silent(c.comm, [&] { return dist::repeat(d, n, 0); });
      expect_same(y, picked(x, {5 * n, 3}, [n](const Shape& i) { return Shape{i[0] / n, i[1]}; }));
      expect_split(y, c.distribution.split);
      expect_same(dist::repeat(d, n, -1), picked(x, {5, 3 * n}, [n](const Shape& i) {
                    return Shape{i[0], i[1] / n};
                  }));
      expect_same(dist::repeat(d, n), picked(x, {15 * n}, [n](const Shape& i) {
                    return Shape{i[0] / n / 3, i[0] / n % 3};
                  }));
    }
    expect_same(silent(c.comm, [&] { return dist::repeat(d, times, 0); }),
                picked(x, {6, 3}, [&](const Shape& i) {
                  return Shape{from[i[0]], i[1]};
                }));
    expect_same(dist::repeat(d, Array::of<i64>({2}), 1), picked(x, {5, 6}, [](const Shape& i) {
                  return Shape{i[0], i[1] / 2};
                }));
    EXPECT_THROW(dist::repeat(d, times, 1), ShapeError);
    EXPECT_THROW(dist::repeat(d, -1, 1), ArgumentError);
    EXPECT_THROW(dist::repeat(d, Array::of<double>({1}), 1), DTypeError);
  });
}

TEST(DistMoves, Tile) {
  const Array x = sample({4, 3}, DType::i64);
  for_each_distribution({4, 3}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (const Shape& times : {Shape{2}, Shape{1, 3}, Shape{3, 2}, Shape{2, 1, 2}, Shape{0, 2}}) {
      Shape shape{4, 3};
      while (shape.size() < times.size()) shape.insert(0, 1);
      for (i64 k = 0; k < times.size(); ++k)
        shape[shape.size() - 1 - k] *= times[times.size() - 1 - k];
      const DNDarray y = dist::tile(d, times);
      expect_same(y, picked(x, shape, [&](const Shape& i) {
                    return Shape{i[i.size() - 2] % 4, i[i.size() - 1] % 3};
                  }));
      expect_split(y, c.distribution.split ? std::optional(*c.distribution.split + shape.size() - 2)
                                           : std::nullopt);
    }
    if (c.distribution.split == 0) silent(c.comm, [&] { return dist::tile(d, {1, 3}); });
  });
}

TEST(DistMoves, Diff) {
  const Array x = sample({7, 5}, DType::i32), truth = sample({7, 5}, DType::b1);
  const auto once = [](const Array& y, i64 a) {
    return ops::subtract(y.slice(a, 1, y.shape(a)),
                         y.slice(a, 0, std::max<i64>(0, y.shape(a) - 1)));
  };
  for_each_distribution({7, 5}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (i64 a = 0; a < 2; ++a) {
      Array want = x;
      for (i64 order = 0; order < 9; ++order) {
        const DNDarray y = dist::diff(d, order, a);
        expect_same(y, want);
        expect_split(y, c.distribution.split);
        want = once(want, a);
      }
      if (c.distribution.split != a) silent(c.comm, [&] { return dist::diff(d, 2, a); });
      expect_same(dist::diff(c.of(truth), 1, a),
                  ops::not_equal(truth.slice(a, 1, 9), truth.slice(a, 0, x.shape(a) - 1)));
    }
    EXPECT_THROW(dist::diff(d, -1), ArgumentError);
    EXPECT_THROW(dist::diff(d, 1, 2), IndexError);
  });
}

TEST(DistMoves, Diagonals) {
  const Array x = sample({5, 4, 3}, DType::i64), line = sample({4}, DType::i64);
  for_each_distribution({5, 4, 3}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    for (i64 k = -6; k < 6; ++k) {
      const i64 row = std::max<i64>(0, -k), column = std::max<i64>(0, k);
      const i64 n = std::max<i64>(0, std::min(5 - row, 4 - column));
      const DNDarray y = silent(c.comm, [&] { return dist::diagonal(d, k); });
      expect_same(y, picked(x, {3, n}, [&](const Shape& i) {
                    return Shape{row + i[1], column + i[1], i[0]};
                  }));
      if (c.distribution.split) expect_split(y, *c.distribution.split == 2 ? 0 : 1);
      const i64 m = std::max<i64>(0, std::min(3 - row, 5 - column));
      expect_same(dist::diagonal(d, k, 2, 0), picked(x, {4, m}, [&](const Shape& i) {
                    return Shape{column + i[1], i[0], row + i[1]};
                  }));
    }
    EXPECT_THROW(dist::diagonal(d, 0, 1, 1), ArgumentError);
    EXPECT_THROW(dist::diag(d), ArgumentError);
  });
  for_each_distribution({4}, [&](const Case& c) {
    for (i64 k = -3; k < 4; ++k) {
      const DNDarray y = silent(c.comm, [&] { return dist::diag(c.of(line), k); });
      const i64 n = 4 + std::abs(k);
      expect_same(y, picked(line, {n, n}, [&](const Shape& i) {
                    return i[1] - i[0] == k ? std::optional(Shape{std::min(i[0], i[1])})
                                            : std::nullopt;
                  }));
      expect_same(dist::diag(y, k), line);
    }
  });
}

TEST(DistMoves, Triangles) {
  for (const DType dtype : {DType::f32, DType::b1, DType::u8}) {
    const Array x = sample({2, 5, 4}, dtype), line = sample({4}, dtype);
    for_each_distribution({2, 5, 4}, [&](const Case& c) {
      const DNDarray d = c.of(x);
      for (i64 k = -5; k < 5; ++k) {
        expect_same(silent(c.comm, [&] { return dist::tril(d, k); }),
                    picked(x, {2, 5, 4}, [&](const Shape& i) {
                      return i[2] - i[1] <= k ? std::optional(i) : std::nullopt;
                    }));
        const DNDarray upper = dist::triu(d, k);
        EXPECT_EQ(upper.distribution(), d.distribution());
        expect_same(upper, picked(x, {2, 5, 4}, [&](const Shape& i) {
                      return i[2] - i[1] >= k ? std::optional(i) : std::nullopt;
                    }));
      }
    });
    for_each_distribution({4}, [&](const Case& c) {
      expect_same(dist::tril(c.of(line)), picked(line, {4, 4}, [](const Shape& i) {
                    return i[1] <= i[0] ? std::optional(Shape{i[1]}) : std::nullopt;
                  }));
    });
  }
}

}  // namespace
}  // namespace tessera::dist
