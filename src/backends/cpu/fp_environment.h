// SPDX-License-Identifier: Apache-2.0
// The host's floating-point environment while guests run: to nearest, nothing flushed. The thread is a caller's or was
// made by one, and inherits whatever he has set; the interpreter's overrides (core/fp/native.h) count on the default.
#pragma once

#include <cfenv>

namespace myriarm::cpu {

class DefaultFpEnvironment {
 public:
  DefaultFpEnvironment() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFpEnvironment() { std::fesetenv(&callers_); }
  DefaultFpEnvironment(const DefaultFpEnvironment&) = delete;
  DefaultFpEnvironment& operator=(const DefaultFpEnvironment&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace myriarm::cpu
