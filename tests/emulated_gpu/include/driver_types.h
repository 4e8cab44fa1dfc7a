// SPDX-License-Identifier: Apache-2.0
// What only the host's side of the CUDA backend uses of the runtime, apart so that a change of it compiles no kernel again.
#pragma once

#include <cuda_runtime_api.h>

constexpr auto cudaDevAttrMaxSharedMemoryPerMultiprocessor = static_cast<cudaDeviceAttr>(81);
constexpr auto cudaDevAttrReservedSharedMemoryPerBlock = static_cast<cudaDeviceAttr>(111);
enum cudaFuncAttribute { cudaFuncAttributePreferredSharedMemoryCarveout = 9 };

/// An emulated GPU has no caches: checks the value, a percentage or -1, and no more.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
