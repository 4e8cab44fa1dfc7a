// SPDX-License-Identifier: Apache-2.0
// Which devices this machine has.
#include "backends/backend.h"
#include "myriarm/fleet.h"

namespace myriarm {

std::vector<Device> devices() {
  std::vector<Device> all{cpu_device()};
#if MYRIARM_CUDA
  std::vector<Device> cuda = cuda_devices();
  all.insert(all.end(), cuda.begin(), cuda.end());
#endif
  return all;
}

std::string cuda_unavailable_reason() {
#if MYRIARM_CUDA
  return cuda_problem();
#else
  return "this build has no CUDA backend (no CUDA toolkit was found when it was built)";
#endif
}

}  // namespace myriarm
