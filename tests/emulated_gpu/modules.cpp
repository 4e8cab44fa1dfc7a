// SPDX-License-Identifier: Apache-2.0
// The driver's linker and its modules. A link has one piece of machine code and PTX modules: those of a function each, and one of an
// array with the addresses of these.
#include <emulated_gpu/modules.h>

#include <cuda.h>
#include <driver_types.h>

#include <cstdio>
#include <map>
#include <memory>

#include "mistake.h"
#include "ptx_function.h"

namespace emulated_gpu {
namespace {

struct LinkedFunction {
  std::shared_ptr<const PtxFunction> function;
  const MachineCode* code = nullptr;  // what it calls is in there
};

struct Module {
  const MachineCode* code = nullptr;
  std::map<std::string, LinkedFunction> functions;
  std::string array_name;
  std::vector<std::string> elements;  // names of functions, or one 0
  std::vector<uint64_t> array;        // of a loaded module
};

/// The text between two others, from a place on; empty if one is missing.
std::string between(const std::string& text, const std::string& first, const std::string& last, size_t from = 0) {
  const size_t found = text.find(first, from), begin = found + first.size();
  const size_t end = found == std::string::npos ? found : text.find(last, begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

/// The name of the function that PTX defines, if it does.
std::string defined_function(const std::string& ptx) {
  const size_t at = ptx.find(".visible .func");
  return at == std::string::npos ? "" : between(ptx, ") ", "(\n", at);
}

/// Its array is `.visible .global .align 8 .u64 name[2] = {a, b};`.
void read_array(const std::string& ptx, std::string& name, std::vector<std::string>& elements) {
  name = between(ptx, ".visible .global .align 8 .u64 ", "[");
  std::string list = between(ptx, "= {", "}") + ", ";
  for (size_t end; (end = list.find(", ")) != std::string::npos; list.erase(0, end + 2)) {
    elements.push_back(list.substr(0, end));
  }
}

}  // namespace

void call_function(uint64_t address, std::span<const uint32_t> arguments, std::span<uint8_t> result) {
  const auto& linked = *reinterpret_cast<const LinkedFunction*>(address);
  const auto call = [&](const std::string& name, void* returned, const void* argument) {
    for (const MachineCode::Function& function : linked.code->functions) {
      if (function.name == name) return function.call(returned, argument);
    }
    mistake("PTX calls " + name + ", which nothing defines");
  };
  try {
    linked.function->run(arguments, result, block_memory, call);
  } catch (const std::exception& error) {
    mistake(error.what());
  }
}

}  // namespace emulated_gpu

using emulated_gpu::Module;

struct CUlinkState_st : Module {};
struct CUmod_st : Module {};

CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) {
  *state = new CUlinkState_st;
  return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState state) {
  delete state;
  return CUDA_SUCCESS;
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t, const char* name, unsigned,
                       CUjit_option*, void**) {
  if (type == CU_JIT_INPUT_FATBINARY) {
    state->code = static_cast<const emulated_gpu::MachineCode*>(data);
    return CUDA_SUCCESS;
  }
  const std::string ptx = static_cast<const char*>(data);
  try {
    const std::string function = emulated_gpu::defined_function(ptx);
    if (function.empty()) emulated_gpu::read_array(ptx, state->array_name, state->elements);
    else state->functions[function] = {std::make_shared<emulated_gpu::PtxFunction>(ptx, function), nullptr};
    return CUDA_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulated GPU: %s: %s\n", name, error.what());
    return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuLinkComplete(CUlinkState state, void** code, size_t* bytes) {
  for (const std::string& element : state->elements) {
    if (element != "0" && !state->functions.contains(element)) return CUDA_ERROR_INVALID_VALUE;
  }
  *code = static_cast<Module*>(state);
  *bytes = sizeof(Module);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* code) {
  *module = new CUmod_st{*static_cast<const Module*>(code)};
  for (auto& [name, function] : (*module)->functions) function.code = (*module)->code;
  for (const std::string& element : (*module)->elements) {
    const auto function = (*module)->functions.find(element);
    (*module)->array.push_back(function == (*module)->functions.end() ? 0
                                                                      : reinterpret_cast<uint64_t>(&function->second));
  }
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module->code == nullptr || module->code->kernel_name != name) return CUDA_ERROR_INVALID_VALUE;
  *function = static_cast<CUfunction>(const_cast<void*>(module->code->kernel));
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  if (module->array_name != name) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(module->array.data());
  *bytes = module->array.size() * sizeof(uint64_t);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  return cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, value) == cudaSuccess
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void**) {
  const cudaError_t error = cudaLaunchKernel(function, {blocks_x, blocks_y, blocks_z},
                                             {threads_x, threads_y, threads_z}, parameters, shared_bytes, stream);
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The device belongs to the process: there is one context.
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : error == CUDA_ERROR_INVALID_VALUE ? "invalid argument" : "unknown error";
  return CUDA_SUCCESS;
}
