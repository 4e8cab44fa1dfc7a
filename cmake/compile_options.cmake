# SPDX-License-Identifier: Apache-2.0
# The flags that every target of ours is compiled with. Contraction is off everywhere: a fused multiply-add would
# change guest results. So would what -ffast-math of a project around this one allows. A square root is an instruction, and no
# call that could set errno.
add_library(myriarm_options INTERFACE)
target_compile_options(myriarm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -fno-fast-math -fno-math-errno -ffp-contract=off>)
# gcc 12 warns of overlapping copies inside its own std::string.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(myriarm_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
