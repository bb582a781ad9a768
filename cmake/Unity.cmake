# SPDX-License-Identifier: Apache-2.0
# Files compiled together (TESSERA_UNITY), of the library and of the test programs: six of a folder at a time,
# which halves what the compiler has to do, since most of it is the same few templates in every file. Names in
# anonymous namespaces are therefore unique within a folder, among its sources and among its tests. Kernels and
# their tests stay alone: each is long, and its names (`State`, `run`) are those of every kernel.
function(tessera_unity target)
  if(NOT TESSERA_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    # One that takes the names of an enumeration into its own scope (`using enum`) stays alone, too.
    if(folder MATCHES "/tessera/kernels"
        OR source MATCHES "/(matrix/forms/properties(_test)?|solve/core/polynomial_preconditioner_test)\\.cpp$")
      continue()
    endif()
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "^src/tessera/" "" folder ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    if(NOT DEFINED seen_${folder})
      set(seen_${folder} 0)
    endif()
    math(EXPR batch "${seen_${folder}} / 6")
    math(EXPR seen_${folder} "${seen_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Inlining across files makes g++ 12 doubt more than there is to doubt (preset dev asks file by file); and a file
  # that is included looks to it like a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:
    -Wno-maybe-uninitialized -Wno-stringop-overread -Wno-subobject-linkage>)
endfunction()
