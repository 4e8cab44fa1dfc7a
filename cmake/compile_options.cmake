# SPDX-License-Identifier: Apache-2.0
# The flags that every target of ours is compiled with. Contraction is off everywhere: a fused multiply-add would
# change guest results.
add_library(myriarm_options INTERFACE)
target_compile_options(myriarm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off>)
