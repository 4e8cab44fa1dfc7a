// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/driver_api.h"

#include "backends/cuda/driver_function.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

DriverApi find_all() {
  DriverApi api = {};
  find_driver_function(api.link_create, "cuLinkCreate");
  find_driver_function(api.link_add_data, "cuLinkAddData");
  find_driver_function(api.link_complete, "cuLinkComplete");
  find_driver_function(api.link_destroy, "cuLinkDestroy");
  find_driver_function(api.module_load_data, "cuModuleLoadData");
  find_driver_function(api.module_unload, "cuModuleUnload");
  find_driver_function(api.module_get_function, "cuModuleGetFunction");
  find_driver_function(api.module_get_global, "cuModuleGetGlobal");
  find_driver_function(api.function_set_attribute, "cuFuncSetAttribute");
  find_driver_function(api.launch_kernel, "cuLaunchKernel");
  find_driver_function(api.ctx_get_current, "cuCtxGetCurrent");
  find_driver_function(api.ctx_set_current, "cuCtxSetCurrent");
  find_driver_function(api.get_error_string, "cuGetErrorString");
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
