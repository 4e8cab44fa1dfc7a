// SPDX-License-Identifier: Apache-2.0
// LLVM's errors as exceptions. An llvm::Error that nobody looks at ends the process.
#pragma once

#include <llvm/Support/Error.h>

#include <stdexcept>

namespace myriarm::translate {

template <class T>
T value_of(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  throw std::runtime_error(llvm::toString(expected.takeError()));
}
inline void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

}  // namespace myriarm::translate
