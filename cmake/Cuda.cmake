# SPDX-License-Identifier: Apache-2.0
# libtessera_cuda: the CUDA plug-in. It stands beside libtessera, which opens it at run time.
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin REQUIRED)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${TESSERA_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit 12.4 REQUIRED)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
  ${TESSERA_SRC}/tessera/device/cuda/*.cpp ${TESSERA_SRC}/tessera/device/cuda/*.cu
  ${TESSERA_SRC}/tessera/kernels/*_cuda.cu ${TESSERA_SRC}/tessera/comm/nccl/*.cpp)
list(FILTER cuda_sources EXCLUDE REGEX "(_test|_bench)\\.(cpp|cu)$")
# Instructions of one architecture and no other (wgmma) stand in files of their own.
set(sm90a_sources ${cuda_sources})
list(FILTER sm90a_sources INCLUDE REGEX "_sm90a_cuda\\.cu$")
list(FILTER cuda_sources EXCLUDE REGEX "_sm90a_cuda\\.cu$")
if(NOT cuda_sources OR NOT TARGET tessera)
  return()
endif()
add_library(tessera_cuda MODULE ${cuda_sources})
target_compile_definitions(tessera_cuda PRIVATE TESSERA_BUILDING_PLUGIN)
target_compile_options(tessera_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
  --expt-relaxed-constexpr --extended-lambda -Xcompiler=-Wall -diag-suppress=20012,186,445>)
if(TESSERA_CUDA_QUICK)  # but for wgmma, which ptxas compiles only when it optimises
  target_compile_options(tessera_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcicc=-O0 -Xptxas=-O0>)
endif()
if("${TESSERA_CUDA_ARCHITECTURES}" MATCHES "90" AND sm90a_sources)
  add_library(tessera_cuda_sm90a OBJECT ${sm90a_sources})
  set_target_properties(tessera_cuda_sm90a PROPERTIES
    CUDA_ARCHITECTURES 90a-real CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(tessera_cuda_sm90a PRIVATE TESSERA_BUILDING_PLUGIN)
  target_compile_options(tessera_cuda_sm90a PRIVATE --expt-relaxed-constexpr -Xcompiler=-Wall)
  target_link_libraries(tessera_cuda_sm90a PRIVATE tessera tessera_flags CUDA::cudart)
  target_sources(tessera_cuda PRIVATE $<TARGET_OBJECTS:tessera_cuda_sm90a>)
  target_compile_definitions(tessera_cuda PRIVATE TESSERA_SM90A)
endif()
target_link_libraries(tessera_cuda PRIVATE tessera tessera_flags tessera_deps
  CUDA::cudart CUDA::cublas CUDA::cufft CUDA::cusolver)
# In site-packages NVIDIA's own wheels come before the toolkit: they are what PyTorch and JAX have loaded.
set(cuda_folders "$ORIGIN")
if(SKBUILD)
  set(vendor "$ORIGIN/../nvidia")
  list(APPEND cuda_folders ${vendor}/cu${CUDAToolkit_VERSION_MAJOR}/lib)
  if(CUDAToolkit_VERSION_MAJOR LESS 13)
    list(APPEND cuda_folders ${vendor}/cuda_runtime/lib ${vendor}/cublas/lib ${vendor}/cufft/lib ${vendor}/cusolver/lib)
  endif()
endif()
set_target_properties(tessera_cuda PROPERTIES CUDA_VISIBILITY_PRESET hidden
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}" INSTALL_RPATH "${cuda_folders};${CUDAToolkit_LIBRARY_DIR}")
