// SPDX-License-Identifier: Apache-2.0
// Against the local functions on the whole array, or what NumPy says they mean where there is none.
#include "tessera/distributed/sorting/take.hpp"

#include "support/awkward.hpp"
#include "support/distributions.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera::dist {
namespace {

// Every second distribution: enough to meet every pair of axes.
std::vector<Distribution> some_distributions(const Shape& shape, int p) {
  const std::vector<Distribution> all = distributions_of(shape, p);
  std::vector<Distribution> some;
  for (std::size_t k = 0; k < all.size(); k += k == 0 ? 1 : 2) some.push_back(all[k]);
  return some;
}

// Indices below n in magnitude, both signs.
Array indices_for(i64 n, const Shape& shape, DType dtype = DType::i64) {
  std::vector<double> numbers;
  for (i64 i = 0; i < count_of(shape); ++i)
    numbers.push_back(static_cast<double>((i * 7 + 3) % (2 * n) - (is_signed_int(dtype) ? n : 0)));
  for (double& v : numbers)
    if (v >= static_cast<double>(n)) v -= static_cast<double>(n);
  return laid_out(dtype, shape, numbers);
}

void expect_whole(const DNDarray& got, const Array& expected) {
  EXPECT_EQ(got.shape(), expected.shape());
  EXPECT_TRUE(same_bits(got.gathered(), expected)) << to_text(expected.shape());
}

TEST(DistTake, EveryAxis) {
  on_ranks([](Communicator comm) {
    const Shape shape{7, 5, 3};
    const Array whole = counted(shape, DType::f32, test_device());
    for (const Distribution& s : some_distributions(shape, comm.size())) {
      const DNDarray x = distribute(whole, s, comm);
      for (i64 axis = 0; axis < 3; ++axis)
        for (const Shape& at : {Shape{4}, Shape{2, 3}, Shape{}, Shape{0}}) {
          const Array indices = indices_for(shape[axis], at);
          for (const Distribution& k : some_distributions(at, comm.size()))
            expect_whole(dist::take(x, distribute(indices, k, comm), axis - 3),
                         tessera::take(whole, indices, axis));
        }
      expect_distributed(x, whole, s);
    }
  });
}

TEST(DistTake, Flattened) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{7, 5, 3}, Shape{11}, Shape{2, 9}}) {
      const Array whole = counted(shape, DType::i32, test_device());
      for (const Shape& at : {Shape{40}, Shape{3, 4}, Shape{}}) {
        const Array indices = indices_for(count_of(shape), at, DType::i16);
        for (const Distribution& s : some_distributions(shape, comm.size()))
          for (const Distribution& k : some_distributions(at, comm.size()))
            expect_whole(dist::take(distribute(whole, s, comm), distribute(indices, k, comm)),
                         tessera::take(whole, indices, std::nullopt));
      }
    }
    const Array truth = laid_out<bool>({3}, {true, false, true});
    const Array whole = counted({5, 2}, DType::i64, test_device());
    const DNDarray x = distribute(whole, {1, Partition::even(2, comm.size())}, comm);
    expect_whole(dist::take(x, DNDarray::replicated(truth, comm)),
                 tessera::take(whole, truth, std::nullopt));
  });
}

// What is taken is a copy, also where it is one row.
TEST(DistTake, IsACopy) {
  on_ranks([](Communicator comm) {
    const DNDarray x = distribute(counted({6, 2}), {0, Partition::even(6, comm.size())}, comm);
    const DNDarray row =
        dist::take(x, DNDarray::replicated(Array::scalar(Value(2), DType::i64), comm), 0);
    x.assign({2}, Array::of<i64>({-1, -1}));
    EXPECT_TRUE(same_bits(row.gathered(), Array::of<i64>({4, 5})));
  });
}

TEST(DistTake, AlongAxis) {
  on_ranks([](Communicator comm) {
    const Shape shape{6, 5, 4};
    const Array whole = counted(shape, DType::f64, test_device());
    for (i64 axis = 0; axis < 3; ++axis)
      for (Shape at : {shape, Shape{6, 1, 4}, Shape{1, 1, 1}}) {
        at[axis] = 3;
        const Array indices = indices_for(shape[axis], at);
        const Array expected = take_along_axis(whole, indices, axis);
        for (const Distribution& s : some_distributions(shape, comm.size()))
          for (const Distribution& k : some_distributions(at, comm.size())) {
            const DNDarray got = dist::take_along_axis(distribute(whole, s, comm),
                                                       distribute(indices, k, comm), axis);
            expect_whole(got, expected);
            if (s.split && *s.split != axis) {
              EXPECT_TRUE(got.distribution() == s);
            }
          }
      }
    const Array flat = indices_for(120, {9});
    for (const Distribution& s : some_distributions(shape, comm.size()))
      expect_whole(dist::take_along_axis(distribute(whole, s, comm),
                                         DNDarray::replicated(flat, comm), std::nullopt),
                   take_along_axis(whole, flat, std::nullopt));
  });
}

TEST(DistTake, PutAlongAxis) {
  on_ranks([](Communicator comm) {
    const Shape shape{6, 5, 4};
    const Array whole = counted(shape, DType::f64, test_device());
    for (i64 axis = 0; axis < 3; ++axis)
      for (Shape at : {shape, Shape{6, 1, 4}}) {
        at[axis] = 3;
        const Array indices = indices_for(shape[axis], at);
        for (const Shape& of : {at, Shape{1, 4}, Shape{}}) {
          if (axis == 2 && of == Shape{1, 4}) continue;
          const Array values = awkward(DType::f32, of, 5);
          const Array expected = whole.copy();
          put_along_axis(expected, indices, values, axis);
          for (const Distribution& s : some_distributions(shape, comm.size()))
            for (const Distribution& k : some_distributions(at, comm.size())) {
              const DNDarray x = distribute(whole, s, comm, Lay::exchanged);
              const Distribution v = of == at ? k : Distribution{};
              dist::put_along_axis(x, distribute(indices, k, comm), distribute(values, v, comm),
                                   axis);
              expect_distributed(x, expected, s);
            }
        }
      }
    for (const Distribution& s : some_distributions(shape, comm.size())) {
      const Array at = indices_for(120, {9}), expected = whole.copy();
      const Array values = counted({9}, DType::i64, test_device());
      const DNDarray x = distribute(whole, s, comm);
      put_along_axis(expected, at, values, std::nullopt);
      dist::put_along_axis(x, DNDarray::replicated(at, comm),
                           distribute(values, {0, Partition::even(9, comm.size())}, comm),
                           std::nullopt);
      expect_distributed(x, expected, s);
    }
  });
}

// NumPy's put: values are repeated or cut, the last of equal positions wins.
TEST(DistTake, Put) {
  on_ranks([](Communicator comm) {
    for (const Shape& shape : {Shape{13}, Shape{5, 4}, Shape{3, 2, 3}}) {
      const Array whole = counted(shape, DType::i32, test_device());
      const i64 size = whole.size();
      for (const Shape& at : {Shape{30}, Shape{2, 3}})
        for (const i64 have : {i64{1}, i64{4}, count_of(at), i64{50}}) {
          const Array indices = indices_for(size, at), values = awkward(DType::u8, {have}, 2);
          const Array expected = whole.copy().reshape({size});
          const std::vector<i64> places = values_of<i64>(indices);
          for (std::size_t k = 0; k < places.size(); ++k)
            expected.select(0, places[k]).copy_from(values.select(0, static_cast<i64>(k) % have));
          for (const Distribution& s : some_distributions(shape, comm.size()))
            for (const Distribution& k : some_distributions(at, comm.size()))
              for (const Distribution& v :
                   {Distribution{}, Distribution{0, Partition::even(have, comm.size())}}) {
                const DNDarray x = distribute(whole, s, comm);
                dist::put(x, distribute(indices, k, comm), distribute(values, v, comm));
                expect_distributed(x, expected.reshape(shape), s);
              }
        }
    }
    const DNDarray x = DNDarray::replicated(counted({4}), comm);
    dist::put(x, DNDarray::replicated(Array::of<i64>({10}), comm),
              DNDarray::replicated(Array::empty({0}, DType::i64), comm));
    expect_whole(x, counted({4}));
    const DNDarray one = DNDarray::replicated(counted({}), comm);
    dist::put(one, DNDarray::replicated(Array::of<i64>({0, -1}), comm),
              DNDarray::replicated(Array::of<i64>({5, 6}), comm));
    EXPECT_EQ(one.item().as<i64>(), 6);
  });
}

TEST(DistTake, CompressAndExtract) {
  on_ranks([](Communicator comm) {
    const Shape shape{6, 5, 4};
    const Array whole = counted(shape, DType::i64, test_device());
    for (const Distribution& s : some_distributions(shape, comm.size())) {
      const DNDarray x = distribute(whole, s, comm);
      for (i64 axis = -1; axis < 3; ++axis)
        for (const i64 n : {i64{3}, axis < 0 ? i64{120} : shape[axis]}) {
          const Array condition = awkward(DType::b1, {n}, 9).astype(DType::f32);
          const Array places = nonzero(condition)[0];
          const std::optional<i64> along = axis < 0 ? std::nullopt : std::optional(axis);
          for (const Distribution& c : some_distributions({n}, comm.size()))
            expect_whole(dist::compress(distribute(condition, c, comm), x, along),
                         tessera::take(whole, places, along));
        }
      for (const Shape& of : {shape, Shape{40}, Shape{2, 3}}) {
        const Array condition = awkward(DType::b1, of, 4);
        const Array places = nonzero(condition.reshape({count_of(of)}))[0];
        for (const Distribution& c : some_distributions(of, comm.size()))
          expect_whole(dist::extract(distribute(condition, c, comm), x),
                       tessera::take(whole, places, std::nullopt));
      }
    }
  });
}

TEST(DistTake, SendsNothingWhereNothingIsNeeded) {
  on_ranks([](Communicator comm) {
    const Array whole = counted({8, 6}, DType::f64, test_device());
    const DNDarray x = distribute(whole, {0, Partition::even(8, comm.size())}, comm);
    const DNDarray columns = DNDarray::replicated(laid_out<i64>({2}, {5, -6}), comm);
    const DNDarray rising = DNDarray::replicated(laid_out<i64>({3}, {0, 3, 7}), comm);
    const DNDarray along = DNDarray::replicated(indices_for(6, {8, 2}), comm);
    const DNDarray mask = DNDarray::replicated(awkward(DType::b1, {8}, 1), comm);
    const Traffic before = comm.traffic();
    (void)dist::take(x, columns, 1);
    (void)dist::take(x, rising, 0);
    (void)dist::take_along_axis(x, along, 1);
    (void)dist::compress(mask, x, 0);
    dist::put_along_axis(x, along, columns, 1);
    dist::put(x, rising, columns);
    EXPECT_EQ(comm.traffic(), before);
  });
}

template <class E, class F>
void expect_error(std::string_view text, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error: " << text;
  } catch (const E& e) {
    EXPECT_EQ(std::string_view(e.what()), text);
  }
}

TEST(DistTake, ErrorsOnAllRanksBeforeAnythingIsWritten) {
  on_ranks([](Communicator comm) {
    const Array whole = counted({4, 3}, DType::i64, test_device());
    for (const Distribution& s : distributions_of({4, 3}, comm.size())) {
      const DNDarray x = distribute(whole, s, comm);
      const Array places = laid_out<i64>({3}, {1, 12, 0});
      const Array along = laid_out<i64>({4, 1}, {0, 1, 2, 3});
      const DNDarray value = DNDarray::replicated(Array::of<i64>({7}).to(test_device()), comm);
      for (const Distribution& k : distributions_of({3}, comm.size())) {
        const DNDarray far = distribute(places, k, comm);
        const std::string flat = "index 12 is out of bounds for axis 0 with size 12";
        expect_error<IndexError>(flat, [&] { (void)dist::take(x, far); });
        expect_error<IndexError>(flat, [&] { dist::put(x, far, value); });
        expect_error<IndexError>("index 12 is out of bounds for axis 1 with size 3",
                                 [&] { (void)dist::take(x, far, 1); });
      }
      for (const Distribution& k : distributions_of({4, 1}, comm.size())) {
        const DNDarray far = distribute(along, k, comm);
        const std::string text = "index 3 is out of bounds for axis 1 with size 3";
        expect_error<IndexError>(text, [&] { (void)dist::take_along_axis(x, far, 1); });
        expect_error<IndexError>(text, [&] { dist::put_along_axis(x, far, value, 1); });
      }
      const DNDarray halves = value.astype(DType::f32);
      EXPECT_THROW((void)dist::take(x, halves), DTypeError);
      EXPECT_THROW(dist::put(x, halves, value), DTypeError);
      EXPECT_THROW((void)dist::take_along_axis(x, halves, 0), IndexError);
      EXPECT_THROW((void)dist::take_along_axis(x, value, 0), ArgumentError);
      EXPECT_THROW((void)dist::compress(x, x, 0), ArgumentError);
      EXPECT_THROW((void)dist::take(x, value, 2), IndexError);
      expect_distributed(x, whole, s);
    }
  });
}

}  // namespace
}  // namespace tessera::dist
