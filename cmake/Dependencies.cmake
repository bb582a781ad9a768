# SPDX-License-Identifier: Apache-2.0
# The libraries that ours stands on, gathered into one interface target: tessera_deps.
include(FindPackageHandleStandardArgs)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
add_library(tessera_deps INTERFACE)
target_link_libraries(tessera_deps INTERFACE Threads::Threads ZLIB::ZLIB ${CMAKE_DL_LIBS})

# tessera_find(NAME header library [header path suffixes...]): one system library with its header.
function(tessera_find name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
  find_library(${name}_LIBRARY ${library})
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    message(FATAL_ERROR "${name}: header ${header} or library ${library} is not on this machine; "
      "scripts/setup.sh installs it or names the packages")
  endif()
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  target_include_directories(tessera_deps SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
  target_link_libraries(tessera_deps INTERFACE ${${name}_LIBRARY})
endfunction()

# The OpenBLAS folder comes first: its cblas.h declares openblas_set_num_threads.
tessera_find(OPENBLAS cblas.h openblas openblas-pthread openblas)
# A wheel takes LAPACKE's few functions from its archive, where that can be linked into a shared library: the shared one
# brings a second LAPACK along, beside that of OpenBLAS, which is a fifth of the wheel.
if(SKBUILD)
  include(CheckCXXSourceCompiles)
  find_library(LAPACKE_ARCHIVE liblapacke.a)
  mark_as_advanced(LAPACKE_ARCHIVE)
  set(CMAKE_REQUIRED_LIBRARIES ${LAPACKE_ARCHIVE} ${OPENBLAS_LIBRARY})
  set(CMAKE_REQUIRED_FLAGS -fPIC)
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,--no-undefined)
  check_cxx_source_compiles([[extern "C" int LAPACKE_zgesdd_work(); extern "C" int LAPACKE_dgesv();
    int main() { return LAPACKE_zgesdd_work() + LAPACKE_dgesv(); }]] TESSERA_LAPACKE_ARCHIVE_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(LAPACKE_ARCHIVE AND TESSERA_LAPACKE_ARCHIVE_LINKS)
    set(LAPACKE_LIBRARY ${LAPACKE_ARCHIVE} CACHE FILEPATH "LAPACKE")
  endif()
endif()
tessera_find(LAPACKE lapacke.h lapacke)

# FFTW, for a plug-in (cmake/Fftw.cmake), where it is wanted and both precisions are there. Its threads libraries are
# separate files; where both precisions have one, plans may use threads.
if(TESSERA_FFTW)
  find_path(FFTW3_INCLUDE_DIR fftw3.h)
  find_library(FFTW3_LIBRARY fftw3)
  find_library(FFTW3F_LIBRARY fftw3f)
  find_library(FFTW3_THREADS_LIBRARY fftw3_threads)
  find_library(FFTW3F_THREADS_LIBRARY fftw3f_threads)
  mark_as_advanced(FFTW3_INCLUDE_DIR FFTW3_LIBRARY FFTW3F_LIBRARY FFTW3_THREADS_LIBRARY FFTW3F_THREADS_LIBRARY)
endif()
if(TESSERA_FFTW AND FFTW3_INCLUDE_DIR AND FFTW3_LIBRARY AND FFTW3F_LIBRARY)
  add_library(fftw_library INTERFACE)
  target_include_directories(fftw_library SYSTEM INTERFACE ${FFTW3_INCLUDE_DIR})
  target_link_libraries(fftw_library INTERFACE ${FFTW3_LIBRARY} ${FFTW3F_LIBRARY})
  if(FFTW3_THREADS_LIBRARY AND FFTW3F_THREADS_LIBRARY)
    target_link_libraries(fftw_library INTERFACE ${FFTW3_THREADS_LIBRARY} ${FFTW3F_THREADS_LIBRARY})
    target_compile_definitions(fftw_library INTERFACE TESSERA_FFTW_THREADS=1)
  endif()
endif()

# HDF5, for a plug-in (cmake/Hdf5.cmake): the library without MPI.
if(TESSERA_HDF5)
  find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5)
  mark_as_advanced(HDF5_INCLUDE_DIR HDF5_LIBRARY)
endif()
if(TESSERA_HDF5 AND HDF5_INCLUDE_DIR AND HDF5_LIBRARY)
  add_library(hdf5_library INTERFACE)
  target_include_directories(hdf5_library SYSTEM INTERFACE ${HDF5_INCLUDE_DIR})
  target_link_libraries(hdf5_library INTERFACE ${HDF5_LIBRARY})
endif()

# Asynchronous reads and writes through io_uring, where liburing is there; threads otherwise.
find_path(URING_INCLUDE_DIR liburing.h)
find_library(URING_LIBRARY uring)
mark_as_advanced(URING_INCLUDE_DIR URING_LIBRARY)
if(URING_INCLUDE_DIR AND URING_LIBRARY)
  target_link_libraries(tessera_deps INTERFACE ${URING_LIBRARY})
  set(TESSERA_URING ON)  # cmake/Library.cmake tells the one file that asks
endif()

find_package(fmt QUIET)
if(TARGET fmt::fmt)
  target_link_libraries(tessera_deps INTERFACE fmt::fmt)
elseif(TARGET fmt::fmt-header-only)
  target_link_libraries(tessera_deps INTERFACE fmt::fmt-header-only)
else()
  find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
  target_include_directories(tessera_deps SYSTEM INTERFACE ${FMT_INCLUDE_DIR})
  target_compile_definitions(tessera_deps INTERFACE FMT_HEADER_ONLY=1)
endif()

find_path(JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
target_include_directories(tessera_deps SYSTEM INTERFACE ${JSON_INCLUDE_DIR})
