# SPDX-License-Identifier: Apache-2.0
# One test program per layer plus laws, ladder, fuzzers and examples; one ctest entry per program.
if(NOT TARGET tessera)
  return()
endif()
find_package(GTest REQUIRED)
set(tests_root ${CMAKE_CURRENT_SOURCE_DIR}/tests)
# With TESSERA_TESTS_OF the test programs are linked from what was compiled there; only the library is
# compiled again. So a sanitizer that needs no instrumented callers watches the library for half the time.
function(tessera_compiled_there out target)
  set(objects)
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND objects ${TESSERA_TESTS_OF}/CMakeFiles/${target}.dir/${source}.o)
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
file(GLOB support_sources CONFIGURE_DEPENDS ${tests_root}/support/*.cpp)

# The common main is compiled once; where tests/support has none, GoogleTest's own is used. Its objects and
# the test programs share their flags, so that one precompiled header serves them all. The library under
# test is optimised as it is shipped; the tests themselves only lightly, for they are compiled more than run,
# and under sanitizers, which make a file of tests take three times as long, not at all. Undefined behaviour
# is looked for in the library, not in the tests.
add_library(tessera_test_support INTERFACE)
set(test_options $<$<CONFIG:Release>:-O1>)
if(TESSERA_SANITIZE)
  list(APPEND test_options -O0)
endif()
target_include_directories(tessera_test_support INTERFACE ${tests_root})
if(TESSERA_TESTS_OF)
  tessera_compiled_there(support_objects tessera_test_support_objects ${support_sources})
  target_sources(tessera_test_support INTERFACE ${support_objects})
  target_link_libraries(tessera_test_support INTERFACE GTest::gtest)
elseif(support_sources)
  add_library(tessera_test_support_objects OBJECT ${support_sources})
  target_include_directories(tessera_test_support_objects PRIVATE ${tests_root})
  target_link_libraries(tessera_test_support_objects PRIVATE
    tessera tessera_flags tessera_deps GTest::gtest)
  target_compile_options(tessera_test_support_objects PRIVATE -fPIE ${test_options})
  set_target_properties(tessera_test_support_objects PROPERTIES
    POSITION_INDEPENDENT_CODE OFF CHECKS_OTHERS ON)
  tessera_precompile(tessera_test_support_objects <gtest/gtest.h> <random>)
  target_sources(tessera_test_support INTERFACE $<TARGET_OBJECTS:tessera_test_support_objects>)
  target_link_libraries(tessera_test_support INTERFACE GTest::gtest)
else()
  target_link_libraries(tessera_test_support INTERFACE GTest::gtest_main)
endif()

function(tessera_add_test name)
  if(NOT ARGN)
    return()
  endif()
  set(sources ${ARGN})
  if(TESSERA_TESTS_OF)
    tessera_compiled_there(sources ${name} ${ARGN})
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE
    tessera_test_support tessera tessera_flags tessera_deps)
  target_compile_definitions(${name} PRIVATE
    TESSERA_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}" TESSERA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(${name} PRIVATE ${test_options})
  set_target_properties(${name} PROPERTIES CHECKS_OTHERS ON LINKER_LANGUAGE CXX)
  if(TARGET tessera_test_support_objects)
    tessera_precompile_as(${name} tessera_test_support_objects)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1
    --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${name}.xml)
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
  # The long programs start first, so that no core waits for the last one.
  if(name MATCHES "^tessera_(laws|ladder|test_(dist|kernels|matrix|solve))$")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

foreach(layer ${TESSERA_LAYERS})
  file(GLOB_RECURSE layer_tests CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/${layer}/*_test.cpp)
  list(FILTER layer_tests EXCLUDE REGEX "/tessera/comm/mpi/")
  if(NOT TESSERA_CUDA)
    list(FILTER layer_tests EXCLUDE REGEX "/tessera/device/cuda/")
  endif()
  tessera_add_test(tessera_test_${layer} ${layer_tests})
endforeach()
if(TARGET tessera_test_comm)  # the lane over NCCL, which is part of the CUDA plug-in, over a stand-in
  add_library(tessera_nccl_stand_in MODULE ${tests_root}/nccl/stand_in.cpp)
  target_link_libraries(tessera_nccl_stand_in PRIVATE tessera tessera_flags)
  target_sources(tessera_test_comm PRIVATE ${TESSERA_SRC}/tessera/comm/nccl/nccl_lane.cpp)
  target_compile_definitions(tessera_test_comm PRIVATE
    TESSERA_NCCL_STAND_IN="$<TARGET_FILE:tessera_nccl_stand_in>")
  add_dependencies(tessera_test_comm tessera_nccl_stand_in)
endif()
if(TARGET tessera_testing)
  file(GLOB law_tests CONFIGURE_DEPENDS ${tests_root}/laws/*.cpp)
  if(NOT TESSERA_WHOLE)  # operators over ranks are of a layer that is not there
    list(FILTER law_tests EXCLUDE REGEX "/ranks_test\\.cpp$")
  endif()
  tessera_add_test(tessera_laws ${law_tests})
  target_link_libraries(tessera_laws PRIVATE tessera_testing)
endif()
if(NOT TESSERA_WHOLE)
  return()
endif()
file(GLOB ladder_tests CONFIGURE_DEPENDS ${tests_root}/ladder/*.cpp)
tessera_add_test(tessera_ladder ${ladder_tests})

# A fuzzer is tests/fuzz/fuzz_NAME.cpp, run as `fuzz_NAME SECONDS`; it fails with a non-zero status.
# Files there without the prefix are shared by all of them.
file(GLOB fuzz_shared CONFIGURE_DEPENDS ${tests_root}/fuzz/*.cpp)
list(FILTER fuzz_shared EXCLUDE REGEX "/fuzz_[^/]*$")
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${tests_root}/fuzz/fuzz_*.cpp)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} ${fuzz_shared})
  target_include_directories(${name} PRIVATE ${tests_root})
  target_link_libraries(${name} PRIVATE tessera tessera_flags tessera_deps)
endforeach()

if(TESSERA_EXAMPLES)
  file(GLOB example_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/examples/cpp/*.cpp)
  foreach(source ${example_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name} PRIVATE tessera tessera_flags)
    add_test(NAME example_${name} COMMAND example_${name})
  endforeach()
endif()
