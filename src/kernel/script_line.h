// SPDX-License-Identifier: Apache-2.0
// The first line of a script, by execve(2), over the bytes of a file, without a machine.
#pragma once

#include "core/portable.h"

namespace myriarm::kernel {

constexpr u32 kDeepestScript = 5;
constexpr u64 kScriptBytes = 256;  // of a script, which its first line must not exceed

/// Where its interpreter is named, and what follows, as one argument; that may be empty.
struct ScriptLine {
  u64 program, program_size, argument, argument_size;
};
/// `Bytes` has size() and byte(at).
template <class Bytes>
MYR_FN bool is_script(const Bytes& file) {
  return file.size() >= 2 && file.byte(0) == '#' && file.byte(1) == '!';
}
/// Of a script; false: the line names no interpreter.
template <class Bytes>
MYR_OUTLINE bool script_line(const Bytes& file, ScriptLine& line) {
  const u64 most = file.size() < kScriptBytes - 1 ? file.size() : kScriptBytes - 1;
  const auto is_blank = [&](u64 at) { return file.byte(at) == ' ' || file.byte(at) == '\t'; };
  u64 end = 2;
  while (end < most && file.byte(end) != '\n' && file.byte(end) != 0) end++;
  const bool whole = end < most || file.size() < kScriptBytes;
  u64 at = 2;
  while (at < end && is_blank(at)) at++;
  line.program = at;
  while (at < end && !is_blank(at)) at++;
  line.program_size = at - line.program;
  // A name that the line may not have whole is none.
  if (line.program_size == 0 || (at == end && !whole)) return false;
  while (at < end && is_blank(at)) at++;
  while (end > at && is_blank(end - 1)) end--;
  line.argument = at;
  line.argument_size = end - at;
  return true;
}

}  // namespace myriarm::kernel
