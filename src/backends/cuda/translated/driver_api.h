// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that link and launch translated code. The library links the runtime alone, which finds
// them; so it loads on machines without a driver.
#pragma once

#include <cuda.h>

#include <string>

namespace myriarm::cuda {

struct DriverApi {
  decltype(&cuLinkCreate_v2) link_create;
  decltype(&cuLinkAddData_v2) link_add_data;
  decltype(&cuLinkComplete) link_complete;
  decltype(&cuLinkDestroy) link_destroy;
  decltype(&cuModuleLoadData) module_load_data;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuModuleGetGlobal_v2) module_get_global;
  decltype(&cuFuncSetAttribute) function_set_attribute;
  decltype(&cuLaunchKernel) launch_kernel;
  decltype(&cuCtxGetCurrent) ctx_get_current;
  decltype(&cuCtxSetCurrent) ctx_set_current;
  decltype(&cuGetErrorString) get_error_string;
};

/// Throws Error if the driver is too old to have them.
const DriverApi& driver_api();
/// Throws Error with `doing` and the reason unless the result is success.
void check(CUresult result, const std::string& doing);

}  // namespace myriarm::cuda
