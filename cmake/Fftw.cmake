# SPDX-License-Identifier: Apache-2.0
# libtessera_fftw: transforms by FFTW, for those who ask for them (TESSERA_FFT=fftw). FFTW is under the GPL, and so is
# what links it, passed on: the library does not.
if(NOT TARGET tessera OR NOT TARGET fftw_library OR NOT "kernels" IN_LIST TESSERA_LAYERS)
  return()
endif()
add_library(tessera_fftw MODULE ${TESSERA_SRC}/tessera/kernels/fft/fftw/plans.cpp)
target_compile_definitions(tessera_fftw PRIVATE TESSERA_BUILDING_PLUGIN)
target_link_libraries(tessera_fftw PRIVATE tessera tessera_flags fftw_library)
target_link_options(tessera_fftw PRIVATE -Wl,--no-undefined)
set_target_properties(tessera_fftw PROPERTIES INSTALL_RPATH "$ORIGIN")

# Transforms once more by FFTW, which nothing takes unasked.
if(TARGET tessera_test_kernels)
  add_dependencies(tessera_test_kernels tessera_fftw)
  add_test(NAME tessera_test_kernels_fftw COMMAND tessera_test_kernels --gtest_brief=1 --gtest_filter=Fft*)
  set_tests_properties(tessera_test_kernels_fftw PROPERTIES TIMEOUT 3600 ENVIRONMENT TESSERA_FFT=fftw)
endif()
