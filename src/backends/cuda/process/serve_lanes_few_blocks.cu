// SPDX-License-Identifier: Apache-2.0
// serve_lanes() of kernels for fleets that do not fill the device, and of all on an emulated GPU.
#include "backends/cuda/process/serve_lanes.cuh"
