# SPDX-License-Identifier: Apache-2.0
# libtessera_mpi: ranks as processes. It stands beside libtessera, which opens it when mpirun started the
# process. Without an MPI nothing is built and nothing is missed until then.
if(NOT TARGET tessera OR NOT "comm" IN_LIST TESSERA_LAYERS OR TESSERA_SANITIZE MATCHES "thread")
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "No MPI: the plug-in tessera_mpi is not built")
  return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/comm/mpi/*.cpp
  ${TESSERA_SRC}/tessera/comm/mpi/intranode/*.cpp)
list(FILTER mpi_sources EXCLUDE REGEX "(_test|_bench)\\.cpp$")
add_library(tessera_mpi MODULE ${mpi_sources})
target_compile_definitions(tessera_mpi PRIVATE TESSERA_BUILDING_PLUGIN)
target_link_libraries(tessera_mpi PRIVATE tessera tessera_flags MPI::MPI_CXX)
target_link_options(tessera_mpi PRIVATE -Wl,--as-needed)
set_target_properties(tessera_mpi PROPERTIES INSTALL_RPATH "$ORIGIN")

if(TESSERA_BENCH)
  add_executable(relayout_bench ${TESSERA_SRC}/tessera/comm/mpi/relayout_bench.cpp)
  tessera_on_request(relayout_bench)
  target_link_libraries(relayout_bench PRIVATE tessera tessera_flags MPI::MPI_CXX)
  add_dependencies(relayout_bench tessera_mpi)
endif()

# The tests of collectives once more, over processes; then ranks that are killed, stopped or give up. Leaks of
# MPI itself are not ours to find.
if(NOT TESSERA_TESTS OR NOT TARGET tessera_test_comm OR NOT MPIEXEC_EXECUTABLE)
  return()
endif()
set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0)
add_dependencies(tessera_test_comm tessera_mpi)
function(tessera_add_mpi_test name ranks)
  add_test(NAME ${name} COMMAND timeout --kill-after=5 1800
    ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:tessera_test_comm> --gtest_brief=1 --gtest_filter=Ranks.*)
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "${mpi_environment};${ARGN}" TIMEOUT 1820 PROCESSORS 2)
endfunction()
foreach(ranks 2 3 4 7)
  tessera_add_mpi_test(tessera_test_comm_mpi_${ranks} ${ranks})
endforeach()
tessera_add_mpi_test(tessera_test_comm_mpi_3_messages 3 TESSERA_COMM_SHARED_WINDOW=0)
add_executable(tessera_mpi_failure ${CMAKE_CURRENT_SOURCE_DIR}/tests/mpi/failure.cpp)
tessera_on_request(tessera_mpi_failure)
target_link_libraries(tessera_mpi_failure PRIVATE tessera tessera_flags)
add_dependencies(tessera_mpi_failure tessera_mpi)
add_test(NAME tessera_mpi_failure COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/mpi/failure.sh
  ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:tessera_mpi_failure>)
# Its ranks wait more than they compute, so it runs beside the long programs.
set_tests_properties(tessera_mpi_failure PROPERTIES
  ENVIRONMENT "${mpi_environment}" TIMEOUT 3600 COST 100)

# Exchanges that are given up midway, each way of a block in a process of its own. What is abandoned ends in an abort:
# the text is the verdict.
add_executable(tessera_mpi_midway ${CMAKE_CURRENT_SOURCE_DIR}/tests/mpi/midway.cpp)
tessera_on_request(tessera_mpi_midway)
target_link_libraries(tessera_mpi_midway PRIVATE tessera tessera_flags MPI::MPI_CXX)
set_target_properties(tessera_mpi_midway PROPERTIES ENABLE_EXPORTS ON)  # the plug-in calls MPI through it
add_dependencies(tessera_mpi_midway tessera_mpi)
foreach(way staged offer stream short)
  add_test(NAME tessera_mpi_midway_${way} COMMAND timeout --kill-after=2 300
    ${MPIEXEC_EXECUTABLE} -n 2 $<TARGET_FILE:tessera_mpi_midway> ${way})
  set_tests_properties(tessera_mpi_midway_${way} PROPERTIES ENVIRONMENT "${mpi_environment}" TIMEOUT 320
    PASS_REGULAR_EXPRESSION "${way}: as it should be")
endforeach()
