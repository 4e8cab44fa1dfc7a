// SPDX-License-Identifier: Apache-2.0
// The exceptions of the library: for a bad argument, a missing device, an unreadable file. Each message is one sentence
// that says what was wrong, where, and what to do.
#pragma once

#include <stdexcept>

namespace myriarm {

/// Everything that the library throws.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The caller asked for something impossible: zero lanes, an address outside the window, a hostile ELF file.
struct ArgumentError : Error {
  using Error::Error;
};
/// The device is missing, too small, or has failed.
struct DeviceError : Error {
  using Error::Error;
};
/// The call does not fit what the fleet is doing: a second start() while it runs, any use after close().
struct StateError : Error {
  using Error::Error;
};

}  // namespace myriarm
