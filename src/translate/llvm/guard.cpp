// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/guard.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

namespace myriarm::translate {
namespace {

constexpr int kFatalError = 1;  // as LLVM's own exit status; 128 + signal after a signal

thread_local char fatal_reason[200];

/// Without a guard in this thread, it returns, and LLVM ends the process as it always would.
void on_fatal_error(void*, const char* reason, bool) {
  llvm::CrashRecoveryContext* guard = llvm::CrashRecoveryContext::GetCurrent();
  if (guard == nullptr) {
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  std::snprintf(fatal_reason, sizeof fatal_reason, "%s", reason);
  guard->HandleExit(kFatalError);
}

/// LLVM's handlers of signals are those of the process while any thread works under a guard; else those of the program are.
class SignalHandlers {
 public:
  SignalHandlers() {
    std::lock_guard lock(mutex());
    if (users()++ != 0) return;
    llvm::CrashRecoveryContext::Enable();
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(on_fatal_error);
  }
  ~SignalHandlers() {
    std::lock_guard lock(mutex());
    if (--users() != 0) return;
    llvm::remove_fatal_error_handler();
    llvm::CrashRecoveryContext::Disable();
  }
  SignalHandlers(const SignalHandlers&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static unsigned& users() {
    static unsigned users = 0;
    return users;
  }
};

}  // namespace

void run_guarded(llvm::function_ref<void()> work) {
  const SignalHandlers handlers;
  llvm::CrashRecoveryContext guard;
  std::exception_ptr thrown;
  fatal_reason[0] = 0;
  const bool returned = guard.RunSafely([&] {
    // LLVM is compiled without exceptions, and its guard too.
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (!returned && guard.RetCode > 128) {
    throw LlvmFailed(std::string("LLVM failed: ") + strsignal(guard.RetCode - 128));
  }
  if (!returned) throw LlvmFailed(std::string("LLVM failed: ") + fatal_reason);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace myriarm::translate
