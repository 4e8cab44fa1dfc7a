// SPDX-License-Identifier: Apache-2.0
// Code that the emulated driver links: functions of the processor under the names that the code of a GPU has them by, and PTX.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <emulated_gpu/threads.h>

namespace emulated_gpu {

/// What cuLinkAddData() takes in place of a file with machine code: the address of one, and its size.
struct MachineCode {
  struct Function {
    std::string name;
    void (*call)(void* result, const void* argument);  // 16 bytes each at most
  };
  std::string kernel_name;
  const void* kernel;  // launchable()
  std::vector<Function> functions;
};

/// Calls a function by its address, as an array of a linked module has it, from a thread of a kernel. `result`: what it returns. A function
/// that does what is not known ends the process with a message.
void call_function(uint64_t address, std::span<const uint32_t> arguments, std::span<uint8_t> result);

}  // namespace emulated_gpu
