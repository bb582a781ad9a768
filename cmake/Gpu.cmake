# SPDX-License-Identifier: Apache-2.0
# `pip install .` brings the CUDA plug-in where nvcc and a GPU answer, compiled for the GPUs of this machine. Who says
# TESSERA_CUDA=ON or OFF is not asked.
if(DEFINED TESSERA_CUDA)
  return()
endif()
find_program(TESSERA_NVCC nvcc HINTS /usr/local/cuda/bin)
mark_as_advanced(TESSERA_NVCC)
if(NOT TESSERA_NVCC)
  return()
endif()
execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
  OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE ended)
string(REGEX MATCHALL "[0-9]+\\.[0-9]" kinds "${answer}")
if(NOT ended EQUAL 0 OR NOT kinds)
  message(STATUS "nvcc is here, and no GPU answers: the CUDA plug-in is not built (TESSERA_CUDA=ON builds it all the same)")
  return()
endif()
list(REMOVE_DUPLICATES kinds)
list(TRANSFORM kinds REPLACE "\\." "")
list(TRANSFORM kinds APPEND "-real")
message(STATUS "A GPU answers: the CUDA plug-in is built for ${kinds} (TESSERA_CUDA=OFF leaves it away)")
set(TESSERA_CUDA ON CACHE BOOL "Build the CUDA plug-in")
set(TESSERA_CUDA_ARCHITECTURES ${kinds} CACHE STRING "GPU architectures of the plug-in")
