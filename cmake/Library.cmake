# SPDX-License-Identifier: Apache-2.0
# libtessera, and the laws of operators as an archive beside it.
set(TESSERA_SRC ${CMAKE_CURRENT_SOURCE_DIR}/src)
include(GNUInstallDirs)
include(Precompiled)
include(Unity)

if(TESSERA_LIBRARY_OF)
  add_library(tessera SHARED IMPORTED GLOBAL)
  set_target_properties(tessera PROPERTIES IMPORTED_LOCATION ${TESSERA_LIBRARY_OF}/lib/libtessera.so)
  target_include_directories(tessera INTERFACE ${TESSERA_SRC})
  return()
endif()

# Test, benchmark, plug-in and MPI files live beside the library's own but are not part of it.
function(tessera_library_sources out)
  set(folders ${TESSERA_LAYERS})
  list(TRANSFORM folders REPLACE "^(.+)$" "${TESSERA_SRC}/tessera/\\1/*.cpp")
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folders})
  list(FILTER found EXCLUDE REGEX "(_test|_bench)\\.cpp$")
  list(FILTER found EXCLUDE REGEX "/tessera/(device/cuda|comm/mpi|comm/nccl|distributed/linalg/scalapack|kernels/fft/fftw|store/hdf5)/")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

tessera_library_sources(library_sources)
if(NOT library_sources)
  return()
endif()

add_library(tessera SHARED ${library_sources})
# Ranges are the same bit for bit wherever a part of them begins, so their products are rounded everywhere.
set_source_files_properties(${TESSERA_SRC}/tessera/kernels/copy/create.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
# Lines of a filter that are left over from registers are weighed as those in registers are, without fusing.
set_source_files_properties(${TESSERA_SRC}/tessera/kernels/fft/fft_passes_run.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
# Quotients are NumPy's to the last bit, uniform random numbers are the same on every device, and whatever the instructions
# that a host has (kernels/wide.hpp), results are the same: nothing is fused but what says so. Choices are vectorised where
# nobody waits for a trap.
foreach(file elementwise/clip elementwise/close elementwise/logaddexp elementwise/elementwise_arith
    elementwise/elementwise_compare elementwise/elementwise_math elementwise/elementwise_real elementwise/elementwise_exp
    elementwise/elementwise_log elementwise/elementwise_angles elementwise/elementwise_arcs elementwise/elementwise_power elementwise/elementwise_complex random/random
    reduce/reduce_extrema reduce/reduce_positions reduce/reduce_sums)
  set_source_files_properties(${TESSERA_SRC}/tessera/kernels/${file}_cpu.cpp PROPERTIES
    COMPILE_OPTIONS "-ffp-contract=off;-fno-trapping-math")
endforeach()
# Not with the precompiled header: after <immintrin.h> g++ takes the header's options, and fuses.
set_source_files_properties(${TESSERA_SRC}/tessera/kernels/elementwise/math/avx512_math.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)
if(TESSERA_URING)
  set_source_files_properties(${TESSERA_SRC}/tessera/store/io/io_ring.cpp PROPERTIES
    COMPILE_DEFINITIONS TESSERA_URING=1)
endif()
# What writes a plan down for a reader, or reads a file once, stands on a large JSON header: optimised lightly.
foreach(file plan/explain/explain plan/explain/explain_html plan/explain/explain_trace device/topology)
  set_source_files_properties(${TESSERA_SRC}/tessera/${file}.cpp PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endforeach()
if(TESSERA_SANITIZE MATCHES "undefined")  # kernels read memory as what they are told that it is
  set(kernel_sources ${library_sources})
  list(FILTER kernel_sources INCLUDE REGEX "/tessera/kernels/")
  set_property(SOURCE ${kernel_sources} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=alignment)
endif()
if(TESSERA_SANITIZE)  # passes of transforms: with address checks g++ 12 takes minutes for each; tests put guards around what they write
  file(GLOB pass_sources ${TESSERA_SRC}/tessera/kernels/fft/register_lines_*.cpp)
  set_property(SOURCE ${pass_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  set_property(SOURCE ${pass_sources} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endif()
target_include_directories(tessera PUBLIC
  $<BUILD_INTERFACE:${TESSERA_SRC}> $<INSTALL_INTERFACE:include>)
target_compile_features(tessera PUBLIC cxx_std_20)
target_compile_definitions(tessera PRIVATE TESSERA_BUILDING)
target_link_libraries(tessera PRIVATE tessera_flags tessera_deps)
tessera_precompile(tessera)
tessera_unity(tessera)
# Calls from one part of the library to another go there, not through a table.
target_link_options(tessera PRIVATE -Wl,--no-undefined -Wl,--as-needed -Wl,-Bsymbolic-functions)
# While versions are 0.x a minor version may change what programs were linked with, so that it is part of the name.
set(TESSERA_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(tessera PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${TESSERA_SOVERSION} INSTALL_RPATH "$ORIGIN")

# The laws that operators are tested by, for tests inside and outside this tree.
if("split" IN_LIST TESSERA_LAYERS)
  file(GLOB testing_sources CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/testing/*.cpp)
  add_library(tessera_testing STATIC ${testing_sources})
  target_link_libraries(tessera_testing PUBLIC tessera)
  target_compile_options(tessera_testing PRIVATE
    $<TARGET_PROPERTY:tessera_flags,INTERFACE_COMPILE_OPTIONS>)
  set_target_properties(tessera_testing PROPERTIES EXPORT_NAME testing)
endif()
if(NOT TESSERA_WHOLE)
  return()
endif()
add_library(tessera::tessera ALIAS tessera)
add_library(tessera::testing ALIAS tessera_testing)

# The same objects as an archive, for programs that carry the library; built when asked for by name. Who links it links
# what it stands on.
add_library(tessera_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tessera>)
add_library(tessera::static ALIAS tessera_static)
get_target_property(libraries_below tessera_deps INTERFACE_LINK_LIBRARIES)
target_link_libraries(tessera_static INTERFACE ${libraries_below})
target_include_directories(tessera_static INTERFACE
  $<BUILD_INTERFACE:${TESSERA_SRC}> $<INSTALL_INTERFACE:include>)
target_compile_features(tessera_static INTERFACE cxx_std_20)
set_target_properties(tessera_static PROPERTIES OUTPUT_NAME tessera EXPORT_NAME static LINKER_LANGUAGE CXX)
