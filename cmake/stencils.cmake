# SPDX-License-Identifier: Apache-2.0
# Whether stencils can be compiled: for x86-64, by a clang++ that knows preserve_none (19 and later). Sets MYRIARM_STENCILS
# to ON or OFF. Without them code is compiled by LLVM alone, or interpreted.
set(MYRIARM_STENCILS OFF)
if(MYRIARM_LLVM AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(try_stencil ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/try_stencil.cpp)
  file(WRITE ${try_stencil} "__attribute__((preserve_none)) unsigned long f(unsigned long);\n"
    "__attribute__((preserve_none)) unsigned long g(unsigned long x) { [[clang::musttail]] return f(x); }\n")
  execute_process(COMMAND ${MYRIARM_LLVM_CLANG} -std=c++20 -O2 -Werror -fno-pic -S -o /dev/null ${try_stencil}
    RESULT_VARIABLE stencil_status OUTPUT_QUIET ERROR_QUIET)
  find_program(MYRIARM_AWK NAMES awk mawk gawk)
  mark_as_advanced(MYRIARM_AWK)
  if(stencil_status EQUAL 0 AND MYRIARM_AWK)
    set(MYRIARM_STENCILS ON)
  endif()
endif()
if(MYRIARM_STENCILS)
  message(STATUS "myriarm: with stencils, from which code is copied together")
else()
  message(STATUS "myriarm: without stencils (they need clang++ 19 or later, and x86-64)")
endif()
