# SPDX-License-Identifier: Apache-2.0
# The flags that every target of this project is compiled with.

# Guest results depend on these, for every compiler of the semantics but nvcc. Contraction is off everywhere, because a
# fused multiply-add would change results. -fno-fast-math overrides -ffast-math of a surrounding project, which would
# change them too. -fno-math-errno lets a square root be an instruction, because no call has to set errno; it follows
# -fno-fast-math, which in clang would take it back.
set(MYRIARM_SEMANTICS_FLAGS -fno-fast-math -fno-math-errno -ffp-contract=off)

add_library(myriarm_options INTERFACE)
target_compile_options(myriarm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra ${MYRIARM_SEMANTICS_FLAGS}>)
# gcc 12 warns, wrongly, of overlapping copies inside std::string.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(myriarm_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
