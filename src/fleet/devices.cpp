// SPDX-License-Identifier: Apache-2.0
// Which devices this machine has.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "backends/backend.h"
#include "myriarm/fleet.h"

namespace myriarm {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

Device cpu_device() {
  u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
  return {"cpu", cpu_name(), static_cast<u64>(sysconf(_SC_AVPHYS_PAGES)) * page,
          std::max(1u, std::thread::hardware_concurrency())};
}

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
