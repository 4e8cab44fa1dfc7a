// SPDX-License-Identifier: Apache-2.0
// serve_lanes() of kernels for fleets that fill the device. A file of its own: nvcc names the module that it registers by the file.
#include "backends/cuda/process/serve_lanes.cuh"
