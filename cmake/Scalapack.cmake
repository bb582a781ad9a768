# SPDX-License-Identifier: Apache-2.0
# libtessera_scalapack: dense linear algebra over the ranks of MPI. Beside libtessera, which opens it when a
# large matrix needs it; without ScaLAPACK for the same MPI such matrices are gathered.
if(NOT TARGET tessera_mpi OR NOT "distributed" IN_LIST TESSERA_LAYERS)
  return()
endif()
find_library(SCALAPACK_LIBRARY NAMES scalapack-openmpi scalapack)
mark_as_advanced(SCALAPACK_LIBRARY)
if(NOT SCALAPACK_LIBRARY)
  message(STATUS "No ScaLAPACK: the plug-in tessera_scalapack is not built")
  return()
endif()

file(GLOB scalapack_sources CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/distributed/linalg/scalapack/*.cpp)
add_library(tessera_scalapack MODULE ${scalapack_sources})
target_compile_definitions(tessera_scalapack PRIVATE TESSERA_BUILDING_PLUGIN)
target_link_libraries(tessera_scalapack PRIVATE tessera tessera_flags ${SCALAPACK_LIBRARY} MPI::MPI_CXX)
set_target_properties(tessera_scalapack PROPERTIES INSTALL_RPATH "$ORIGIN")

# The tests of linear algebra once more, over processes. One thread in each: where they outnumber the cores,
# threads of OpenBLAS that spin keep the others from the messages that they wait for.
if(NOT TESSERA_TESTS OR NOT TARGET tessera_test_distributed OR NOT MPIEXEC_EXECUTABLE)
  return()
endif()
add_dependencies(tessera_test_distributed tessera_mpi tessera_scalapack)
if(TESSERA_SANITIZE MATCHES "address")
  target_sources(tessera_test_distributed PRIVATE ${PROJECT_SOURCE_DIR}/tests/sanitizers/padded_gemv.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/sanitizers/padded_gemv.cpp PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(tessera_test_distributed PRIVATE
    -Wl,--export-dynamic-symbol=cgemv_,--export-dynamic-symbol=zgemv_)
endif()
foreach(ranks 2 3 4)
  add_test(NAME tessera_test_dist_scalapack_${ranks} COMMAND timeout --kill-after=5 1800 ${MPIEXEC_EXECUTABLE}
    -n ${ranks} $<TARGET_FILE:tessera_test_distributed> --gtest_brief=1 --gtest_filter=DistLinalg.*)
  set_tests_properties(tessera_test_dist_scalapack_${ranks} PROPERTIES TIMEOUT 1820 PROCESSORS 2
    ENVIRONMENT "${mpi_environment};OPENBLAS_NUM_THREADS=1;OMP_NUM_THREADS=1;TESSERA_NUM_THREADS=1")
endforeach()
