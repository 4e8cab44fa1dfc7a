# SPDX-License-Identifier: Apache-2.0
# Looks for a CUDA toolkit that works: nvcc 12 or later, and a host compiler that nvcc accepts. Sets MYRIARM_CUDA to ON
# or OFF and prints one line about what it found. A toolkit that does not work is ignored, and the build goes on without
# CUDA; MYRIARM_WHY_NO_CUDA then says why, for a message of the library.
#
# MYRIARM_CUDA_ARCHITECTURES: compiling the interpreter for one architecture takes minutes, so by default it is compiled
# for the GPUs of this machine. On a machine without a GPU the default is Hopper, and PTX that the driver of any GPU
# from Turing on compiles on first use. For a binary that runs everywhere:
# -DMYRIARM_CUDA_ARCHITECTURES="75-virtual;80-real;86-real;89-real;90-real;100-real;120-real".
#
# MYRIARM_CUDA_EMULATED: the backend is compiled for the processor, and its devices are emulated (tests/emulated_gpu/): for tests of
# kernels on a machine without a GPU. Nothing of a toolkit is used.
set(MYRIARM_CUDA OFF)
set(cuda_reason "MYRIARM_WITH_CUDA is OFF")
set(MYRIARM_WHY_NO_CUDA "it was built with MYRIARM_WITH_CUDA=OFF")

if(MYRIARM_CUDA_EMULATED)
  set(MYRIARM_CUDA ON)
elseif(MYRIARM_WITH_CUDA)
  find_program(MYRIARM_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
  mark_as_advanced(MYRIARM_NVCC)
  if(NOT MYRIARM_NVCC AND NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(cuda_reason "no CUDA toolkit was found")
    set(MYRIARM_WHY_NO_CUDA "no CUDA toolkit was found when it was built")
  else()
    if(NOT DEFINED MYRIARM_CUDA_ARCHITECTURES)
      set(cuda_capabilities "")
      find_program(MYRIARM_NVIDIA_SMI nvidia-smi)
      mark_as_advanced(MYRIARM_NVIDIA_SMI)
      if(MYRIARM_NVIDIA_SMI)
        execute_process(COMMAND ${MYRIARM_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                        OUTPUT_VARIABLE cuda_output RESULT_VARIABLE cuda_status ERROR_QUIET)
        if(cuda_status EQUAL 0)
          string(REGEX MATCHALL "[0-9]+\\.[0-9]+" cuda_capabilities "${cuda_output}")
          list(TRANSFORM cuda_capabilities REPLACE "\\." "")
          list(TRANSFORM cuda_capabilities APPEND "-real")
          list(REMOVE_DUPLICATES cuda_capabilities)
        endif()
      endif()
      if(NOT cuda_capabilities)
        set(cuda_capabilities "75-virtual;90-real")
      endif()
      set(MYRIARM_CUDA_ARCHITECTURES "${cuda_capabilities}" CACHE STRING "GPU architectures to build for")
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${MYRIARM_CUDA_ARCHITECTURES})

    # check_language tries the compiler in a separate folder, so a broken compiler does not end the configuration.
    if(MYRIARM_NVCC AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} ${MYRIARM_NVCC})
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
      set(cuda_reason "${MYRIARM_NVCC} does not work with this host compiler; see CMakeFiles/CMakeError.log")
      set(MYRIARM_WHY_NO_CUDA "the CUDA toolkit did not work when it was built")
    else()
      enable_language(CUDA)
      if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
        set(cuda_reason "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old; C++20 needs CUDA 12.0")
        set(MYRIARM_WHY_NO_CUDA "the CUDA toolkit was too old when it was built")
      else()
        set(MYRIARM_CUDA ON)
      endif()
    endif()
  endif()
endif()

if(MYRIARM_CUDA_EMULATED)
  message(STATUS "myriarm: with emulated GPUs, for tests")
elseif(MYRIARM_CUDA)
  # CMake before 3.26 does not know which option makes nvcc compile C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  if(MYRIARM_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${MYRIARM_CCACHE})
  endif()
  # An nvcc that does not know the option compiles as ever.
  set(quick_kernels "")
  if(MYRIARM_CUDA_QUICK)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --help OUTPUT_VARIABLE nvcc_options)
    if(nvcc_options MATCHES "-Ofc")
      set(quick_kernels -Ofc=max)
    endif()
  endif()
  list(JOIN MYRIARM_CUDA_ARCHITECTURES ", " cuda_list)
  message(STATUS "myriarm: with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${cuda_list}")
else()
  message(STATUS "myriarm: without CUDA (${cuda_reason}); the CPU backend does everything")
endif()
