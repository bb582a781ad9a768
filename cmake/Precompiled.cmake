# SPDX-License-Identifier: Apache-2.0
# Precompiled headers (TESSERA_PCH): what nearly every file includes, parsed once per kind of target.
# They hide missing includes, so presets dev, cuda and cover are built without them, and tools/check_includes.py
# compiles every header alone. The lists stop where a bigger header costs the files that do not need it more in
# loading than it saves the others in parsing (measured with g++ 12; <chrono>, linop.hpp and fmt did).
set(TESSERA_PCH_HEADERS <algorithm> <array> <atomic> <cmath> <complex> <cstring> <functional> <memory>
  <mutex> <optional> <span> <sstream> <string> <unordered_map> <vector>
  "${TESSERA_SRC}/tessera/kernels/eager.hpp")

# tessera_precompile(target [headers...]): those headers and the common ones, for C++ files.
function(tessera_precompile target)
  if(TESSERA_PCH)
    set(headers ${ARGN} ${TESSERA_PCH_HEADERS})
    list(TRANSFORM headers REPLACE "^(.+)$" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${headers})
    tessera_precompiled_cache(${target})
  endif()
endfunction()

# tessera_precompile_as(target other): what was precompiled for `other`, which has the same flags.
function(tessera_precompile_as target other)
  if(TESSERA_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
    tessera_precompiled_cache(${target})
  endif()
endfunction()

# ccache sees through g++'s precompiled headers only with this flag (and CCACHE_SLOPPINESS, scripts/common.sh).
function(tessera_precompiled_cache target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()
