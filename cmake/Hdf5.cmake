# SPDX-License-Identifier: Apache-2.0
# libtessera_hdf5: files of HDF5. It stands beside libtessera, which opens it with the first such file: the HDF5 library
# maps thirty others (curl, LDAP, Kerberos).
if(NOT TARGET tessera OR NOT TARGET hdf5_library OR NOT "store" IN_LIST TESSERA_LAYERS)
  return()
endif()
file(GLOB hdf5_sources CONFIGURE_DEPENDS ${TESSERA_SRC}/tessera/store/hdf5/*.cpp)
add_library(tessera_hdf5 MODULE ${hdf5_sources})
target_compile_definitions(tessera_hdf5 PRIVATE TESSERA_BUILDING_PLUGIN)
target_link_libraries(tessera_hdf5 PRIVATE tessera tessera_flags hdf5_library)
target_link_options(tessera_hdf5 PRIVATE -Wl,--no-undefined)
set_target_properties(tessera_hdf5 PROPERTIES INSTALL_RPATH "$ORIGIN")
foreach(program tessera_test_store tessera_test_distributed tessera_test_streaming)
  if(TARGET ${program})
    add_dependencies(${program} tessera_hdf5)
  endif()
endforeach()
