// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/merge.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "support/arrays.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera {
namespace {

// Few values, so that runs have many in common; both zeros and NaN among them.
Array few_values(i64 n, unsigned seed) {
  const float values[] = {-1.0F, -0.0F, 0.0F, 1.0F, 2.0F, std::numeric_limits<float>::quiet_NaN()};
  std::mt19937 random(seed);
  const Array x = Array::empty({n}, DType::f32);
  for (i64 i = 0; i < n; ++i) x.host<float>()[i] = values[random() % 6];
  return x;
}

// The runs through windows of `width` items, as a merge from disk sees them.
Array merged_by_windows(const Array& runs, const std::vector<i64>& lengths, i64 width) {
  std::vector<i64> at, end;
  i64 begin = 0;
  for (const i64 n : lengths) {
    at.push_back(begin);
    end.push_back(begin += n);
  }
  const Array out = Array::empty(runs.shape(), runs.dtype());
  for (i64 done = 0; done < runs.size();) {
    std::vector<Array> windows;
    std::vector<bool> goes_on;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const i64 stop = std::min(at[i] + width, end[i]);
      windows.push_back(runs.slice(0, at[i], stop));
      goes_on.push_back(stop < end[i]);
    }
    const std::vector<i64> counts = mergeable(windows, goes_on);
    bool whole = false;
    i64 sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      whole = whole || (counts[i] > 0 && counts[i] == windows[i].size());
      sum += counts[i];
    }
    EXPECT_TRUE(whole);
    if (!whole) return out;
    const Array taken = Array::empty({sum}, runs.dtype()), room = Array::empty({sum}, runs.dtype());
    i64 to = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      taken.slice(0, to, to + counts[i]).copy_from(windows[i].slice(0, 0, counts[i]));
      to += counts[i];
      at[i] += counts[i];
    }
    out.slice(0, done, done + sum).copy_from(merged(taken, counts, room));
    done += sum;
  }
  return out;
}

TEST(Merge, WindowsOfRunsGiveWhatASortOfAllGives) {
  for (const auto& lengths : std::vector<std::vector<i64>>{
           {50}, {0, 7, 0}, {30, 40}, {1, 1, 1}, {17, 0, 33, 5}, {9, 9, 9, 9, 9, 9, 9}})
    for (const i64 width : {1, 2, 5, 100}) {
      const i64 n = std::accumulate(lengths.begin(), lengths.end(), i64{0});
      const Array runs = few_values(n, static_cast<unsigned>(n + width));
      const Array wanted = sort(runs);
      i64 begin = 0;
      for (const i64 length : lengths) {
        const Array run = runs.slice(0, begin, begin + length);
        run.copy_from(sort(run));
        begin += length;
      }
      EXPECT_TRUE(same_bits(merged_by_windows(runs, lengths, width), wanted)) << width;
    }
  EXPECT_TRUE(mergeable({}, {}).empty());
}

}  // namespace
}  // namespace tessera
