// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace emulated_gpu {

/// A kernel has done what no GPU allows, or what is not emulated.
[[noreturn]] inline void mistake(const std::string& what) {
  std::fprintf(stderr, "emulated GPU: %s\n", what.c_str());
  std::abort();
}

}  // namespace emulated_gpu
