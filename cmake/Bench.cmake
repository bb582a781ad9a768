# SPDX-License-Identifier: Apache-2.0
# tessera_bench: bench/*.cpp, ours beside the peers (bench/ratio.hpp).
if(NOT TARGET tessera)
  return()
endif()
file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.cpp)
if(NOT TARGET fftw_library)
  list(FILTER bench_sources EXCLUDE REGEX "bench_fft")  # its rows stand beside FFTW
endif()
add_executable(tessera_bench ${bench_sources})
tessera_on_request(tessera_bench)
target_link_libraries(tessera_bench PRIVATE tessera tessera_flags tessera_deps $<TARGET_NAME_IF_EXISTS:fftw_library>)

# What ranks send as they become more (docs/guide/scaling.md).
add_executable(tessera_scaling ${CMAKE_CURRENT_SOURCE_DIR}/bench/scaling/main.cpp)
tessera_on_request(tessera_scaling)
target_link_libraries(tessera_scaling PRIVATE tessera tessera_flags tessera_deps)
