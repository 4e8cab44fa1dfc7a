// SPDX-License-Identifier: Apache-2.0
// A guard around calls of LLVM: a failure inside LLVM ends one translation, not the process.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <stdexcept>

namespace myriarm::translate {

/// LLVM has failed: what it worked on is in no known state.
struct LlvmFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Runs `work` in this thread. If LLVM reports a fatal error, aborts, or gets a signal such as SIGSEGV in it, throws
/// LlvmFailed with the reason; what `work` has made until then is lost, and no destructor of it runs. So `work` must own all
/// that it gives to LLVM, and hold no lock of the caller. What `work` throws is thrown again.
void run_guarded(llvm::function_ref<void()> work);

}  // namespace myriarm::translate
