# SPDX-License-Identifier: Apache-2.0
# Finds libraries and tools. Where one is missing, the error is one sentence that names the Debian package.

# myriarm_package(fmt libfmt-dev [version]): finds a library that has CMake files.
macro(myriarm_package name debian)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} ${ARGN} was not found: install the package ${debian} (tools/setup.sh does), or set "
                        "CMAKE_PREFIX_PATH to where it is.")
  endif()
endmacro()

# myriarm_packages_or(OPTION "without it" fmt nlohmann_json ...): switches the option off, and prints that, if one of
# the libraries is missing.
macro(myriarm_packages_or option without)
  foreach(package ${ARGN})
    find_package(${package} QUIET)
    if(${option} AND NOT ${package}_FOUND)
      message(STATUS "myriarm: ${without}, as ${package} was not found (tools/setup.sh build installs it)")
      set(${option} OFF)
    endif()
  endforeach()
endmacro()

# myriarm_library(unicorn unicorn/unicorn.h libunicorn-dev): finds a library without CMake files, and makes the target
# oracle::unicorn. To be called only if MYRIARM_WITH_UNICORN is on.
function(myriarm_library name header debian)
  if(TARGET oracle::${name})
    return()
  endif()
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY ${name})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    string(TOUPPER ${name} option)
    message(FATAL_ERROR "${name} was not found: install the package ${debian} (tools/setup.sh does), or configure "
                        "with -DMYRIARM_WITH_${option}=OFF to build without the tests and benchmarks that use it.")
  endif()
  add_library(oracle::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(oracle::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
endfunction()

# myriarm_tool(qemu-aarch64 QEMU_AARCH64 qemu-user): finds a program that tests run, and sets the variable to its path.
function(myriarm_tool name variable debian)
  find_program(${variable} ${name})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${name} was not found: install the package ${debian} (tools/setup.sh does), or configure "
                        "with -DMYRIARM_BUILD_TESTS=OFF -DMYRIARM_BUILD_BENCHMARKS=OFF.")
  endif()
endfunction()
