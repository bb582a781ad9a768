# SPDX-License-Identifier: Apache-2.0
# The command line tool, bin/tessera.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.cpp)
if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/cli/main.cpp OR NOT TARGET tessera)
  return()
endif()
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
add_executable(tessera_cli ${cli_sources})
# The command line is read once, by a large header: optimised lightly.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cli/main.cpp PROPERTIES
  COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
target_include_directories(tessera_cli SYSTEM PRIVATE ${CLI11_INCLUDE_DIR})
target_include_directories(tessera_cli PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/cli)
target_link_libraries(tessera_cli PRIVATE tessera tessera_flags tessera_deps)
set_target_properties(tessera_cli PROPERTIES OUTPUT_NAME tessera
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
