// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/linked_regions.h"

#include <cuda_runtime.h>

#include <bit>

#include "backends/cuda/translated/driver_api.h"
#include "backends/cuda/translated/kernel_code.h"
#include "backends/cuda/translated/region_table.h"

namespace myriarm::cuda {
namespace {

/// Registers of a thread: see docs/design/translation-on-a-gpu.md.
constexpr size_t kRegisters = 80;

class Link {
 public:
  Link() { check(driver_api().link_create(kOptions, options_, values_, &state_), "beginning to link translated code"); }
  ~Link() { driver_api().link_destroy(state_); }
  Link(const Link&) = delete;

  void add(CUjitInputType type, const void* data, size_t size, const char* name) {
    const CUresult result =
        driver_api().link_add_data(state_, type, const_cast<void*>(data), size, name, 0, nullptr, nullptr);
    check(result, std::string("compiling ") + name + " (" + errors_ + ")");
  }
  void add_ptx(const std::string& ptx, const char* name) {
    add(CU_JIT_INPUT_PTX, ptx.c_str(), ptx.size() + 1, name);  // with the zero at its end
  }
  /// The linked code, which belongs to the link.
  const void* complete() {
    void* code = nullptr;
    size_t size = 0;
    check(driver_api().link_complete(state_, &code, &size), std::string("linking translated code (") + errors_ + ")");
    return code;
  }

 private:
  char errors_[4096] = {};
  // The driver writes to these as long as the link lives: to the size of the errors, for example.
  static constexpr unsigned kOptions = 3;
  CUjit_option options_[kOptions] = {CU_JIT_MAX_REGISTERS, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values_[kOptions] = {std::bit_cast<void*>(kRegisters), errors_, std::bit_cast<void*>(sizeof errors_)};
  CUlinkState state_ = nullptr;
};

/// PTX of the array with the addresses of the functions: it makes them known to the host, and keeps them in the linked code.
std::string functions_array(std::span<const translate::DeviceRegion* const> regions) {
  if (regions.empty()) {
    return std::string(".version 7.8\n.target sm_70\n.address_size 64\n.visible .global .align 8 .u64 ") +
           kRegionFunctionsName + "[1] = {0};\n";
  }
  const std::string& any = regions.front()->ptx;
  const size_t begin = any.find(".version"), end = any.find(".address_size");
  std::string ptx = any.substr(begin, end - begin) + ".address_size 64\n";
  std::string names;
  for (const translate::DeviceRegion* region : regions) {
    ptx += ".extern .func (.param .align 8 .b8 result[16]) " + region->name +
           "(.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d, .param .b32 e);\n";
    names += (names.empty() ? "" : ", ") + region->name;
  }
  return ptx + ".visible .global .align 8 .u64 " + kRegionFunctionsName + "[" + std::to_string(regions.size()) +
         "] = {" + names + "};\n";
}

}  // namespace

void compile_region(const translate::DeviceRegion& region) {
  Link link;
  link.add_ptx(region.ptx, region.name.c_str());
}

LinkedRegions::LinkedRegions(std::span<const translate::DeviceRegion* const> regions) {
  Link link;
  link.add(CU_JIT_INPUT_FATBINARY, kernel_code().data(), kernel_code().size(), "the kernel");
  for (const translate::DeviceRegion* region : regions) link.add_ptx(region->ptx, region->name.c_str());
  link.add_ptx(functions_array(regions), "the regions' addresses");
  check(driver_api().module_load_data(&module_, link.complete()), "loading translated code");
  CUdeviceptr array = 0;
  size_t bytes = 0;
  CUresult found = driver_api().module_get_function(&kernel_, module_, kTranslatedKernelName);
  if (found == CUDA_SUCCESS) {
    found = driver_api().module_get_global(&array, &bytes, module_, kRegionFunctionsName);
  }
  functions_.resize(regions.size());
  if (found == CUDA_SUCCESS && !regions.empty() &&
      cudaMemcpy(functions_.data(), std::bit_cast<const void*>(array), regions.size() * sizeof(u64),
                 cudaMemcpyDeviceToHost) != cudaSuccess) {
    found = CUDA_ERROR_UNKNOWN;
  }
  if (found != CUDA_SUCCESS) driver_api().module_unload(module_);
  check(found, "finding the kernel of translated code");
}

LinkedRegions::~LinkedRegions() { driver_api().module_unload(module_); }

}  // namespace myriarm::cuda
