# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers, output folders and the compiler cache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Dev is a build type of our own: quick to compile, asserts on, line numbers in backtraces.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CUDA_FLAGS_DEV "-O1")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  foreach(lang CXX CUDA)
    if(NOT CMAKE_${lang}_COMPILER_LAUNCHER)
      set(CMAKE_${lang}_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    endif()
  endforeach()
endif()

# What every C++ file of ours is compiled with. No -march: the library runs on any machine of its kind.
add_library(tessera_flags INTERFACE)
target_compile_definitions(tessera_flags INTERFACE
  TESSERA_VERSION="${PROJECT_VERSION}" TESSERA_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
target_compile_options(tessera_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wnon-virtual-dtor -fno-math-errno>
  # g++ 12 and 13 at -O3 warn of overflows in std::string and SmallVec that their own size checks exclude.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TESSERA_WERROR}>>:-Werror>)
# Races do not hide behind slow code: what ThreadSanitizer watches waits more than it computes.
if(TESSERA_SANITIZE MATCHES "thread")
  set(CMAKE_CXX_FLAGS_DEV "-O0 -g1")
endif()
if(TESSERA_SANITIZE)
  # Undefined behaviour is looked for in the library; targets with the property CHECKS_OTHERS (tests) are
  # compiled more than run, and go without. Left out is what AddressSanitizer stops at as well, and alignment,
  # a fifth of the compiler's time, which is looked for in the kernels alone (Library.cmake).
  set(undefined -fsanitize=undefined -fno-sanitize=alignment,null,object-size,pointer-overflow,vptr
    -fno-sanitize-recover=undefined)
  string(REPLACE "," ";" sanitizers "${TESSERA_SANITIZE}")
  foreach(sanitizer ${sanitizers})
    if(sanitizer STREQUAL "undefined")
      foreach(option ${undefined})
        target_compile_options(tessera_flags INTERFACE
          $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CHECKS_OTHERS>>>>:${option}>)
      endforeach()
    else()
      target_compile_options(tessera_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizer} -fno-omit-frame-pointer>)
    endif()
  endforeach()
  target_link_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_COVERAGE)
  target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--coverage>)
  target_link_options(tessera_flags INTERFACE --coverage)
endif()
