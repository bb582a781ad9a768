// SPDX-License-Identifier: Apache-2.0
// Networks and cuts of rows against std::sort, with registers in plain C++ on every host; the
// registers of the host, where it has them, operation by operation against those.
#include "tessera/kernels/sort/vector_sort.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tessera/kernels/sort/columns.hpp"
#include "tessera/kernels/sort/lanes_avx512.hpp"

namespace tessera {
namespace {

bool registers_run_here() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#else
  return true;
#endif
}

template <class V>
class Registers : public testing::Test {
 protected:
  void SetUp() override {
    if (!registers_run_here()) GTEST_SKIP() << "functions over registers need AVX-512";
  }
};
using Kinds = testing::Types<PlainLanes<std::uint64_t, 8>, PlainLanes<std::uint32_t, 16>,
                             PlainLanes<std::int64_t, 2>, PlainLanes<float, 4>
#if defined(__x86_64__)
                             ,
                             Avx512Lanes<std::uint64_t>, Avx512Lanes<std::uint32_t>,
                             Avx512Lanes<std::int64_t>, Avx512Lanes<std::int32_t>,
                             Avx512Lanes<double>, Avx512Lanes<float>
#endif
                             >;
TYPED_TEST_SUITE(Registers, Kinds);

// Rows that are hard on one part or another: equal keys, the largest key (which also fills what is
// left of a register), runs up and down, and samples that all come from one end.
template <class K>
K key_of_pattern(int pattern, i64 i, i64 n, std::mt19937_64& engine) {
  const K most = largest_key<K>;
  switch (pattern) {
    case 0: return static_cast<K>(static_cast<i64>(engine()));
    case 1: return static_cast<K>(engine() % 3);
    case 2: return static_cast<K>(i);
    case 3: return static_cast<K>(n - i);
    case 4: return most;
    case 5: return engine() % 2 ? most : static_cast<K>(engine());
    case 6: return static_cast<K>(std::min(i, n - i));
    case 7: return static_cast<K>(i % 2 ? 0 : engine());
    default: return static_cast<K>(engine() % 16 == 0 ? engine() : 5);
  }
}
constexpr int patterns = 9;

template <class V>
TESSERA_OVER_LANES void sort_here(typename V::Key* x, i64 n, int cuts) {
  sort_in_registers<V>(x, n, cuts);
}

// The row stands between keys that nobody may touch.
template <class V>
void check_row(int pattern, i64 n, int cuts) {
  using K = typename V::Key;
  const K fence = static_cast<K>(0x2BCDABCDu);
  constexpr i64 room = 32;
  std::mt19937_64 engine(static_cast<unsigned>(n * patterns + pattern));
  std::vector<K> row(static_cast<std::size_t>(n + 2 * room), fence);
  for (i64 i = 0; i < n; ++i)
    row[static_cast<std::size_t>(room + i)] = key_of_pattern<K>(pattern, i, n, engine);
  std::vector<K> want = row;
  std::sort(want.begin() + room, want.end() - room);
  sort_here<V>(row.data() + room, n, cuts);
  ASSERT_EQ(row, want) << "pattern " << pattern << " n " << n << " cuts " << cuts;
}

TYPED_TEST(Registers, SortEveryLength) {
  for (int pattern = 0; pattern < patterns; ++pattern) {
    for (i64 n = 0; n <= 530; ++n) {
      check_row<TypeParam>(pattern, n, 40);
      if (this->HasFatalFailure()) return;
    }
    for (i64 n : {1000, 4096, 4097, 20011, 100003}) check_row<TypeParam>(pattern, n, 40);
  }
}

TYPED_TEST(Registers, StdSortDoesTheRest) {
  for (int pattern = 0; pattern < patterns; ++pattern)
    for (int cuts : {0, 1, 3}) check_row<TypeParam>(pattern, 5000, cuts);
}

// Networks sort everything if they sort zeros and ones; here all rows of one register's length.
TYPED_TEST(Registers, NetworkSortsZerosAndOnes) {
  using K = typename TypeParam::Key;
  constexpr i64 n = TypeParam::lanes;
  for (std::uint32_t set = 0; set < (1u << n); ++set) {
    K row[n];
    for (i64 i = 0; i < n; ++i) row[i] = static_cast<K>(set >> i & 1);
    sort_here<TypeParam>(row, n, 1);
    ASSERT_TRUE(std::is_sorted(row, row + n)) << set;
    ASSERT_EQ(std::count(row, row + n, K(1)), std::popcount(set));
  }
}

#if defined(__x86_64__)

template <class K>
class Avx512 : public Registers<Avx512Lanes<K>> {};
using Keys =
    testing::Types<std::uint32_t, std::uint64_t, std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(Avx512, Keys);

template <class V>
TESSERA_OVER_LANES std::vector<typename V::Key> kept_in(const V& v) {
  std::vector<typename V::Key> keys(V::lanes);
  V::store(keys.data(), v);
  return keys;
}

// What each operation makes of two registers, one after the other; sets of lanes as keys.
template <class V, int apart>
TESSERA_OVER_LANES void add_ordered(std::vector<std::vector<typename V::Key>>& all, const V& v) {
  all.push_back(kept_in(V::template ordered<apart>(v)));
  all.push_back(kept_in(V::template exchanged<apart>(v)));
  if constexpr (apart + 1 < V::lanes) add_ordered<V, apart + 1>(all, v);
}
template <class V, int... i>
TESSERA_OVER_LANES V chosen_lanes(const V& a, const V& b, std::integer_sequence<int, i...>) {
  return V::template chosen<((5 * i + 3) % (2 * V::lanes))...>(a, b);
}
template <class V>
TESSERA_OVER_LANES std::vector<std::vector<typename V::Key>> operations(const typename V::Key* x,
                                                                        const typename V::Key* y) {
  using K = typename V::Key;
  const V a = V::load(x), b = V::load(y);
  std::vector<std::vector<K>> all{kept_in(a), kept_in(V::all(x[1]))};
  all.push_back(kept_in(V::lesser(a, b)));
  all.push_back(kept_in(V::greater(a, b)));
  all.push_back(kept_in(chosen_lanes(a, b, std::make_integer_sequence<int, V::lanes>{})));
  add_ordered<V, 1>(all, a);
  all.push_back({static_cast<K>(V::below(a, b)), static_cast<K>(V::not_above(a, b))});
  for (i64 n = -2; n <= V::lanes + 2; ++n) {
    all.push_back(kept_in(V::load_first(x, n)));
    std::vector<K> part(static_cast<std::size_t>(V::lanes), K(77));
    V::store_first(part.data(), a, n);
    all.push_back(part);
  }
  for (std::uint32_t set = 0; set < (1u << V::lanes); set += V::lanes == 8 ? 1 : 7) {
    std::vector<K> row(static_cast<std::size_t>(2 * V::lanes));
    V::split(a, set, row.data(), row.data() + 2 * V::lanes);
    const int n = std::popcount(set);  // what stands between the two parts is nobody's
    std::fill(row.begin() + n, row.begin() + V::lanes + n, K(0));
    all.push_back(row);
  }
  return all;
}

TYPED_TEST(Avx512, OperationsAreThoseOfPlainLanes) {
  using V = Avx512Lanes<TypeParam>;
  using Plain = PlainLanes<TypeParam, V::lanes>;
  for (int pattern = 0; pattern < patterns; ++pattern) {
    std::mt19937_64 engine(static_cast<unsigned>(pattern));
    TypeParam x[V::lanes], y[V::lanes];
    for (i64 i = 0; i < V::lanes; ++i) {
      x[i] = key_of_pattern<TypeParam>(pattern, i, V::lanes, engine);
      y[i] = i % 3 == 0 ? x[i] : key_of_pattern<TypeParam>(pattern, i + 1, V::lanes, engine);
    }
    const auto got = operations<V>(x, y), want = operations<Plain>(x, y);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(got[i], want[i]) << "operation " << i << " pattern " << pattern;
  }
}

#endif

TYPED_TEST(Registers, ColumnsBecomeLinesAndColumnsAgain) {
  using V = TypeParam;
  using K = typename V::Key;
  constexpr i64 lanes = V::lanes;
  const K poison = largest_key<K>;
  for (const i64 n : {i64{1}, i64{2}, lanes - 1, lanes, lanes + 1, 3 * lanes, 5 * lanes + 3})
    for (const i64 step : {lanes, lanes + 3}) {
      std::vector<K> table(static_cast<std::size_t>(n * step));
      for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<K>(i % 1000);
      std::vector<K> lines(static_cast<std::size_t>(lanes * n + 1), poison);
      lines_of_columns<V>(table.data(), step, n, lines.data());
      for (i64 i = 0; i < n; ++i)
        for (i64 c = 0; c < lanes; ++c)
          ASSERT_EQ(lines[static_cast<std::size_t>(c * n + i)],
                    table[static_cast<std::size_t>(i * step + c)]);
      ASSERT_EQ(lines.back(), poison);
      std::vector<K> back(table.size(), poison);
      columns_of_lines<V>(lines.data(), n, back.data(), step);
      for (i64 i = 0; i < n * step; ++i)
        ASSERT_EQ(back[static_cast<std::size_t>(i)],
                  i % step < lanes ? table[static_cast<std::size_t>(i)] : poison);
    }
}

}  // namespace
}  // namespace tessera
