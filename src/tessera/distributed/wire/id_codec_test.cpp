// SPDX-License-Identifier: Apache-2.0
// Ids as they travel: every format gives back what went in, is as short as it says, and damaged
// bytes are refused.
#include "tessera/distributed/wire/id_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "support/rng.hpp"
#include "tessera/distributed/wire/number_list.hpp"

namespace tessera::dist {
namespace {

std::vector<i64> any_ids(Rng& rng, i64 base, i64 radix, i64 n) {
  std::set<i64> ids;
  while (std::ssize(ids) < n) ids.insert(base + below(rng, radix));
  return {ids.begin(), ids.end()};
}

// The header tells the format; the bytes are as long as the format says; the ids come back.
IdFormat there_and_back(const std::vector<i64>& ids, i64 base, i64 radix) {
  const EncodedIds encoded = encode(ids, base, radix);
  const Header header = Header::of(encoded.format, true);
  EXPECT_TRUE(header.problem());
  const IdFormat format = header.format();
  EXPECT_EQ(format.bytes(radix), std::ssize(encoded.bytes));
  EXPECT_LE(std::ssize(encoded.bytes), most_encoded_bytes(std::ssize(ids), radix));
  EXPECT_EQ(format.empty(), ids.empty());
  EXPECT_EQ(decode(format, encoded.bytes, base, radix), ids);
  return format;
}

// log2 of the ways to choose n of radix.
double least_bits(i64 radix, i64 n) {
  const auto f = [](i64 k) { return std::lgamma(static_cast<double>(k) + 1); };
  return (f(radix) - f(n) - f(radix - n)) / std::log(2.0);
}

}  // namespace

TEST(IdCodec, RandomSetsComeBack) {
  Rng rng(5);
  for (int round = 0; round < 2000; ++round) {
    const i64 radix = 1 + below(rng, round % 2 == 0 ? 70 : 5000), base = below(rng, 1000);
    there_and_back(any_ids(rng, base, radix, below(rng, radix + 1)), base, radix);
  }
}

TEST(IdCodec, NoneAllAndOne) {
  for (const i64 radix : {i64{1}, i64{7}, i64{64}, i64{65}, i64{10000}}) {
    EXPECT_TRUE(there_and_back({}, 3, radix).empty());
    std::vector<i64> all(static_cast<std::size_t>(radix));
    std::iota(all.begin(), all.end(), i64{3});
    EXPECT_LE(there_and_back(all, 3, radix).bytes(radix), 2 * bytes_of_number(radix));  // one run
    for (const i64 one : {i64{0}, radix / 2, radix - 1}) there_and_back({3 + one}, 3, radix);
  }
  EXPECT_TRUE(there_and_back({}, 0, 0).empty());
}

TEST(IdCodec, GapsBeyondThirtyTwoBits) {
  const i64 radix = i64{1} << 42, base = i64{1} << 43;
  const std::vector<i64> ids{base, base + 1, base + (i64{1} << 31) + 5, base + (i64{1} << 40),
                             base + radix - 1};
  there_and_back(ids, base, radix);
  there_and_back({base + radix - 1}, base, radix);
  there_and_back({0, i64{1} << 61}, 0, i64{1} << 62);
  Rng rng(2);
  const std::vector<i64> many = any_ids(rng, base, radix, 500);
  EXPECT_EQ(there_and_back(many, base, radix).kind, Encoding::gaps);
}

TEST(IdCodec, RunsStayRuns) {
  std::vector<i64> ids;
  for (i64 first : {i64{10}, i64{4000}, i64{90000}})
    for (i64 k = 0; k < 700; ++k) ids.push_back(first + k);
  EXPECT_EQ(there_and_back(ids, 0, 100000).kind, Encoding::runs);
}

// Up to eleven of twelve; of more, the holes are not listed.
TEST(IdCodec, AnySetIsWithinFivePerCentOfTheLeast) {
  Rng rng(9);
  const i64 radix = 20000;
  for (const double share :
       {0.001, 0.01, 0.05, 0.125, 0.2, 0.25, 0.333, 0.4, 0.5, 0.6, 0.7, 0.875, 0.9}) {
    const auto n = static_cast<i64>(share * static_cast<double>(radix));
    const std::vector<i64> ids = any_ids(rng, 0, radix, n);
    const double least = least_bits(radix, n) / 8;
    EXPECT_LE(static_cast<double>(there_and_back(ids, 0, radix).bytes(radix)), 1.05 * least + 1)
        << share;
  }
}

TEST(IdCodec, ASetEncodesAndMerges) {
  Rng rng(4);
  for (const double share : {0.01, 0.25, 0.5, 0.9, 1.0}) {
    const i64 first = 100, last = 100 + 9001;
    IdSet all(0, 20000), into(first, last);
    const std::vector<i64> ids = any_ids(rng, 0, 20000, static_cast<i64>(share * 20000));
    for (const i64 id : ids) all.add(id);
    const IdSet part = all.within(first, last);
    const EncodedIds encoded = encode(part);
    EXPECT_EQ(encoded.format.kind == Encoding::huffman, share == 0.25 || share == 0.9) << share;
    EXPECT_EQ(
        decode(Header::of(encoded.format, false).format(), encoded.bytes, first, last - first),
        part.ids());
    into.add(first + 17);
    decode_into(into, {&encoded.format, 1}, {&encoded.bytes, 1});
    std::set<i64> expected{first + 17};
    for (const i64 id : ids)
      if (id >= first && id < last) expected.insert(id);
    const std::vector<i64> found = into.ids();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << share;
  }
}

// Of many senders, some of them silent: those in Huffman codes are read together.
TEST(IdCodec, SetsOfManySendersMerge) {
  Rng rng(6);
  const i64 first = 77, last = 77 + 5003;
  for (const int senders : {1, 2, 3, 8, 21}) {
    std::vector<IdFormat> formats;
    std::vector<std::vector<std::byte>> bytes;
    std::set<i64> expected{first + 1};
    for (int q = 0; q < senders; ++q) {
      IdSet part(first, last);
      const i64 n =
          std::array<i64, 5>{0, 3, 700, 1250, 2500}[static_cast<std::size_t>(below(rng, 5))];
      for (const i64 id : any_ids(rng, first, last - first, n)) {
        part.add(id);
        expected.insert(id);
      }
      EncodedIds encoded = encode(part);
      EXPECT_EQ(encoded.format.kind == Encoding::huffman, n == 700 || n == 1250) << n;
      formats.push_back(encoded.format);
      bytes.push_back(std::move(encoded.bytes));
    }
    IdSet into(first, last);
    into.add(first + 1);
    decode_into(into, formats, bytes);
    EXPECT_EQ(into.ids(), std::vector<i64>(expected.begin(), expected.end())) << senders;
    EXPECT_EQ(into.size(), std::ssize(expected));
    for (std::size_t q = 0; q < formats.size(); ++q) {
      if (formats[q].kind != Encoding::huffman) continue;
      --formats[q].listed;  // of many, one that is damaged
      EXPECT_THROW(decode_into(into, formats, bytes), CommError);
      ++formats[q].listed;
    }
  }
}

TEST(IdCodec, RunsAreCountedAcrossWords) {
  IdSet set(5, 5 + 4000);
  EXPECT_EQ(set.runs(), 0);
  for (const auto& [from, to] : std::vector<std::pair<i64, i64>>{
           {0, 1}, {63, 65}, {127, 128}, {190, 400}, {402, 403}, {3999, 4000}})
    for (i64 id = from; id < to; ++id) set.add(5 + id);
  EXPECT_EQ(set.runs(), 6);
  EXPECT_EQ(set.size(), std::ssize(set.ids()));
}

TEST(IdCodec, ASetThatLiesTogetherIsNotCoded) {
  IdSet set(0, 40000);
  for (i64 id = 5000; id < 15000; ++id) set.add(id);
  EXPECT_EQ(encode(set).format.kind, Encoding::runs);
  EXPECT_EQ(set.runs(), 1);
  EXPECT_EQ(set.ids().size(), 10000U);
}

// Whatever arrives: ids within bounds, ascending, or CommError.
TEST(IdCodec, DamagedBytesAreRefused) {
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const i64 radix = 1 + below(rng, 700);
    Header header =
        Header::of(encode(any_ids(rng, 0, radix, below(rng, radix + 1)), 0, radix).format, false);
    if (round % 2 == 0) header.word ^= std::uint64_t{1} << (1 + below(rng, 63));
    if (round % 7 == 0) header.word = rng();
    try {
      const IdFormat format = header.format();
      const i64 length = format.bytes(radix);
      ASSERT_LE(length, 16 * radix + 16);
      std::vector<std::byte> bytes(static_cast<std::size_t>(length));
      for (std::byte& b : bytes) b = static_cast<std::byte>(rng() & rng());
      const std::vector<i64> ids = decode(format, bytes, 0, radix);
      ASSERT_TRUE(std::is_sorted(ids.begin(), ids.end(), std::less_equal<>()));
      ASSERT_TRUE(ids.empty() || (ids.front() >= 0 && ids.back() < radix));
      IdSet set(0, radix);
      decode_into(set, {&format, 1}, {&bytes, 1});
      ASSERT_EQ(set.ids(), ids);
    } catch (const CommError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 4000);
  const EncodedIds encoded = encode(std::vector<i64>{1, 5, 700}, 0, 1000);
  const std::span<const std::byte> bytes(encoded.bytes);
  EXPECT_THROW((void)decode(encoded.format, bytes.first(bytes.size() - 1), 0, 1000), CommError);
}

TEST(NarrowList, GivesBackWhatWentInWhateverItsWidth) {
  for (const i64 most : {i64{7}, (i64{1} << 32) - 1, i64{1} << 32, i64{1} << 40}) {
    const std::vector<i64> numbers{0, most, 3, most - 1, 5};
    const NarrowList list(numbers, most);
    ASSERT_EQ(list.size(), 5U);
    for (std::size_t j = 0; j < numbers.size(); ++j) EXPECT_EQ(list[j], numbers[j]);
    const NumberList all = list.all(), some = list.piece(1, 3);
    EXPECT_TRUE(std::equal(all.begin(), all.end(), numbers.begin(), numbers.end()));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), numbers.begin() + 1, numbers.begin() + 4));
    EXPECT_EQ(list.piece(2, 0).size(), 0U);
  }
  EXPECT_TRUE(NarrowList().empty());
  EXPECT_EQ(NarrowList().all().size(), 0U);
}

}  // namespace tessera::dist
