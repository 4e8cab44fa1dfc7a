// SPDX-License-Identifier: Apache-2.0
// The host's floating-point environment while guests run: round to nearest, flush nothing to zero. The thread is the
// caller's or inherits the caller's environment, which may be another; the arithmetic of core/fp/native.h needs the
// default.
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
