# SPDX-License-Identifier: Apache-2.0
# libtessera, its installed headers, and the check that each header compiles alone.
set(TESSERA_SRC ${CMAKE_CURRENT_SOURCE_DIR}/src)

# Test, benchmark, plug-in and MPI files live beside the library's own but are not part of it.
function(tessera_library_sources out)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/*.cpp)
  list(FILTER found EXCLUDE REGEX "(_test|_bench)\\.cpp$")
  list(FILTER found EXCLUDE REGEX "/tessera/(device/cuda|comm/mpi|comm/nccl)/")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

tessera_library_sources(library_sources)
if(NOT library_sources)
  return()
endif()

add_library(tessera SHARED ${library_sources})
target_include_directories(tessera PUBLIC
  $<BUILD_INTERFACE:${TESSERA_SRC}> $<INSTALL_INTERFACE:include>)
target_compile_features(tessera PUBLIC cxx_std_20)
target_compile_definitions(tessera PRIVATE TESSERA_BUILDING)
target_link_libraries(tessera PRIVATE tessera_flags tessera_deps)
target_link_options(tessera PRIVATE -Wl,--no-undefined -Wl,--as-needed)
set_target_properties(tessera PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN")

include(GNUInstallDirs)
if(NOT SKBUILD)
  install(TARGETS tessera LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  install(DIRECTORY ${TESSERA_SRC}/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT library FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
endif()

# One generated .cpp per header, so a header that leans on its includer's includes does not compile.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/*.hpp)
list(FILTER headers EXCLUDE REGEX "/tessera/(device/cuda|comm/mpi|comm/nccl)/")
set(header_checks)
foreach(header ${headers})
  file(RELATIVE_PATH name ${TESSERA_SRC} ${header})
  set(check ${CMAKE_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${check} CONTENT "#include <${name}>\n#include <${name}>\n" @ONLY)
  list(APPEND header_checks ${check})
endforeach()
if(header_checks)
  add_library(tessera_headers OBJECT EXCLUDE_FROM_ALL ${header_checks})
  target_link_libraries(tessera_headers PRIVATE tessera tessera_flags tessera_deps)
endif()
