// SPDX-License-Identifier: Apache-2.0
// OpenBLAS uses the instructions of the host, whatever it took the processor for.
#include "tessera/kernels/matmul/blas.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::blas {
namespace {

#if defined(__x86_64__)

TEST(Blas, OldKernelsGiveWayToThoseOfTheHost) {
  for (const char* old : {"Prescott", "Nehalem", "Sandybridge", "Barcelona", "Steamroller"}) {
    EXPECT_EQ(better_core(old, Instructions::avx512), "SkylakeX") << old;
    EXPECT_EQ(better_core(old, Instructions::avx2), "Haswell") << old;
    EXPECT_EQ(better_core(old, Instructions::base), "") << old;
  }
  for (const char* good : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids", "of 2040"})
    for (const auto host : {Instructions::base, Instructions::avx2, Instructions::avx512})
      EXPECT_EQ(better_core(good, host), "") << good;
}

TEST(Blas, TheLibraryThatIsLoadedHasBeenTold) {
  if (std::getenv(core_variable)) GTEST_SKIP() << core_variable << " is set: it decides";
  EXPECT_EQ(better_core(openblas_get_corename(), host_instructions()), "")
      << openblas_get_corename();
}

#endif

}  // namespace
}  // namespace tessera::blas
