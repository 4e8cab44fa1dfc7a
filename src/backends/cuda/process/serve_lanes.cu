// SPDX-License-Identifier: Apache-2.0
// serve_lanes() for all kernels that are linked together.
#include "backends/cuda/process/serve_lanes.cuh"
