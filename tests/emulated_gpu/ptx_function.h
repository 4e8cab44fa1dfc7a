// SPDX-License-Identifier: Apache-2.0
// Runs a function in PTX, as LLVM writes it of a region, in one thread and in memory of this process, whose addresses are those of global
// memory. Instructions do what the PTX ISA manual, 7.8, says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace emulated_gpu {

/// Calls the function of this name. `result` and `argument`: what it returns and takes, 16 bytes each at most.
using PtxCall = std::function<void(const std::string& name, void* result, const void* argument)>;

class PtxFunction {
 public:
  /// `ptx`: of a module that ends with the function. Throws std::runtime_error, or what the standard library throws for text that is no
  /// PTX.
  PtxFunction(const std::string& ptx, const std::string& name);
  ~PtxFunction();
  PtxFunction(PtxFunction&&) noexcept;
  /// `shared`: where address 0 of shared memory is; null: its addresses too are those of this process. Throws std::runtime_error with an
  /// instruction that it does not know, or if the function does not end; and what `call` throws.
  void run(std::span<const uint32_t> arguments, std::span<uint8_t> result, uint8_t* shared, const PtxCall& call) const;

 private:
  struct Code;
  std::unique_ptr<const Code> code_;
};

}  // namespace emulated_gpu
