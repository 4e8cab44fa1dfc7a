// SPDX-License-Identifier: Apache-2.0
// The launches of the engines' kernels. A header of its own without the public API, so that a change of the API does not
// compile the interpreter again, which takes minutes.
#pragma once

#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// The launch of an engine's kernel: its argument is the View.
struct Launch {
  const void* kernel;
  u32 blocks, threads, shared_bytes;
};
Launch interpreter_launch(const View& view, u32 multiprocessors);
Launch stepper_launch(const View& view);

}  // namespace myriarm::cuda
