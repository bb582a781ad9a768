// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/async_streamer.hpp"

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/device/streamer.hpp"

namespace tessera {
namespace {

TEST(AsyncStreamer, GivesWhatTheOperatorGives) {
  const NamedLinop A = FFT(1, dims("C"), std::pair(dims("X"), dims("K"))) *
                       NamedLinop(Diagonal(Random(1).normal({12, 200}, DType::c64), dims("CX")));
  const Array x = Random(2).normal({12, 200}, DType::c64);
  for (const auto& [resident, buffer] :
       {std::pair(true, default_stream_buffer), std::pair(false, default_stream_buffer),
        std::pair(true, i64{4096}), std::pair(false, i64{4096})}) {
    set_stream_buffer_size(buffer);  // 4096: tiles are cut, and go through pinned memory
    const NamedLinop S = AsyncStreamer(A, {{"C", 5}}, sim0, resident);
    EXPECT_LT(relative(S(x), A(x)), 1e-5);
    EXPECT_LT(relative(S.H()(x), A.H()(x)), 1e-5);
    EXPECT_LT(relative(S.N()(x), A.N()(x)), 1e-5);
    EXPECT_EQ(S(x).device(), cpu);
  }
  set_stream_buffer_size(default_stream_buffer);
}

// Two tiles of input and two of output at a time, however many there are.
TEST(AsyncStreamer, HoldsTwoTilesOfEach) {
  const Array w = Random(1).normal({64, 256}, DType::f32);
  const NamedLinop A = Diagonal(w, dims("CX"));
  const NamedLinop S = AsyncStreamer(A, {{"C", 4}}, sim0);
  const Plan p = S.plan({.shape = {64, 256}, .dtype = DType::f32});
  constexpr i64 tile = 4 * 256 * 4;
  EXPECT_LE(p.workspace(sim0), 4 * tile);
  EXPECT_EQ(p.transferred_bytes(), 2 * 64 * 256 * 4);
}

TEST(AsyncStreamer, RefusesWhatCannotBeCut) {
  const NamedLinop A = FFT(1, dims("C"), std::pair(dims("X"), dims("K")));
  EXPECT_THROW(AsyncStreamer(A, {{"X", 4}}, sim0, true, Shape{4, 8}), SplitError);
  EXPECT_THROW(AsyncStreamer(A, {{"C", 4}}, Device{Kind::sim, 99}, true, Shape{4, 8}), Error);
}

}  // namespace
}  // namespace tessera
