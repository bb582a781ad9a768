# SPDX-License-Identifier: Apache-2.0
# The package is assembled under <build>/python/tessera: the extension is linked there and the Python
# files are copied beside it, so a .pth file that names <build>/python makes `import tessera` work.
# `pip wheel .` (scikit-build-core) installs the same pieces plus libtessera into the wheel.
set(python_root ${CMAKE_CURRENT_SOURCE_DIR}/python)
file(GLOB_RECURSE module_sources CONFIGURE_DEPENDS ${python_root}/src/*.cpp)
if(NOT module_sources OR NOT TARGET tessera)
  return()
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package_dir ${CMAKE_BINARY_DIR}/python/tessera)
nanobind_add_module(_tessera NB_STATIC NB_DOMAIN tessera ${module_sources})
# For speed, not for size as nanobind has it: the bindings are half of a call on few elements.
foreach(target _tessera nanobind-static)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endforeach()
target_include_directories(_tessera PRIVATE ${python_root}/src)
target_link_libraries(_tessera PRIVATE tessera tessera_flags)
tessera_precompile(_tessera "${python_root}/src/core/common.hpp")
set_target_properties(_tessera PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package_dir}
  BUILD_RPATH "${CMAKE_BINARY_DIR}/lib" INSTALL_RPATH "$ORIGIN")

file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE ${python_root}/tessera
  ${python_root}/tessera/*.py ${python_root}/tessera/*.pyi ${python_root}/tessera/py.typed)
set(package_copies)
foreach(file ${package_files})
  add_custom_command(OUTPUT ${package_dir}/${file}
    COMMAND ${CMAKE_COMMAND} -E copy ${python_root}/tessera/${file} ${package_dir}/${file}
    DEPENDS ${python_root}/tessera/${file} VERBATIM)
  list(APPEND package_copies ${package_dir}/${file})
endforeach()
# Bytecode is made here: an import that compiles takes twice as long, at each start where Python may not keep it.
set(bytecode ${CMAKE_BINARY_DIR}/python/bytecode.stamp)
add_custom_command(OUTPUT ${bytecode}
  COMMAND ${Python_EXECUTABLE} -m compileall -q ${package_dir}
  COMMAND ${CMAKE_COMMAND} -E touch ${bytecode}
  DEPENDS ${package_copies} VERBATIM)
add_custom_target(tessera_package ALL DEPENDS ${package_copies} ${bytecode})
add_dependencies(tessera_package _tessera)
nanobind_add_stub(_tessera_stub MODULE _tessera OUTPUT ${package_dir}/_tessera.pyi
  PYTHON_PATH ${package_dir} PATTERN_FILE ${python_root}/stubs.pattern INCLUDE_PRIVATE
  DEPENDS _tessera ${python_root}/stubs.pattern)
# tessera._dist and tessera._matrix are made by _tessera: only the package as a whole can import them.
foreach(part dist matrix)
  nanobind_add_stub(_${part}_stub MODULE tessera._${part} OUTPUT ${package_dir}/_${part}.pyi
    PYTHON_PATH ${CMAKE_BINARY_DIR}/python PATTERN_FILE ${python_root}/${part}_stubs.pattern
    INCLUDE_PRIVATE DEPENDS tessera_package _tessera ${python_root}/${part}_stubs.pattern)
endforeach()
# Functions that both kinds of arrays have are put into these modules when they are imported.
set(shared_stubs ${CMAKE_BINARY_DIR}/python/shared_stubs.stamp)
add_custom_command(OUTPUT ${shared_stubs}
  COMMAND ${Python_EXECUTABLE} ${python_root}/shared_stubs.py ${CMAKE_BINARY_DIR}/python tessera._tessera.Array
    tessera._api tessera.fft tessera.random
  COMMAND ${Python_EXECUTABLE} ${python_root}/shared_stubs.py ${CMAKE_BINARY_DIR}/python tessera._dist.DNDarray
    tessera.dist._api tessera.dist.fft tessera.dist.random
  COMMAND ${CMAKE_COMMAND} -E touch ${shared_stubs}
  DEPENDS tessera_package ${package_copies} ${python_root}/shared_stubs.py VERBATIM)
add_custom_target(_shared_stubs ALL DEPENDS ${shared_stubs})
add_custom_target(tessera_stubs)
add_dependencies(tessera_stubs _tessera_stub _dist_stub _matrix_stub _shared_stubs)
set(manual ${CMAKE_BINARY_DIR}/python/tessera.1)  # of the command that comes with the package
add_custom_command(OUTPUT ${manual}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python ${Python_EXECUTABLE} -m tessera man -o ${manual}
  DEPENDS tessera_package ${package_copies} VERBATIM)
add_custom_target(tessera_manual DEPENDS ${manual})
add_custom_target(tessera_wheel)  # all that a wheel carries
add_dependencies(tessera_wheel tessera_package tessera_stubs tessera_manual)

if(SKBUILD)
  install(TARGETS _tessera LIBRARY DESTINATION tessera)
  # Wheels hold no links: the library has the one name that the loader asks for.
  set_target_properties(tessera PROPERTIES VERSION ${TESSERA_SOVERSION})
  install(TARGETS tessera LIBRARY DESTINATION tessera NAMELINK_SKIP)
  install(DIRECTORY ${package_dir}/ DESTINATION tessera FILES_MATCHING PATTERN "*.pyi" PATTERN __pycache__ EXCLUDE)
  install(FILES ${manual} DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1)
endif()
