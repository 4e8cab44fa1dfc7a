// SPDX-License-Identifier: Apache-2.0
// The end of a queue's source. A source that throws has no more, but what it gave before is not lost: the exception waits until
// those inputs have their results.
#pragma once

#include <exception>

#include "myriarm/inputs.h"

namespace myriarm::linux_process {

class SourceEnd {
 public:
  /// What `ask` returns, or Supply::ended if it throws.
  template <class Ask>
  Supply ask(const Ask& ask) {
    try {
      return ask();
    } catch (...) {
      error_ = std::current_exception();
      return Supply::ended;
    }
  }
  /// Throws what the source has thrown. To be called when all inputs have their results.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace myriarm::linux_process
