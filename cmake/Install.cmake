# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` brings: the library, the plug-ins and the tool that were built, the public headers, and what
# find_package(tessera) and pkg-config read. A build folder is found alike, with tessera_DIR. Wheels: Python.cmake.
if(SKBUILD)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# Plug-ins, the laws for tests of other people's operators, and the library as an archive are installed where they were
# built: `make demo`, for one, builds none of them. So each archive is a set of its own, which the package reads where it is.
install(TARGETS tessera EXPORT tessera LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS tessera_testing EXPORT tesseraTesting ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  OPTIONAL)
install(TARGETS tessera_static EXPORT tesseraStatic ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  OPTIONAL)
foreach(plugin tessera_mpi tessera_scalapack tessera_hdf5 tessera_fftw tessera_cuda)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library OPTIONAL)
  endif()
endforeach()
if(TARGET tessera_cli)
  install(TARGETS tessera_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library OPTIONAL)
endif()

foreach(set tessera tesseraTesting tesseraStatic)
  install(EXPORT ${set} FILE ${set}Targets.cmake NAMESPACE tessera:: DESTINATION ${package_folder} COMPONENT library)
  export(EXPORT ${set} FILE ${CMAKE_BINARY_DIR}/${set}Targets.cmake NAMESPACE tessera::)
endforeach()
set(description ${CMAKE_CURRENT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in)
set(static_packages Threads ZLIB)  # whose targets the archive names
if(TARGET fmt::fmt)
  list(APPEND static_packages fmt)
endif()
list(JOIN static_packages " " static_packages)
set(archives "\${CMAKE_CURRENT_LIST_DIR}/lib")
configure_file(${description} ${CMAKE_BINARY_DIR}/tesseraConfig.cmake @ONLY)
set(archives "\${CMAKE_CURRENT_LIST_DIR}/../..")
configure_file(${description} ${CMAKE_BINARY_DIR}/installed_config/tesseraConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/installed_config/tesseraConfig.cmake
  ${CMAKE_BINARY_DIR}/tesseraConfigVersion.cmake DESTINATION ${package_folder} COMPONENT library)

set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_folder}
  OUTPUT_VARIABLE prefix_from_pkgconfig)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/tessera.pc.in ${CMAKE_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tessera.pc DESTINATION ${pkgconfig_folder} COMPONENT library)
install(FILES LICENSE THIRD_PARTY_NOTICES.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

# Public headers are those that users include and what these include in turn; all others stay here.
file(GLOB testing_headers RELATIVE ${TESSERA_SRC} ${TESSERA_SRC}/tessera/testing/*.hpp)
set(waiting tessera/tessera.hpp tessera/distributed.hpp ${testing_headers})
set(public_headers ${waiting})
while(waiting)
  list(POP_FRONT waiting header)
  file(STRINGS ${TESSERA_SRC}/${header} lines REGEX "^#include \"tessera/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST public_headers)
      list(APPEND public_headers ${included})
      list(APPEND waiting ${included})
    endif()
  endforeach()
endwhile()
file(WRITE ${CMAKE_BINARY_DIR}/public_headers.txt "${public_headers}")  # for tools/check_includes.py
foreach(header ${public_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${TESSERA_SRC}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT library)
endforeach()

# `cpack --config build/release/CPackConfig.cmake`: the same as a Debian package, which needs the distribution's libraries
# and carries none.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libtessera-dev)
set(CPACK_PACKAGE_VENDOR "The Tessera authors")
set(CPACK_PACKAGE_CONTACT "The Tessera authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "named linear operators, arrays and plans: library, headers, tool")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
include(CPack)
