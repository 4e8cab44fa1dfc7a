// SPDX-License-Identifier: Apache-2.0
// System calls as text, in the form of strace: write(1, "hello\n", 6) = 6. What the arguments are is said by the
// signatures in syscalls.inc.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myriarm::linux_process {

/// Reads up to `size` bytes of the guest's memory; fewer if it has no more there.
using ReadMemory = std::function<std::vector<uint8_t>(uint64_t address, uint64_t size)>;

class CallText {
 public:
  /// A letter for each argument, and one for the result after '=' if that is no number:
  ///   i int, l signed number, u unsigned number, o octal number, x flags or other bits, p address, s text that ends
  ///   with NUL, w bytes whose size is the next argument, r the same, and they are there after the call, as many as its
  ///   result says; D folder, S signal, O flags of open(), m the mode that follows them and counts if they create a
  ///   file, U operation of futex(), F command of fcntl(), f the argument that follows it and counts if the command has
  ///   one; the other letters are those of kConstants
  /// Null: unknown, and six arguments are printed in hexadecimal.
  /// `read` is used for what the call may change, as it is before the call.
  CallText(std::string name, const char* signature, const std::array<uint64_t, 6>& arguments, const ReadMemory& read);

  /// The text of a call that has this result, an error being -errno.
  std::string returned(int64_t result, const ReadMemory& read) const;
  /// The text of a call that does not return.
  std::string ended() const;

 private:
  std::string text(const int64_t* result, const ReadMemory& read) const;
  std::string argument(char letter, size_t index, const int64_t* result, const ReadMemory& read) const;

  std::string name_;
  std::string_view signature_;
  std::array<uint64_t, 6> arguments_;
  std::vector<std::string> before_;  ///< arguments that the call may change, as they were before it
};

/// A signal that a process gets, from the first 48 bytes of its siginfo_t: --- SIGUSR1 {si_signo=SIGUSR1, ...} ---
std::string signal_line(std::span<const uint64_t, 6> information);
/// The end of a process by a signal: +++ killed by SIGTERM +++
std::string killed_line(std::span<const uint64_t, 6> information);

}  // namespace myriarm::linux_process
