// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/driver_api.h"

#include "backends/cuda/device_memory.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

template <class Function>
void find(Function& function, const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = {};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status);
#endif
  if (error != cudaSuccess || found == nullptr) {
    throw DeviceError(std::string("the CUDA driver has no ") + name + "; update it");
  }
  function = reinterpret_cast<Function>(found);
}

DriverApi find_all() {
  DriverApi api = {};
  find(api.link_create, "cuLinkCreate");
  find(api.link_add_data, "cuLinkAddData");
  find(api.link_complete, "cuLinkComplete");
  find(api.link_destroy, "cuLinkDestroy");
  find(api.module_load_data, "cuModuleLoadData");
  find(api.module_unload, "cuModuleUnload");
  find(api.module_get_function, "cuModuleGetFunction");
  find(api.module_get_global, "cuModuleGetGlobal");
  find(api.launch_kernel, "cuLaunchKernel");
  find(api.ctx_get_current, "cuCtxGetCurrent");
  find(api.ctx_set_current, "cuCtxSetCurrent");
  find(api.get_error_string, "cuGetErrorString");
  return api;
}

}  // namespace

const DriverApi& driver_api() {
  static const DriverApi api = find_all();
  return api;
}

void check(CUresult result, const std::string& doing) {
  if (result == CUDA_SUCCESS) return;
  const char* why = nullptr;
  driver_api().get_error_string(result, &why);
  throw DeviceError(doing + " failed: " + (why != nullptr ? why : "unknown error"));
}

}  // namespace myriarm::cuda
